// `--traces-endpoint`, with two workers and a real collector: each call's spans are in its client's trace, whichever worker holds
// the session, and the backend is told the id of its parent span.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { backendFor, startDeployment } from '../support/deployment.js';
import { memberText } from '../support/json-text.js';
import { until } from '../support/until.js';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly kind: number;
  readonly name: string;
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[];
}

async function startCollector(t: Test): Promise<{ url: string; spans: Span[] }> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString()) as Export;
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`, spans };
}

t.test(
  "a call's spans are in its client's trace, at home and over a hop, and a drain exports the last of them",
  async (t) => {
    const collector = await startCollector(t);
    const options = ['--traces-endpoint', collector.url, '--traces-sample-ratio', '0'];
    const deployment = await startDeployment(t, { workerCount: 2, options });
    const backend = await backendFor(t, { tools: ['x'] });
    const caller = await deployment.caller({ one: { url: backend.url, passthrough_headers: ['x-tenant'] } });
    const session = await caller.openSession();
    const traceIds = Array.from({ length: 8 }, (_, n) => `${n + 1}`.padStart(32, 'a'));
    for (const traceId of traceIds) {
      const headers = [
        ['traceparent', `00-${traceId}-00f067aa0ba902b7-01`],
        ['tracestate', 'vendor=1'],
        // A value is no name.
        ['x-tenant', 'traceparent'],
      ] as const;
      // Each has its own connection: some reach the owner directly, others take a hop.
      t.equal((await session.call('one-x', '{}', { headers })).status, 200);
    }
    await session.call('one-x');
    const atBackend = backend.calls.map(({ request }) => request.headers);
    t.equal(atBackend.at(-1)?.['traceparent'], undefined, 'of what nobody traces the backend is told nothing');
    await deployment.gateway.stop();
    await until(() => collector.spans.length >= 2 * traceIds.length, 'two spans for each');
    t.equal(collector.spans.length, 2 * traceIds.length, 'and for nothing else');
    for (const [n, traceId] of traceIds.entries()) {
      const spans = collector.spans.filter((span) => span.traceId === traceId);
      const server = spans.find(({ kind }) => kind === 2);
      const client = spans.find(({ kind }) => kind === 3);
      t.match(server, { parentSpanId: '00f067aa0ba902b7', name: 'tools/call x', traceState: 'vendor=1' });
      t.match(client, { parentSpanId: server?.spanId, name: 'tools/call x' });
      t.equal(atBackend[n]?.['traceparent'], `00-${traceId}-${client?.spanId}-01`);
      t.equal(atBackend[n]?.['tracestate'], 'vendor=1');
    }
  },
);

t.test(
  'a trace in `_meta` alone, or beside a header (which counts for less), reaches the collector and the backend',
  async (t) => {
    const collector = await startCollector(t);
    const options = ['--traces-endpoint', collector.url, '--traces-sample-ratio', '0'];
    const deployment = await startDeployment(t, { workerCount: 2, options });
    const backend = await backendFor(t, { tools: ['x'] });
    const caller = await deployment.caller({ one: { url: backend.url } });
    const session = await caller.openSession();
    const [inMeta, inHeader] = ['b'.repeat(32), 'c'.repeat(32)];
    const params = (isSampled: boolean): string =>
      `{"name":"one-x","arguments":{},"_meta":{"k":1,"traceparent":"00-${inMeta}-00f067aa0ba902b8-0${isSampled ? 1 : 0}"}}`;
    const call = async (isSampled: boolean, headers: readonly (readonly [string, string])[]): Promise<void> => {
      const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params(isSampled)}}`;
      t.equal((await session.send(body, { headers })).status, 200);
    };
    await call(true, []);
    await call(true, [['traceparent', `00-${inHeader}-00f067aa0ba902b7-01`]]);
    await call(false, [['traceparent', `00-${inHeader}-00f067aa0ba902b7-01`]]);
    await deployment.gateway.stop();
    await until(() => collector.spans.length >= 4, 'two spans for each that is recorded');
    t.equal(collector.spans.length, 4, 'and none for the third, as its message says');
    t.same([...new Set(collector.spans.map(({ traceId }) => traceId))], [inMeta]);
    const servers = collector.spans.filter(({ kind }) => kind === 2);
    t.match(servers, [{ parentSpanId: '00f067aa0ba902b8' }, { parentSpanId: '00f067aa0ba902b8' }]);
    const ofGateway = collector.spans.filter(({ kind }) => kind === 3).map(({ spanId }) => `00-${inMeta}-${spanId}-01`);
    const told = backend.calls.map(({ request }) => ({
      header: request.headers['traceparent'],
      meta: JSON.parse(memberText(request.text, 'params', '_meta') ?? 'null') as unknown,
    }));
    t.same(
      told
        .slice(0, 2)
        .map(({ header }) => header)
        .sort(),
      [...ofGateway].sort(),
      'in the header',
    );
    for (const { header, meta } of told) t.same(meta, { k: 1, traceparent: header }, 'and where the client has it');
    t.equal(told[2]?.header, `00-${inMeta}-00f067aa0ba902b8-00`, 'of the third, what the client has said');
  },
);
