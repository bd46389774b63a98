// The open loop against a scripted server.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { OpenedConnection } from '../../bench/bench-session.js';
import type { LoadPlan, Measurement } from '../../bench/load-plan.js';
import { runOpenLoop } from '../../bench/open-loop.js';

const MEASURE_MS = 300;

t.jobs = 4;

async function runAgainst(server: Server, requestsPerSecond: number): Promise<Measurement> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const step = { method: 'POST', path: '/x', body: '{"a":1}', session: 'carries', expectedBody: 'right' } as const;
  const plan = { headers: { authorization: 'Bearer t' }, script: { opening: [], loop: [step], closing: [] } };
  const connections: OpenedConnection[] = [1, 2, 3].map(() => ({ plan, sessionId: 's' }));
  const loadPlan: LoadPlan = {
    origin: `http://127.0.0.1:${port}`,
    connections: [],
    placement: undefined,
    requestsPerSecond,
    warmUpMs: 0,
    measureMs: MEASURE_MS,
    targetPids: [],
    backendPids: [],
  };
  try {
    return await runOpenLoop(loadPlan, requestsPerSecond, connections);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

t.test('requests are sent at the requested rate, whole, in their session', async (t) => {
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { authorization, 'mcp-session-id': session } = request.headers;
      seen.add(`${request.method} ${request.url} ${authorization} ${String(session)} ${body}`);
      response.end('right');
    });
  });
  const { requests, elapsedMs, faults } = await runAgainst(server, 200);
  t.same([...seen], ['POST /x Bearer t s {"a":1}']);
  // On a busy machine the window closes late, and requests due at its very end are no longer sent.
  const [least, most] = [MEASURE_MS, elapsedMs].map((ms) => (ms / 1_000) * 200) as [number, number];
  t.ok(requests >= least - 3 && requests <= most + 3, `${requests}, from ${least} to ${most}`);
  t.match(faults, { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0 });
});

t.test('waiting for a slow target counts, and so do all requests that were due meanwhile', async (t) => {
  const slowMs = 60;
  const server = createServer((request, response) => {
    request.resume();
    setTimeout(() => response.end('right'), slowMs);
  });
  // Three connections can carry 50 requests a second.
  const { requests, latency } = await runAgainst(server, 100);
  t.ok(requests >= 25, `${requests} were due`);
  t.ok(latency.p99Us > 3 * slowMs * 1_000, `the last one waited for others: ${latency.p99Us} µs`);
});

t.test('wrong answers and refusals are faults', async (t) => {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    count += 1;
    if (count === 1) response.writeHead(503, { 'content-length': 4 }).end('busy');
    else response.end(count === 2 ? 'wrong' : 'right');
  });
  const { faults } = await runAgainst(server, 100);
  t.match(faults, { errors: 0, non2xx: 1, wrongBodies: 1 });
});

t.test('closed connections are faults, and the others continue', async (t) => {
  let count = 0;
  const server = createServer((request, response) => {
    request.resume();
    count += 1;
    if (count === 5) request.socket.destroy();
    else response.end('right');
  });
  const { faults, requests } = await runAgainst(server, 100);
  t.match(faults, { errors: 1, lost: 1, wrongBodies: 0 });
  t.ok(requests > 10, `${requests} requests`);
});
