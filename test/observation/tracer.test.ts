// Spans of requests, through a real relay to scripted backends and a real collector over HTTP: what the collector gets, what the backend is
// told, and that no request waits for it.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import t, { type Test } from 'tap';
import {
  RequestTrace,
  validTraceState,
  readTraceParent,
  traceParentText,
} from '../../src/observation/request-trace.js';
import { RequestWatch } from '../../src/observation/request-watch.js';
import {
  attributesJson,
  SpanExporter,
  TRACE_EXPORT_INTERVAL_MS,
  TRACE_SPANS_WAITING_MAX,
  TRACE_SPANS_AT_ONCE_MAX,
  TRACE_EXPORT_MS_MAX,
  type Span,
} from '../../src/observation/span-exporter.js';
import { Tracer } from '../../src/observation/tracer.js';
import type { ExchangeRequest } from '../../src/exchange/exchange.js';
import { Relay } from '../../src/relay/relay.js';
import { PROGRAM_VERSION } from '../../src/shared/program.js';
import { logInto } from '../support/log-lines.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { createAccounts } from '../support/shares.js';
import { until } from '../support/until.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { ERAS } from '../support/eras.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
const UNSAMPLED = `00-${TRACE_ID}-00f067aa0ba902b7-00`;
const ID = { bytes: Buffer.from('7'), start: 0, end: 1 };
const VIRTUAL_HOST = virtualHostOf({ b: { url: 'https://b.example/mcp' } });

t.test('a trace parent is read as W3C defines it', async (t) => {
  t.same(readTraceParent(PARENT), { traceId: TRACE_ID, spanId: '00f067aa0ba902b7', isSampled: true });
  t.equal(readTraceParent(UNSAMPLED)?.isSampled, false);
  t.equal(readTraceParent(`${PARENT.replace('00-', '01-')}-more`)?.traceId, TRACE_ID, 'a later version may have more');
  const faulty = ['', 'x', PARENT.toUpperCase(), `${PARENT}-more`, PARENT.replace(/^00/, 'ff'), `${PARENT} `];
  const withoutIds = [PARENT.replace(TRACE_ID, '0'.repeat(32)), PARENT.replace('00f067aa0ba902b7', '0'.repeat(16))];
  for (const text of [...faulty, ...withoutIds]) t.equal(readTraceParent(text), undefined, text);
  t.equal(traceParentText(readTraceParent(PARENT)!), PARENT);
  t.equal(validTraceState('a=b,c=d'), 'a=b,c=d');
  for (const text of ['', 'a\r\nb: c', 'é', 'x'.repeat(513)]) t.equal(validTraceState(text), '');
});

t.test("whether a request is recorded is its client's to say, else the ratio's", async (t) => {
  t.equal(new RequestTrace(PARENT, '', 0, 0.5).isSampled, true);
  t.equal(new RequestTrace(UNSAMPLED, '', 1, 0.5).isSampled, false);
  t.equal(new RequestTrace('', '', 0.5, 0.49).isSampled, true);
  t.equal(new RequestTrace('', '', 0.5, 0.5).isSampled, false);
  t.equal(new RequestTrace('nonsense', 'a=b', 0, 0).isSampled, false);
  t.equal(new RequestTrace('', '', 0, 0).onSending('', ID), undefined, 'and of what is not, nothing is told');
  const passed = new RequestTrace(UNSAMPLED, 'a=b', 1, 0).onSending('', ID);
  t.same(passed, { traceparent: UNSAMPLED, tracestate: 'a=b' }, 'but what the client has said');
  const trace = new RequestTrace(UNSAMPLED, '', 0, 0);
  const told = trace.onSending(PARENT, ID);
  t.equal(trace.isSampled, true, "the message's own parent is more exact");
  t.same(trace.onSending(PARENT, ID), told, 'a call that is sent again is one call');
});

/** A span with its attributes as they were before they became text. */
type ReadSpan = Omit<Span, 'attributes' | 'moreAttributes'> & {
  readonly attributes: Readonly<Record<string, unknown>>;
};

function readSpan({ attributes, moreAttributes, ...span }: Span): ReadSpan {
  const pairs = JSON.parse(`[${attributes}${moreAttributes}]`) as { readonly key: string; readonly value: object }[];
  const entries = pairs.map(({ key, value }): [string, unknown] => [
    key,
    'intValue' in value ? Number(value.intValue) : Object.values(value)[0],
  ]);
  return { ...span, attributes: Object.fromEntries(entries) };
}

class Scene {
  readonly context: ScriptedContext;
  readonly spans: ReadSpan[] = [];
  readonly #relay: Relay;
  readonly #watch: RequestWatch;

  /** @param tracer one that sends its spans, in place of one that keeps them here. */
  constructor(t: Test, ratio: number, tracer?: Tracer) {
    this.context = new ScriptedContext(t);
    const counts = { exported: 0, dropped: 0, failed: 0 };
    const exporter = {
      add: (span: Span) => void this.spans.push(readSpan(span)),
      counts,
      close: async () => undefined,
    };
    const kept = new Tracer(ratio, exporter, () => 0.5);
    this.#watch = new RequestWatch(undefined, undefined, undefined, tracer ?? kept);
    this.#relay = new Relay({
      accounts: createAccounts(),
      http: this.context.http,
      deadlines: this.context.deadlines,
      endpoints: this.context.endpoints,
      upstream: this.context.options,
      eras: ERAS,
      answers: this.context.answers,
      sessionIdleTimeoutMs: 60_000,
      mintSessionId: () => 'a-session',
      logger: logInto([]),
    });
    const clientInfo = { name: 'c', version: '1' };
    this.post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }, { sessionId: '' });
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {}, prompts: {} } };
    this.context.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }), 'upstream-session');
    this.context.http.last.empty();
    this.spans.length = 0;
  }

  post(method: string, params: unknown, request: Partial<ExchangeRequest> = {}): RecordedExchange {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }));
    const exchange = new RecordedExchange({ body, requestId: 'r-1', ...request });
    const caller = { subject: 'alice', virtualHost: VIRTUAL_HOST };
    this.#watch.watch(caller, exchange);
    this.#relay.handle(caller, exchange);
    return exchange;
  }

  answer(outcome: object): void {
    this.context.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: 7, ...outcome }));
  }
}

t.test("a call is a span of its client's trace, with one below it that the backend is told", async (t) => {
  const scene = new Scene(t, 0);
  const traceparent = { traceparent: PARENT, tracestate: 'vendor=1' };
  scene.post('tools/call', { name: 'b-add', arguments: { secret: 'the-argument' } }, traceparent);
  const { trace } = scene.context.http.last.request;
  t.same(scene.spans, [], 'not before its end');
  scene.answer({ result: { content: [] } });
  const [server, client] = scene.spans;
  t.equal(scene.spans.length, 2);
  const common = { traceId: TRACE_ID, traceState: 'vendor=1', name: 'tools/call add', isError: false };
  t.match(server, { ...common, kind: 'server', parentId: '00f067aa0ba902b7' });
  t.match(client, { ...common, kind: 'client', parentId: server?.spanId });
  t.match(trace, { traceparent: `00-${TRACE_ID}-${client?.spanId}-01`, tracestate: 'vendor=1' });
  t.match(server?.attributes, {
    'mcp.method.name': 'tools/call',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'add',
    'jsonrpc.request.id': '7',
    'http.response.status_code': 200,
    'switchyard.backend': 'b',
    'switchyard.request.id': 'r-1',
    'switchyard.virtual_host': 'vh',
  });
  t.equal(server?.attributes['error.type'], undefined);
  t.ok(server !== undefined && client !== undefined);
  t.ok(client!.startMs <= client!.endMs, 'it ends after its start');
  t.ok(server!.startMs <= client!.startMs && client!.endMs <= server!.endMs, 'one is within the other');
  t.ok(Math.abs(server!.endMs - Date.now()) < 60_000, 'in the time of the clock');
  for (const secret of ['the-argument', 'alice', 'a-session', 'b.example'])
    t.notOk(JSON.stringify(scene.spans).includes(secret), `without ${secret}`);
});

t.test('a prompt is requested by its bare name, which its span has, too', async (t) => {
  const scene = new Scene(t, 1);
  scene.post('prompts/get', { name: 'b-sum', arguments: { secret: 'the-argument' } });
  scene.answer({ result: { messages: [] } });
  t.equal(scene.spans.length, 2);
  for (const { name, attributes } of scene.spans) {
    t.equal(name, 'prompts/get sum');
    t.match(attributes, { 'mcp.method.name': 'prompts/get', 'gen_ai.prompt.name': 'sum', 'switchyard.backend': 'b' });
    t.equal(attributes['gen_ai.tool.name'], undefined);
    t.equal(attributes['gen_ai.operation.name'], undefined);
  }
  const unknown = new Scene(t, 1);
  unknown.post('prompts/get', { name: 'nowhere-sum' });
  t.match(unknown.spans, [{ attributes: { 'gen_ai.prompt.name': 'nowhere-sum', 'error.type': '-32602' } }]);
  const completion = new Scene(t, 1);
  completion.post('completion/complete', {
    ref: { type: 'ref/prompt', name: 'b-sum' },
    argument: { name: 'a', value: '' },
  });
  t.match(completion.spans, [{ name: 'completion/complete' }], 'others have none');
  t.equal(completion.spans[0]?.attributes['gen_ai.prompt.name'], undefined);
});

t.test('an id that is a text is told without its quotes', async (t) => {
  const scene = new Scene(t, 1);
  for (const [id, told] of [
    ['"a-1"', 'a-1'],
    ['""', ''],
    ['17', '17'],
  ]) {
    scene.spans.length = 0;
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"b-add"}}`);
    scene.post('tools/call', {}, { body });
    scene.context.http.last.json(`{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`);
    t.same(
      scene.spans.map(({ attributes }) => attributes['jsonrpc.request.id']),
      [told, told],
    );
  }
});

t.test('a failed span says how', async (t) => {
  const rows: readonly (readonly [outcome: object, type: string, isError: boolean])[] = [
    [{ result: { content: [], isError: true } }, 'tool_error', true],
    [{ error: { code: -32042, message: 'm' } }, '-32042', true],
  ];
  for (const [outcome, type, isError] of rows) {
    const scene = new Scene(t, 1);
    scene.post('tools/call', { name: 'b-add' });
    scene.answer(outcome);
    for (const span of scene.spans) t.match(span, { isError, attributes: { 'error.type': type } });
    t.match(scene.spans[0]?.parentId, '', 'a trace of its own');
    t.match(scene.spans[0]?.traceId, /^[0-9a-f]{32}$/);
  }
  const faulty = new Scene(t, 1);
  faulty.post('tools/call', { name: 'b-add' });
  faulty.context.http.last.head(503, 'text/plain').end();
  t.match(faulty.spans[1], { kind: 'client', isError: true, attributes: { 'error.type': 'http-status' } });
  const unknown = new Scene(t, 1);
  unknown.post('tools/call', { name: 'nowhere' });
  t.equal(unknown.spans.length, 1, 'no backend was asked');
});

t.test('a parent in the message is replaced there, and no other byte changes', async (t) => {
  const scene = new Scene(t, 0);
  const meta = { progressToken: 1, traceparent: PARENT, tracestate: 'a=b' };
  scene.post('tools/call', { name: 'b-add', arguments: { traceparent: PARENT }, _meta: meta });
  const { body, leftOut, putIn = Buffer.alloc(0), trace } = scene.context.http.last.request;
  const sent = Buffer.concat([body!.subarray(0, leftOut!.start), putIn, body!.subarray(leftOut!.end)]).toString();
  const expected = {
    name: 'add',
    arguments: { traceparent: PARENT },
    _meta: { ...meta, traceparent: trace?.traceparent },
  };
  t.equal(sent, JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: expected }));
  t.not(trace?.traceparent, PARENT);
  t.equal(readTraceParent(trace?.traceparent ?? '')?.traceId, TRACE_ID);
});

t.test('an unrecorded trace is passed on unchanged, and leaves no spans', async (t) => {
  const scene = new Scene(t, 1);
  scene.post('tools/call', { name: 'b-add', _meta: { traceparent: UNSAMPLED } });
  t.equal(scene.context.http.last.request.trace?.traceparent, UNSAMPLED);
  t.equal(scene.context.http.last.request.putIn, undefined);
  scene.answer({ result: {} });
  const untraced = new Scene(t, 0);
  untraced.post('tools/call', { name: 'b-add', _meta: { traceparent: 'nonsense' } });
  t.equal(untraced.context.http.last.request.trace, undefined);
  untraced.answer({ result: {} });
  t.same([...scene.spans, ...untraced.spans], []);
});

const SPAN: Span = {
  ...{ traceId: TRACE_ID, spanId: '00f067aa0ba902b7', parentId: '', traceState: '', kind: 'server', name: 'ping' },
  ...{ startMs: 1_700_000_000_000.25, endMs: 1_700_000_000_001.5, isError: true },
  attributes: attributesJson({ text: 'x "y"', whole: 3, part: 0.5, no: undefined, yes: true }),
  moreAttributes: '',
};
const RESOURCE = { attributes: { 'service.name': 'switchyard' }, version: '1' };

/** As much as is looked at of what a collector is told about one process. */
interface Told {
  readonly resource: { readonly attributes: readonly { readonly key: string; readonly value: object }[] };
  readonly scopeSpans: readonly { readonly scope: object; readonly spans: object[] }[];
}

interface Collector {
  readonly url: string;
  readonly server: Server;
  readonly bodies: { readonly resourceSpans: readonly Told[] }[];
  status: number;
}

async function startCollector(t: Test, onRequest?: (request: IncomingMessage) => boolean): Promise<Collector> {
  const collector = { url: '', status: 200, bodies: [] as Collector['bodies'], server: createServer() };
  collector.server.on('request', (request, response) => {
    if (onRequest?.(request) === false) return;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      collector.bodies.push(JSON.parse(Buffer.concat(chunks).toString()) as Collector['bodies'][number]);
      response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    collector.server.closeAllConnections();
    collector.server.close();
  });
  return Object.assign(collector, {
    url: `http://127.0.0.1:${(collector.server.address() as AddressInfo).port}/v1/traces`,
  });
}

t.test('a collector gets spans in OTLP’s JSON format', async (t) => {
  const paths: string[] = [];
  const collector = await startCollector(t, ({ method, url, headers }) => {
    paths.push(`${method} ${url} ${headers['content-type']}`);
    return true;
  });
  const exporter = new SpanExporter(collector.url, RESOURCE, logInto([]));
  exporter.add(SPAN);
  await exporter.close(5_000);
  t.same(paths, ['POST /v1/traces application/json']);
  t.same(exporter.counts, { exported: 1, dropped: 0, failed: 0 });
  t.same(collector.bodies, [
    {
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'switchyard' } }] },
          scopeSpans: [
            {
              scope: { name: 'switchyard', version: '1' },
              spans: [
                {
                  ...{ traceId: TRACE_ID, spanId: '00f067aa0ba902b7', flags: 1, name: 'ping', kind: 2 },
                  ...{ startTimeUnixNano: '1700000000000250000', endTimeUnixNano: '1700000000001500000' },
                  attributes: [
                    { key: 'text', value: { stringValue: 'x "y"' } },
                    { key: 'whole', value: { intValue: '3' } },
                    { key: 'part', value: { doubleValue: 0.5 } },
                    { key: 'yes', value: { boolValue: true } },
                  ],
                  status: { code: 2 },
                },
              ],
            },
          ],
        },
      ],
    },
  ]);
});

t.test('a process that ends sends its last spans, which say what program and which process they are of', async (t) => {
  const collector = await startCollector(t);
  const tracer = Tracer.of({ endpoint: collector.url, sampleRatio: 1 }, '3', logInto([]));
  new Scene(t, 1, tracer);
  await tracer.close(5_000);
  t.match(tracer.counts, { exported: 1, dropped: 0, failed: 0 });
  const [{ resource, scopeSpans }] = collector.bodies[0]!.resourceSpans as [Told];
  t.match(scopeSpans[0]?.scope, { name: 'switchyard', version: PROGRAM_VERSION });
  t.match(Object.fromEntries(resource.attributes.map(({ key, value }) => [key, Object.values(value)[0]])), {
    'service.name': 'switchyard',
    'service.version': PROGRAM_VERSION,
    'service.instance.id': `${hostname()}/3`,
    'process.pid': String(process.pid),
  });
});

t.test('a full batch is sent at once, and fewer spans when their time is over', async (t) => {
  const { setTimeout } = globalThis;
  const due: (() => void)[] = [];
  t.intercept(globalThis, 'setTimeout', {
    value: (act: () => void, ms?: number) =>
      ms === TRACE_EXPORT_INTERVAL_MS ? (due.push(act), setTimeout(() => {}, 0)) : setTimeout(act, ms),
  });
  const collector = await startCollector(t);
  const exporter = new SpanExporter(collector.url, RESOURCE, logInto([]));
  for (let n = 0; n < TRACE_SPANS_AT_ONCE_MAX; n++) exporter.add(SPAN);
  await until(() => exporter.counts.exported === TRACE_SPANS_AT_ONCE_MAX, 'the batch');
  const few = new SpanExporter(collector.url, RESOURCE, logInto([]));
  due.length = 0;
  few.add(SPAN);
  t.equal(due.length, 1);
  due[0]!();
  await until(() => few.counts.exported === 1, 'the span');
  await Promise.all([exporter.close(5_000), few.close(5_000)]);
});

t.test('spans are sent in batches, and none for which there is room is lost', async (t) => {
  const collector = await startCollector(t);
  const exporter = new SpanExporter(collector.url, RESOURCE, logInto([]));
  const count = 2 * TRACE_SPANS_AT_ONCE_MAX + 1;
  for (let n = 0; n < count; n++) exporter.add(SPAN);
  await until(() => exporter.counts.exported === count, 'all of them arrive, unasked');
  const sizes = collector.bodies.map(({ resourceSpans }) => resourceSpans[0]?.scopeSpans[0]?.spans.length ?? 0);
  t.ok(sizes.every((size) => size <= TRACE_SPANS_AT_ONCE_MAX));
  exporter.add(SPAN);
  await exporter.close(5_000);
  t.equal(exporter.counts.exported, count + 1, 'nor one that comes later');
});

t.test('a collector that accepts nothing costs spans, which are counted, and nothing else', async (t) => {
  const collector = await startCollector(t, () => false);
  const lines: string[] = [];
  const exporter = new SpanExporter(collector.url, RESOURCE, logInto(lines));
  const count = TRACE_SPANS_WAITING_MAX + TRACE_SPANS_AT_ONCE_MAX + 10;
  for (let n = 0; n < count; n++) exporter.add(SPAN);
  t.equal(exporter.counts.dropped, 10, 'there is room for so many');
  const before = performance.now();
  await exporter.close(100);
  t.ok(performance.now() - before < TRACE_EXPORT_MS_MAX, 'its end waits for so long and no longer');
  t.equal(exporter.counts.exported, 0);
  const refusing = await startCollector(t);
  refusing.status = 503;
  const refused = new SpanExporter(refusing.url, RESOURCE, logInto(lines));
  refused.add(SPAN);
  await refused.close(5_000);
  t.match(refused.counts, { exported: 0, failed: 1 });
  const last = new SpanExporter(refusing.url, RESOURCE, logInto([]));
  for (let n = 0; n < 6 * TRACE_SPANS_AT_ONCE_MAX; n++) last.add(SPAN);
  await last.close(4_000);
  t.same(last.counts, { exported: 0, dropped: 0, failed: 6 * TRACE_SPANS_AT_ONCE_MAX }, 'at its end without a pause');
  t.match(JSON.parse(lines.at(-1) ?? '{}'), { reason: 'status 503', spans: 1, msg: 'spans could not be exported' });
  const closed = new SpanExporter('http://127.0.0.1:1/v1/traces', RESOURCE, logInto(lines));
  closed.add(SPAN);
  await closed.close(5_000);
  t.match(closed.counts, { exported: 0, failed: 1 });
  t.match(JSON.parse(lines.at(-1) ?? '{}'), { reason: 'ECONNREFUSED' });
});
