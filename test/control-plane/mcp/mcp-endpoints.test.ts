// The endpoints over a plain Node.js server, with real servers behind them. A header names the caller: tokens are tested elsewhere.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { Directory } from '../../../src/control-plane/registry/directory.js';
import { McpEndpoints, type McpEndpointsOptions } from '../../../src/control-plane/mcp/mcp-endpoints.js';
import { Names } from '../../../src/http-client/names/names.js';
import { Overload, overloadBounds } from '../../../src/fair/overload.js';
import { readClientMessage } from '../../../src/mcp/json-rpc.js';
import { RecordStoreFault } from '../../../src/store/record-store.js';
import { backendFor } from '../../support/deployment.js';
import { readEvents } from '../../support/event-stream.js';
import { logInto } from '../../support/log-lines.js';
import { rpc } from '../../support/mcp-caller.js';
import { encodeRequest, RawConnection, send, type HeaderList, type HttpAnswer } from '../../support/raw-http.js';
import { createScratchDirectory } from '../../support/scratch-directory.js';
import { dearestTurnMs, threadCpuMs } from '../../support/turn-cost.js';
import { until } from '../../support/until.js';
import { setStage, type Stage } from '../stage.js';
import { shareOptions } from '../../support/shares.js';
import { ERAS } from '../../support/eras.js';
import { bodyOf } from '../../modern/modern-request.js';
import { answerOptions } from '../../support/answer-options.js';
import { connectionOptions, upstreamOptions } from '../../support/upstream-options.js';

const BODY_BYTES_MAX = 10_000;
const INITIALIZE =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}';
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

function call(tool: string, more = ''): string {
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":{"n":1.0}${more}}}`;
}

class Front {
  readonly origin: string;
  readonly endpoints: McpEndpoints;
  /** Connections. */
  open = 0;

  private constructor(origin: string, endpoints: McpEndpoints) {
    this.origin = origin;
    this.endpoints = endpoints;
  }

  static async open(
    t: Test,
    parts: Pick<McpEndpointsOptions, 'directory' | 'compositions'>,
    overload = new Overload(logInto([])),
    bodyBytesMax = BODY_BYTES_MAX,
    shares = shareOptions(),
  ): Promise<Front> {
    const endpoints = new McpEndpoints({
      overload,
      ...parts,
      names: new Names(),
      connections: connectionOptions,
      upstream: { ...upstreamOptions, initializeTimeoutMs: 5_000, listTimeoutMs: 5_000, callIdleTimeoutMs: 5_000 },
      eras: ERAS,
      answers: answerOptions,
      shares,
      sessionIdleTimeoutMs: 60_000,
      bodyBytesMax,
      logger: pino({ level: 'silent' }),
    });
    const http = createServer((request, response) => {
      const subject = String(request.headers['x-subject']);
      const [, , reference] = (request.url ?? '').split('/');
      endpoints.handle({ subject, composition: reference && decodeURIComponent(reference) }, request, response);
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    t.teardown(async () => {
      http.closeAllConnections();
      http.close();
      await endpoints.stop();
    });
    const front = new Front(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, endpoints);
    http.on('connection', (socket) => {
      front.open += 1;
      socket.once('close', () => (front.open -= 1));
    });
    return front;
  }

  /** @param headers that replace the usual ones, or are added to them. */
  async post(body: string, headers: HeaderList = [], path = '/mcp'): Promise<HttpAnswer> {
    return send(this.origin, { method: 'POST', path, headers: complete(headers), body });
  }

  async initialize(headers: HeaderList = [], path?: string): Promise<[string, string]> {
    const answer = await this.post(INITIALIZE, headers, path);
    return ['mcp-session-id', answer.header('mcp-session-id') ?? ''];
  }

  async toolNames(headers: HeaderList = [], path?: string): Promise<string[]> {
    const { result } = rpc(await this.post(LIST, headers, path)) as { result: { tools: { name: string }[] } };
    return result.tools.map(({ name }) => name);
  }
}

function complete(headers: HeaderList): HeaderList {
  const usual: HeaderList = [
    ['x-subject', 'alice'],
    ['content-type', 'application/json'],
  ];
  return [...usual.filter(([name]) => !headers.some(([other]) => other === name)), ...headers];
}

async function setScene(t: Test): Promise<Stage & { readonly front: Front }> {
  const stage = await setStage(t, { kind: 'embedded', path: createScratchDirectory(t) });
  return { ...stage, front: await Front.open(t, stage) };
}

t.test('a session follows the registry, and keeps its upstream sessions', async (t) => {
  const { registry, front } = await setScene(t);
  const one = await backendFor(t, { tools: ['a'], withSessions: true });
  const two = await backendFor(t, { tools: ['b'], withSessions: true });
  await registry.register({ name: 'one', url: one.url });
  const initializesBefore = one.requestsOf('initialize').length;
  const session = await front.initialize();
  t.same(await front.toolNames([session]), ['one-a']);
  await registry.register({ name: 'Two B', url: two.url });
  t.same(await front.toolNames([session]), ['one-a', 'two-b-b']);
  t.match(rpc(await front.post(call('two-b-b'), [session])), { result: { structuredContent: { n: 1 } } });
  t.equal(one.requestsOf('initialize').length, initializesBefore + 1, 'one upstream session for all of it');
  t.equal(one.sessions.size, 1);
  await registry.replace('one', { name: 'one', url: one.url, enabled: false });
  t.same(await front.toolNames([session]), ['two-b-b']);
  await until(() => one.sessions.size === 0, 'the upstream session to be ended');
});

t.test('requests without a session leave no session behind', async (t) => {
  const { registry, front } = await setScene(t);
  const backend = await backendFor(t, { tools: ['a'], withSessions: true });
  await registry.register({ name: 'one', url: backend.url });
  await until(() => backend.sessions.size === 0, 'the end of the probe');
  t.same(await front.toolNames(), ['one-a']);
  const called = await front.post(call('one-a'));
  t.ok(called.text.includes('"structuredContent":{"n":1.0}'), 'the bytes are the server’s');
  t.equal(called.header('mcp-session-id'), undefined);
  t.match(rpc(await front.post('{"jsonrpc":"2.0","id":"p","method":"ping"}')), { id: 'p', result: {} });
  await until(() => backend.sessions.size === 0, 'their sessions to be ended');
});

t.test(
  'short of memory it finally opens no sessions, and still serves open ones and requests without a session',
  async (t) => {
    const stage = await setStage(t, { kind: 'embedded', path: createScratchDirectory(t) });
    const overload = new Overload(logInto([]));
    const front = await Front.open(t, stage, overload);
    const backend = await backendFor(t, { tools: ['a'] });
    await stage.registry.register({ name: 'one', url: backend.url });
    const session = await front.initialize();
    overload.observe({ residentPercent: overloadBounds.residentPercentPressed, heapPercent: 0, loopDelayMs: 0 });
    t.equal((await front.post(INITIALIZE)).status, 200, 'one, of a subject that holds little');
    overload.observe({
      residentPercent: overloadBounds.residentPercentHardPressed - 0.1,
      heapPercent: 0,
      loopDelayMs: 0,
    });
    const refused = await front.post(INITIALIZE);
    t.equal(refused.status, 503);
    t.equal(refused.header('retry-after'), '5');
    t.match(refused.text, /no new sessions/);
    t.same(await front.toolNames(), ['one-a']);
    t.same(await front.toolNames([session]), ['one-a']);
    t.equal((await front.post(LIST, [['mcp-protocol-version', 'banana']])).status, 400, 'and judges as always');
    overload.observe({ residentPercent: 0, heapPercent: 0, loopDelayMs: 0 });
    t.equal((await front.post(INITIALIZE)).status, 200);
  },
);

t.test('a caller that goes away from a request without a session ends it', async (t) => {
  const { registry, front } = await setScene(t);
  const backend = await backendFor(t, { tools: ['a'], withSessions: true, onCall: () => new Promise(() => {}) });
  await registry.register({ name: 'one', url: backend.url });
  const connection = await RawConnection.open(front.origin);
  const request = { method: 'POST', path: '/mcp', headers: complete([]), body: call('one-a') };
  connection.write(encodeRequest(front.origin, request));
  await until(() => backend.calls.length === 1, 'the call');
  t.equal(backend.sessions.size, 1);
  connection.close();
  await until(() => backend.sessions.size === 0, 'its session to be ended');
});

t.test('of a caller that has gone when its endpoint is found, no room is taken for its body', async (t) => {
  const stage = await setStage(t, { kind: 'embedded', path: createScratchDirectory(t) });
  let find = (): void => {};
  let isAsked = false;
  let held: Promise<void> | undefined = new Promise((resolve) => (find = resolve));
  const directory = {
    get servers() {
      return stage.directory.servers;
    },
    sync: async () => {
      isAsked = true;
      await held;
      await stage.directory.sync();
    },
  } as Directory;
  const room = { bytesInFlightMax: 30_000, subjectBytesInFlightMax: 30_000 };
  const front = await Front.open(t, { ...stage, directory }, undefined, 100_000, shareOptions(room));
  const begin = async (): Promise<RawConnection> => {
    isAsked = false;
    const connection = await RawConnection.open(front.origin);
    const head = complete([['content-length', '20000']]).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.write(`POST /mcp HTTP/1.1\r\nhost: x\r\n${head.join('')}\r\n`);
    await until(() => isAsked, 'the look-up');
    return connection;
  };
  (await begin()).close();
  await until(() => front.open === 0, 'the end of the connection');
  find();
  held = undefined;
  const next = await begin();
  next.write(LIST.padEnd(20_000));
  t.equal((await next.readAnswer()).status, 200, 'the room is there for the next');
  next.close();
});

t.test('progress is sent as events, and the answer ends the stream', async (t) => {
  const { registry, front } = await setScene(t);
  const backend = await backendFor(t, {
    tools: ['a'],
    onCall: async (received) => {
      await received.notify('notifications/progress', { progressToken: 7, progress: 1 });
      return { content: [] };
    },
  });
  await registry.register({ name: 'one', url: backend.url });
  const answer = await front.post(call('one-a', ',"_meta":{"progressToken":7}'));
  t.equal(answer.contentType, 'text/event-stream');
  const events = readEvents(answer.body).map((data) => JSON.parse(data) as unknown);
  t.match(events, [{ method: 'notifications/progress' }, { id: 1, result: { content: [] } }]);
});

t.test('a session belongs to one subject, at one endpoint', async (t) => {
  const { registry, compositions, front } = await setScene(t);
  const backend = await backendFor(t, { tools: ['a', 'b'] });
  await registry.register({ name: 'one', url: backend.url });
  const servers = [{ name: 'one', tools: ['b'] }];
  const { id } = await compositions.create({ name: 'My desk', servers, subjects: ['alice', 'bob'] }, 'alice');
  const path = `/servers/${id}/mcp`;
  const session = await front.initialize();
  const composed = await front.initialize([], path);
  t.same(await front.toolNames([composed], path), ['one-b']);
  t.same(await front.toolNames([composed], '/servers/my%20desk/mcp'), ['one-b'], 'the name is the same endpoint');
  t.match(rpc(await front.post(call('one-a'), [composed], path)), { error: { code: -32602 } });
  t.equal((await front.post(LIST, [session], path)).status, 404);
  t.equal((await front.post(LIST, [composed])).status, 404);
  const bob: [string, string] = ['x-subject', 'bob'];
  t.equal((await front.post(LIST, [composed, bob], path)).status, 404);
  t.same(await front.toolNames([bob], path), ['one-b'], 'but he may open one of his own');
  const carol = await front.post(LIST, [['x-subject', 'carol']], path);
  t.equal(carol.status, 404);
  t.equal(carol.text, '{"detail":"Server not found"}');

  await compositions.replace(
    id,
    { name: 'My desk', servers: [{ name: 'one', tools: ['a'] }], subjects: ['alice'] },
    'alice',
  );
  t.same(await front.toolNames([composed], path), ['one-a'], 'the next request obeys the change');
  await compositions.remove(id);
  t.equal((await front.post(LIST, [composed], path)).status, 404);
});

t.test('the rules of the transport are those of the dataplane', async (t) => {
  const { front } = await setScene(t);
  const session = await front.initialize();
  const rows: readonly (readonly [what: string, status: number, headers: HeaderList, body?: string])[] = [
    ['accept names neither form', 406, [['accept', 'text/html']]],
    [
      'accept in two headers is one list',
      200,
      [
        ['accept', 'text/html'],
        ['accept', 'application/json'],
      ],
    ],
    ['another content type', 415, [['content-type', 'text/plain']]],
    ['two session ids', 400, [session, session]],
    [
      'two authorizations',
      400,
      [
        ['authorization', 'a'],
        ['authorization', 'b'],
      ],
    ],
    ['an unknown session', 404, [['mcp-session-id', 'nobody']]],
    ['an unknown protocol version without a session', 400, [['mcp-protocol-version', 'banana']]],
    ['an unknown protocol version within a session', 400, [session, ['mcp-protocol-version', '2099-01-01']]],
    ['a body over the limit', 413, [], ' '.repeat(BODY_BYTES_MAX + 1)],
    ['no JSON', 400, [], '{'],
    ['no JSON-RPC', 400, [], '[]'],
    ['a notification without a session', 400, [], '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
  ];
  for (const [what, status, headers, body = LIST] of rows)
    t.equal((await front.post(body, headers)).status, status, what);
  for (const [status, headers] of [
    [406, [['accept', 'text/html']]],
    [415, [['content-type', 'text/plain']]],
  ] as readonly (readonly [number, HeaderList])[]) {
    const refused = await front.post(LIST, headers);
    t.equal(refused.status, status);
    t.match(rpc(refused), { id: 1, error: { code: -32000 } }, `${status}, under the id`);
    const long = await front.post(LIST.padEnd(BODY_BYTES_MAX + 1), headers);
    t.equal(long.status, status, 'and before the size of the body');
    t.notMatch(rpc(long), { id: 1 });
  }
  const ambiguous = await front.post(LIST, [session, session]);
  t.notMatch(rpc(ambiguous), { id: 1 }, 'whose it is nobody can tell');
  const events = await front.post(LIST, [['accept', 'text/event-stream']]);
  t.equal(events.contentType, 'text/event-stream');
  t.match(rpc(events), { result: { tools: { length: 0 } } });
});

t.test('a large request without a session is parsed in slices, and a refusal has its id, too', async (t) => {
  const bytes = 16 * 1024 * 1024;
  const body = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"x":"${'\\n'.repeat(bytes / 2)}"}}`;
  const stage = await setStage(t, { kind: 'embedded', path: createScratchDirectory(t) });
  const front = await Front.open(t, stage, undefined, 2 * bytes);
  const whole = Buffer.from(body);
  const beforeMs = threadCpuMs();
  readClientMessage(whole);
  const atOnceMs = threadCpuMs() - beforeMs;
  let answer: HttpAnswer | undefined;
  const dearestMs = await dearestTurnMs(
    () => {
      void front.post(body, [['mcp-protocol-version', 'banana']]).then((given) => (answer = given));
    },
    () => answer !== undefined,
  );
  t.equal(answer?.status, 400);
  t.match(answer && rpc(answer), { id: 7, error: { code: -32000 } });
  t.ok(dearestMs < 0.8 * atOnceMs, `a turn of ${Math.round(dearestMs)} ms, at once ${Math.round(atOnceMs)} ms`);
});

t.test('a failure of the store is reported as such', async (t) => {
  const fail = async (): Promise<never> => Promise.reject(new RecordStoreFault('Redis is not reachable'));
  const { records } = await setStage(t, { kind: 'embedded', path: createScratchDirectory(t) });
  records.readChanges = fail;
  const front = await Front.open(t, { directory: new Directory(records), compositions: { findHost: fail } });
  for (const path of ['/mcp', '/servers/x/mcp']) {
    const answer = await front.post(LIST, [], path);
    t.equal(answer.status, 503);
    t.equal(answer.header('retry-after'), '2');
    t.same(answer.json(), { detail: 'The store cannot be read: try again' });
  }
});

t.test('sessions end with the process', async (t) => {
  const { registry, front } = await setScene(t);
  const backend = await backendFor(t, { tools: ['a'], withSessions: true });
  await registry.register({ name: 'one', url: backend.url });
  await until(() => backend.sessions.size === 0, 'the end of the probe');
  await front.initialize();
  t.equal(backend.sessions.size, 1);
  await front.endpoints.stop();
  t.equal(backend.sessions.size, 0);
});

t.test('requests that declare that they have no session are served as on the dataplane', async (t) => {
  const { registry, front } = await setScene(t);
  const one = await backendFor(t, { tools: ['a', 'b'], withSessions: true });
  await registry.register({ name: 'one', url: one.url });
  const probes = one.requestsOf('initialize').length;
  const body = bodyOf('tools/call', { params: { name: 'one-a', arguments: { n: 1 } } });
  const headers: HeaderList = [
    ['mcp-protocol-version', '2026-07-28'],
    ['mcp-method', 'tools/call'],
    ['mcp-name', 'one-a'],
  ];
  for (let i = 0; i < 2; i += 1) {
    const called = await front.post(body, headers);
    t.match(rpc(called), { id: 1, result: { resultType: 'complete', content: [{ text: '{"n":1}' }] } });
  }
  t.equal(one.requestsOf('initialize').length, probes + 1, 'both in one lease');
  const other = await front.post(body, [...headers.slice(0, 2), ['mcp-name', 'one-b']]);
  t.match([other.status, rpc(other)], [400, { id: 1, error: { code: -32020 } }]);
  const unclaimed = await front.post(LIST, headers);
  t.match([unclaimed.status, rpc(unclaimed)], [400, { id: 1, error: { code: -32602 } }]);
});
