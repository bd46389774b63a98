// The first calls of sessions, at the gateway that opened them and at another one.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { runFirstCalls } from '../../bench/first-calls.js';
import type { Step } from '../../bench/load-plan.js';

const SESSIONS = 50;

/** A server that records the requests of each session, and responds to calls with `answer`. */
async function machine(t: Test, answer = 'right') {
  const seen: string[] = [];
  let underWay = 0;
  let underWayMax = 0;
  const server = createServer((request, response) => {
    const { 'mcp-session-id': session = `s${seen.length}` } = request.headers;
    underWayMax = Math.max(underWayMax, request.url === '/call' ? ++underWay : 0);
    seen.push(`${request.url} ${String(session)}`);
    request.resume().on('end', () => {
      if (request.url === '/call') underWay -= 1;
      response.setHeader('mcp-session-id', session).end(request.url === '/call' ? answer : '');
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close().closeAllConnections());
  const sessionsOf = (path: string): string[] =>
    seen.filter((line) => line.startsWith(path)).map((l) => l.slice(path.length + 1));
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, sessionsOf, underWayMax: () => underWayMax };
}

function run(origin: string, opensAt: string) {
  const step = { method: 'POST', body: '{}', expectedBody: undefined } as const;
  const opening: Step = { ...step, path: '/open', session: 'opens' };
  const call: Step = { ...step, path: '/call', session: 'carries', expectedBody: 'right' };
  const closing: Step = { ...step, method: 'DELETE', path: '/end', body: undefined, session: 'carries' };
  const plan = {
    origin,
    connections: [{ headers: {}, script: { opening: [opening], loop: [call], closing: [closing] } }],
    placement: undefined,
    requestsPerSecond: undefined,
    ...{ warmUpMs: 0, measureMs: 0, targetPids: [process.pid], backendPids: [] },
  };
  return runFirstCalls(plan, { opensAt, sessions: SESSIONS, atOnce: 4 });
}

t.test('each session is opened at one gateway, called once at the other and ended there', async (t) => {
  const [one, other] = [await machine(t), await machine(t)];
  const { requests, faults, latency, targetCpuUs } = await run(other.origin, one.origin);
  t.equal(requests, SESSIONS);
  t.match(faults, { errors: 0, non2xx: 0, lost: 0, wrongBodies: 0 });
  const opened = one.sessionsOf('/open').sort();
  t.equal(new Set(opened).size, SESSIONS);
  t.same(other.sessionsOf('/call').sort(), opened);
  t.same(other.sessionsOf('/end').sort(), opened);
  t.same([one.sessionsOf('/call'), other.sessionsOf('/open')], [[], []]);
  t.ok(other.underWayMax() <= 4, `${other.underWayMax()} at once`);
  t.ok(latency.p50Us > 0 && targetCpuUs >= 0);
});

t.test('a wrong answer is a fault', async (t) => {
  const one = await machine(t, 'wrong');
  const { faults } = await run(one.origin, one.origin);
  t.match(faults, { wrongBodies: SESSIONS, errors: 0, lost: 0 });
});
