// The access log, written by a real relay with scripted backends: one line per request, without anybody's secrets.
import t, { type Test } from 'tap';
import type { AcceptedTypes, ExchangeRequest } from '../../src/exchange/exchange.js';
import { RequestFigures } from '../../src/metrics/request-figures.js';
import { LabelCounter } from '../../src/metrics/series.js';
import { Relay } from '../../src/relay/relay.js';
import { limits } from '../../src/shared/limits.js';
import { sessionHash, subjectHash, FAILURE_LOG_INTERVAL_MS } from '../../src/shared/logger.js';
import { refusals } from '../../src/shared/refusals.js';
import { AccessLog, PROBLEM_LINES_MAX } from '../../src/observation/access-log.js';
import { RequestWatch } from '../../src/observation/request-watch.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { REQUEST_ID, type ScriptedUpstream } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { logInto } from '../support/log-lines.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { createAccounts } from '../support/shares.js';
import { ERAS } from '../support/eras.js';

const SUBJECT = 'alice@example.com';
const SESSION_ID = 'a-session-id-that-nobody-may-learn';
const SECRETS = [SUBJECT, SESSION_ID, 'Bearer', 'the-argument', 'the-result', 'the-header', 'b.example', 'the-client'];
const VIRTUAL_HOST = virtualHostOf({ b: { url: 'https://b.example/mcp', passthrough_headers: ['x-secret'] } });

type Line = Record<string, unknown>;

class Scene {
  readonly lines: string[] = [];
  readonly http: ScriptedUpstream;
  readonly #context: ScriptedContext;
  readonly #relay: Relay;
  readonly #watch: RequestWatch;

  constructor(t: Test, isOfAll = true) {
    this.#context = new ScriptedContext(t);
    this.http = this.#context.http;
    const logger = logInto(this.lines);
    this.#watch = new RequestWatch(new AccessLog(logger, isOfAll), undefined);
    this.#relay = new Relay({
      accounts: createAccounts(),
      http: this.http,
      deadlines: this.#context.deadlines,
      endpoints: this.#context.endpoints,
      upstream: this.#context.options,
      eras: ERAS,
      answers: this.#context.answers,
      sessionIdleTimeoutMs: 60_000,
      mintSessionId: () => SESSION_ID,
      logger: logInto([]),
    });
  }

  /** Passes a request to the relay, as the pipeline does. */
  request(request: Partial<ExchangeRequest>): RecordedExchange {
    const exchange = new RecordedExchange({
      sessionId: SESSION_ID,
      passthroughHeaders: ['x-secret', 'the-header'],
      ...request,
    });
    const caller = { subject: SUBJECT, virtualHost: VIRTUAL_HOST };
    this.#watch.watch(caller, exchange);
    this.#relay.handle(caller, exchange);
    return exchange;
  }

  post(method: string, params: unknown = {}, answerForms: AcceptedTypes = 'both'): RecordedExchange {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    return this.request({ body, acceptedTypes: answerForms });
  }

  /** @param meanwhile runs before the backend responds. */
  initialize(meanwhile?: (exchange: RecordedExchange) => void): RecordedExchange {
    const clientInfo = { name: 'the-client', version: '1' };
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
    const exchange = this.request({ body, sessionId: '' });
    meanwhile?.(exchange);
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} } };
    this.http.last.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }), 'upstream-session');
    this.http.last.empty();
    return exchange;
  }

  /** A scene with an open session, and no log lines yet. */
  static inSession(t: Test, isOfAll = true): Scene {
    const scene = new Scene(t, isOfAll);
    scene.initialize();
    scene.lines.length = 0;
    return scene;
  }

  /** Returns the only line, and checks that it contains no secret. */
  only(t: Test): Line {
    t.equal(this.lines.length, 1, 'one line');
    for (const secret of SECRETS) t.notOk(this.lines[0]?.includes(secret), `without ${secret}`);
    return JSON.parse(this.lines[0] ?? '{}') as Line;
  }
}

const WHO = { subject: subjectHash(SUBJECT), virtualHost: 'vh' };
const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"content":"the-result"}}';

t.test('the line of a call says who called, what, where, and the outcome', async (t) => {
  const scene = Scene.inSession(t);
  const beganMs = performance.now();
  const exchange = scene.post('tools/call', { name: 'b-add', arguments: { secret: 'the-argument' } });
  t.same(scene.lines, [], 'not before it is answered');
  scene.http.last.json(RESULT);
  const tookMs = performance.now() - beganMs;
  const line = scene.only(t);
  t.match(line, { ...WHO, method: 'tools/call', backend: 'b', tool: 'add', status: 200, callerGone: false });
  t.equal(line['requestBytes'], exchange.request.body.length);
  t.equal(line['bytes'], RESULT.length);
  t.equal(line['session'], sessionHash(SESSION_ID));
  t.notOk('requestId' in line, 'nobody gave it an id');
  t.type(line['durationMs'], 'number');
  t.ok(Number(line['durationMs']) >= 0 && Number(line['durationMs']) <= tookMs + 0.1, 'in milliseconds');
});

t.test('a streamed call has one line, at its end', async (t) => {
  const scene = Scene.inSession(t);
  scene.post('tools/call', { name: 'b-add', arguments: {}, _meta: { progressToken: 't' } });
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 't', progress: 1 } };
  scene.http.last.head(200, 'text/event-stream').data(`data: ${JSON.stringify(progress)}\n\n`);
  t.same(scene.lines, []);
  scene.http.last.data(`data: ${RESULT}\n\n`).end();
  t.match(scene.only(t), { method: 'tools/call', tool: 'add', status: 200 });
});

t.test('a caller that went away is logged as gone, once its call is over', async (t) => {
  const scene = Scene.inSession(t);
  const exchange = scene.post('tools/call', { name: 'b-add' });
  exchange.isForgiving = true;
  exchange.abort();
  scene.http.last.json(RESULT);
  t.match(scene.only(t), { tool: 'add', callerGone: true });
});

t.test('every method has its line', async (t) => {
  const rows: [method: string, params: unknown, expected: Line][] = [
    ['ping', {}, { method: 'ping', status: 200 }],
    ['tools/list', { cursor: 'the-argument' }, { method: 'tools/list', status: 200 }],
    [
      'tools/call',
      { name: 'nowhere', arguments: 'the-argument' },
      { method: 'tools/call', tool: 'nowhere', status: 200 },
    ],
    ['resources/read', { uri: 'the-argument' }, { method: 'resources/read', status: 200 }],
    ['initialize', {}, { method: 'POST', status: 400 }],
  ];
  for (const [method, params, expected] of rows) {
    const scene = Scene.inSession(t);
    scene.post(method, params);
    const line = scene.only(t);
    t.match(line, { ...WHO, ...expected }, method);
    t.notOk('backend' in line || 'backendMs' in line, 'no backend had a part in it');
  }
});

t.test('initialize, a notification and a DELETE have lines', async (t) => {
  const scene = new Scene(t);
  scene.initialize();
  t.match(scene.only(t), { ...WHO, method: 'initialize', status: 200 });
  const notified = Scene.inSession(t);
  notified.request({ body: Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}') });
  t.match(notified.only(t), { ...WHO, method: 'notifications/initialized', status: 202 });
  const deleted = Scene.inSession(t);
  deleted.request({ method: 'DELETE', body: Buffer.alloc(0) });
  t.match(deleted.only(t), { ...WHO, method: 'DELETE', status: 200 });
});

t.test('an initialize whose caller went away has a line, and leaves no session', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.initialize((opening) => {
    opening.isForgiving = true;
    opening.abort();
  });
  t.ok(exchange.isAborted);
  t.match(scene.only(t), { ...WHO, method: 'initialize', callerGone: true });
  t.equal(scene.http.last.request.method, 'DELETE', 'the upstream session is ended');
});

t.test("a caller's own texts are cut to a maximum", async (t) => {
  const words = 'x'.repeat(limits.quotedCharsMax + 1);
  const bounded = words.slice(1);
  const called = Scene.inSession(t);
  called.post('tools/call', { name: words });
  // Compared instead of matched: a longer text would match, too.
  t.equal(called.only(t)['tool'], bounded);
  const unknown = Scene.inSession(t);
  unknown.post(words);
  t.equal(unknown.only(t)['method'], bounded);
  const lines: string[] = [];
  const watch = new RequestWatch(new AccessLog(logInto(lines), true), undefined);
  watch.onRefused(new RecordedExchange().request, words, { refusal: refusals.virtualHostUnknown });
  t.equal((JSON.parse(lines[0] ?? '{}') as Line)['virtualHost'], bounded);
});

t.test('a request that the relay refuses has a line with the status', async (t) => {
  const rows: [request: Partial<ExchangeRequest>, status: number][] = [
    [{ sessionId: 'another-session-the-argument' }, 404],
    [{ sessionId: '', body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}') }, 400],
    [{ body: Buffer.from('the-argument') }, 400],
  ];
  for (const [request, status] of rows) {
    const scene = Scene.inSession(t);
    scene.request(request);
    t.match(scene.only(t), { ...WHO, method: 'POST', status });
  }
});

t.test('a request that never reaches the relay has a line with the code of the refusal', async (t) => {
  const lines: string[] = [];
  const watch = new RequestWatch(new AccessLog(logInto(lines), true), undefined);
  const { request } = new RecordedExchange({ requestId: 'r-1' });
  watch.onRefused(request, 'vh', { refusal: refusals.tokenInvalid, cause: 'audience' });
  watch.onRefused(request, 'vh', { refusal: refusals.configMissing, subject: SUBJECT });
  const [token, config] = lines.map((line) => JSON.parse(line) as Line);
  const { status, code } = refusals.tokenInvalid;
  const common = { virtualHost: 'vh', method: 'POST', outcome: 'refused', requestId: 'r-1' };
  t.match(token, { ...common, status, refusal: code, cause: 'audience' });
  t.notOk('subject' in (token ?? {}), 'nobody knows who it is');
  t.notOk('cause' in (config ?? {}), 'the code says it all');
  t.match(config, { ...common, status: 400, refusal: 'config-missing', subject: WHO.subject });
});

t.test(
  'the host that was refused is in its line, harmless and bounded, and does not make lines of its own',
  async (t) => {
    const lines: string[] = [];
    const watch = new RequestWatch(new AccessLog(logInto(lines), false), undefined);
    const { request } = new RecordedExchange();
    const refuse = (host: string): void => watch.onRefused(request, 'vh', { refusal: refusals.hostRefused, host });
    refuse(`me:s3cret@evil\u001b[2J\u202e.example:1${'x'.repeat(limits.quotedCharsMax)}`);
    const { refusal, host } = JSON.parse(lines[0] ?? '{}') as Line;
    t.equal(refusal, 'host-refused');
    t.match(host, /^evil\?\[2J\?\.example:1x+$/);
    t.equal(String(host).length, limits.quotedCharsMax);
    refuse('other.example');
    t.equal(lines.length, 1, 'others are only counted');
  },
);

/** A watched exchange, and what is logged of it. */
function watched(): { exchange: RecordedExchange; told: () => Line[] } {
  const lines: string[] = [];
  const exchange = new RecordedExchange();
  const watch = new RequestWatch(new AccessLog(logInto(lines), true), undefined);
  watch.watch({ subject: SUBJECT, virtualHost: VIRTUAL_HOST }, exchange);
  return { exchange, told: () => lines.map((line) => JSON.parse(line) as Line) };
}

t.test('the line says how much of the answer the caller received', async (t) => {
  for (const [ending, end] of Object.entries({
    whole: (exchange: RecordedExchange) => exchange.end(),
    cut: (exchange: RecordedExchange) => exchange.reset(),
    left: (exchange: RecordedExchange) => exchange.abort(),
  })) {
    const { exchange, told } = watched();
    exchange.openStream();
    exchange.write(Buffer.from('data: {}\n\n'));
    t.same(told(), [], 'not before its end');
    end(exchange);
    const [line, ...more] = told();
    t.same(more, []);
    t.match(line, { status: 200, bytes: 10, callerGone: ending === 'left' }, ending);
    t.equal(line?.['cut'], ending === 'whole' ? undefined : true, ending);
  }
});

t.test('a request cut before there is an answer has a line without a status', async (t) => {
  const { exchange, told } = watched();
  exchange.reset();
  t.match(told(), [{ cut: true, bytes: 0 }]);
  t.notOk('status' in (told()[0] ?? {}));
});

t.test('the line of a caller that is gone is written when its request is over', async (t) => {
  const { exchange, told } = watched();
  exchange.isForgiving = true;
  exchange.abort();
  t.same(told(), [], 'it is still worked on');
  exchange.respond(200, 'application/json', '{}');
  t.match(told(), [{ status: 200, callerGone: true, bytes: 0 }]);
  t.notOk('cut' in (told()[0] ?? {}), 'there was nothing to be cut');
});

t.test('each message of a batch has a line of its own', async (t) => {
  const { exchange, told } = watched();
  const part = new RecordedExchange();
  exchange.watcher?.onBatchPart(part);
  part.watcher?.onIdentified('tools/call', 'b', 'add', 'tool');
  part.respond(200, 'application/json', '{}');
  t.match(told(), [{ method: 'tools/call', backend: 'b', tool: 'add', status: 200, bytes: 2 }]);
});

const failure = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":${result}}`;

t.test('a call has the outcome that its answer has, whatever its HTTP status', async (t) => {
  const rows: [answer: string, expected: Line][] = [
    [RESULT, { outcome: 'ok', status: 200 }],
    [failure('{"content":[],"isError":true}'), { outcome: 'tool-error', status: 200 }],
    [failure('{"isError" : true,"content":[{"type":"text","text":"the-result"}]}'), { outcome: 'tool-error' }],
    [failure('{"isError":false,"structuredContent":{"isError":true}}'), { outcome: 'ok' }],
    [failure('{"content":[{"type":"text","text":"\\"isError\\":true"}]}'), { outcome: 'ok' }],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"the-result"}}', { outcome: 'rpc-error', code: -32042 }],
    ['{"jsonrpc":"2.0","id":1,"error":{"code":"the-result","message":""}}', { outcome: 'rpc-error', code: 0 }],
  ];
  for (const [answer, expected] of rows) {
    const scene = Scene.inSession(t);
    scene.post('tools/call', { name: 'b-add' });
    scene.http.last.json(answer);
    const line = scene.only(t);
    t.match(line, expected, answer);
    t.ok(Number(line['backendMs']) >= 0 && Number(line['backendMs']) <= Number(line['durationMs']) + 0.1);
  }
});

t.test('a fault of the backend, an error of the gateway and a refusal say what they are', async (t) => {
  const faulty = Scene.inSession(t);
  faulty.post('tools/call', { name: 'b-add' });
  faulty.http.last.head(503, 'text/plain').end();
  t.match(faulty.only(t), { outcome: 'fault', fault: 'http-status', status: 200, backend: 'b' });
  const unknown = Scene.inSession(t);
  unknown.post('tools/call', { name: 'nowhere' });
  t.match(unknown.only(t), { outcome: 'rpc-error', code: -32602, status: 200 });
  const refused = Scene.inSession(t);
  refused.request({ body: Buffer.from('{') });
  t.match(refused.only(t), { outcome: 'refused', refusal: 'not-json', status: 400 });
});

t.test('without the option only faults and refusals have lines, the first of a kind', async (t) => {
  const scene = Scene.inSession(t, false);
  scene.post('tools/call', { name: 'b-add' });
  scene.http.last.json(RESULT);
  scene.post('tools/call', { name: 'nowhere' });
  t.same(scene.lines, []);
  for (let i = 0; i < 3; i++) {
    scene.post('tools/call', { name: 'b-add' });
    scene.http.last.head(503, 'text/plain').end();
  }
  t.match(scene.only(t), { msg: 'request not served', outcome: 'fault', fault: 'http-status', backend: 'b', ...WHO });
});

t.test('a subject refused again and again leaves lines for others, and cannot fill the log', async (t) => {
  const lines: string[] = [];
  let nowMs = 0;
  const watch = new RequestWatch(new AccessLog(logInto(lines), false, () => nowMs), undefined);
  const { request } = new RecordedExchange();
  const codes = Object.values(refusals);
  const refuse = (subject: string): void => {
    for (const refusal of codes) watch.onRefused(request, 'vh', { refusal, subject });
  };
  for (let n = 0; n < 100; n++) refuse(`flood-${n % 3}`);
  const flooded = lines.length;
  t.ok(flooded > 10 && flooded < PROBLEM_LINES_MAX * 0.8, `${flooded} lines of three who flood`);
  refuse('late');
  const late = lines.slice(flooded).map((line) => JSON.parse(line) as Line);
  t.ok(late.length > 3, 'who comes late has lines as well');
  t.ok(late.every(({ subject }) => subject === subjectHash('late')));
  t.ok(Number(late[0]?.['withoutRoom']) > 100, 'and what found no line is counted');
  for (let n = 0; n < PROBLEM_LINES_MAX; n++) refuse(`another-${n}`);
  t.equal(lines.length, PROBLEM_LINES_MAX);
  nowMs += FAILURE_LOG_INTERVAL_MS;
  refuse('later');
  t.ok(lines.length > PROBLEM_LINES_MAX, 'for a while');
});

t.test('one subject does not hide that another fails in the same way', async (t) => {
  const lines: string[] = [];
  const watch = new RequestWatch(new AccessLog(logInto(lines), false), undefined);
  const { request } = new RecordedExchange();
  for (const subject of ['a', 'a', 'b', 'b']) watch.onRefused(request, 'vh', { refusal: refusals.overloaded, subject });
  t.same(
    lines.map((line) => (JSON.parse(line) as Line)['subject']),
    [subjectHash('a'), subjectHash('b')],
  );
});

t.test('a request that needs no relay has a line where all have one, or when it was not served', async (t) => {
  const answered = {
    ...{ requestId: 'r-1', subject: SUBJECT, method: 'GET', route: '/v1/servers', server: undefined },
    ...{ composition: undefined, status: 503, durationMs: 1.26, requestBytes: 0, bytes: 2 },
  } as const;
  const [all, problems]: [string[], string[]] = [[], []];
  const logs = [new AccessLog(logInto(all), true), new AccessLog(logInto(problems), false)];
  const tell = (outcome: 'ok' | 'error' | 'refused' | 'fault', code: string, cause = '', subject = SUBJECT): void =>
    logs.forEach((log) => log.logAnswered({ ...answered, outcome, code, cause, subject }));
  tell('ok', '');
  tell('error', 'name-taken', '', '');
  for (const cause of ['', 'expired', 'audience', 'expired']) tell('refused', 'token-invalid', cause);
  for (const code of ['store-unreachable', 'internal', 'internal']) tell('fault', code);
  const read = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line) as Line);
  const told = (lines: readonly string[]): unknown[] =>
    read(lines).map(({ outcome, error, refusal, fault, cause }) => [outcome, error ?? refusal ?? fault, cause]);
  const refused = [undefined, 'expired', 'audience'].map((cause) => ['refused', 'token-invalid', cause]);
  const faults = ['store-unreachable', 'internal'].map((code) => ['fault', code, undefined]);
  t.same(told(problems), [...refused, ...faults], 'the first of each kind, whatever else was not served');
  t.equal(all.length, 9);
  const [ok = {}, error = {}] = read(all);
  t.same(
    ['error', 'refusal', 'cause', 'host', 'server', 'composition'].filter((name) => name in ok),
    [],
  );
  t.match(ok, { requestId: 'r-1', subject: WHO.subject, route: '/v1/servers', status: 503, durationMs: 1.3 });
  t.match(error, { outcome: 'error', error: 'name-taken' });
  const composed: string[] = [];
  const about = { server: 's'.repeat(limits.quotedCharsMax + 1), composition: 'desk' };
  new AccessLog(logInto(composed), true).logAnswered({ ...answered, ...about, outcome: 'ok', code: '', cause: '' });
  t.match(read(composed), [{ server: 's'.repeat(limits.quotedCharsMax), composition: 'desk' }]);
  t.equal(error['subject'], '', 'nobody said who it was');
  const WARN = 40;
  t.same(
    new Set(read(problems).flatMap(({ level, outcome }) => (level === WARN ? [outcome] : []))),
    new Set(['fault']),
  );
});

t.test('requests in flight and streams are counted until they end, or until another worker has them', async (t) => {
  const refusalCounts = new LabelCounter('switchyard_refusals_total');
  const figures = { requests: new RequestFigures(), refusals: refusalCounts, requestsInFlight: 0, streams: 0 };
  const watch = new RequestWatch(undefined, figures);
  const counted = (): number[] => [figures.requestsInFlight, figures.streams];
  const begin = (method: 'GET' | 'POST'): RecordedExchange => {
    const exchange = new RecordedExchange({ method });
    watch.watch({ subject: SUBJECT, virtualHost: VIRTUAL_HOST }, exchange);
    return exchange;
  };
  const [call, passedOn, stream, otherStream] = [begin('POST'), begin('POST'), begin('GET'), begin('GET')];
  t.same(counted(), [2, 2]);
  watch.unwatch(passedOn);
  t.same(counted(), [1, 2]);
  watch.unwatch(otherStream);
  t.same(counted(), [1, 1]);
  for (const exchange of [passedOn, otherStream]) {
    watch.unwatch(exchange);
    exchange.respond(200, '', '');
  }
  t.same(counted(), [1, 1], 'the other worker counts their ends');
  stream.openStream();
  stream.end();
  t.same(counted(), [1, 0]);
  call.respond(200, '', '');
  t.same(counted(), [0, 0]);
  const left = begin('POST');
  left.isForgiving = true;
  left.abort();
  left.respond(200, '', '');
  const ends = figures.requests.series().filter(({ name }) => name === 'switchyard_requests_total');
  t.same(ends.map(({ labels, value }) => [labels[0], labels[3], value]).sort(), [
    ['GET', 'ok', 1],
    ['POST', 'gone', 1],
    ['POST', 'ok', 1],
  ]);
  const { request } = new RecordedExchange();
  watch.onRefused(request, 'vh', { refusal: refusals.tokenInvalid });
  t.match(refusalCounts.series(), [{ labels: ['token-invalid'], value: 1 }]);
  t.match(figures.requests.series().find(({ labels }) => labels.includes('refused'))?.labels, ['POST', '', '401']);
  const timed = figures.requests.series().filter(({ name }) => name === 'switchyard_request_seconds');
  t.same(
    timed.map(({ labels }) => labels[0]),
    ['POST'],
    'a stream lasts as long as its client likes',
  );
});
