// The access log, written through a real relay to scripted backends: one line a request, and nothing in it that is
// somebody's secret.
import t, { type Test } from 'tap';
import type { AnswerForms, Exchange, ExchangeRequest } from '../../src/relay/exchange.js';
import { Relay } from '../../src/relay/relay.js';
import { limits } from '../../src/shared/limits.js';
import { subjectHash } from '../../src/shared/logger.js';
import { refusals } from '../../src/shared/refusals.js';
import { AccessLog } from '../../src/worker/access-log.js';
import { ScriptedContext } from '../upstream/scripted-context.js';
import { REQUEST_ID, type ScriptedUpstream } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { logInto } from '../support/log-lines.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { createAccounts } from '../support/shares.js';

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
  readonly #accessLog: AccessLog;

  constructor(t: Test) {
    this.#context = new ScriptedContext(t);
    this.http = this.#context.http;
    const logger = logInto(this.lines);
    this.#accessLog = new AccessLog(logger);
    this.#relay = new Relay({
      accounts: createAccounts(),
      http: this.http,
      deadlines: this.#context.deadlines,
      upstream: this.#context.options,
      answers: this.#context.answers,
      sessionIdleTimeoutMs: 60_000,
      mintSessionId: () => SESSION_ID,
      logger: logInto([]),
    });
  }

  /** Hands a request to the relay, as the pipeline does. */
  request(request: Partial<ExchangeRequest>): RecordedExchange {
    const exchange = new RecordedExchange({
      sessionId: SESSION_ID,
      passthroughHeaders: ['x-secret', 'the-header'],
      ...request,
    });
    const caller = { subject: SUBJECT, virtualHost: VIRTUAL_HOST };
    this.#relay.handle(caller, this.#accessLog.watch(caller, exchange));
    return exchange;
  }

  post(method: string, params: unknown = {}, answerForms: AnswerForms = 'both'): RecordedExchange {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    return this.request({ body, answerForms });
  }

  /** @param meanwhile happens before the backend has answered. */
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

  /** A scene with an open session, and no lines yet. */
  static inSession(t: Test): Scene {
    const scene = new Scene(t);
    scene.initialize();
    scene.lines.length = 0;
    return scene;
  }

  /** The only line there is; it holds no secret. */
  only(t: Test): Line {
    t.equal(this.lines.length, 1, 'one line');
    for (const secret of SECRETS) t.notOk(this.lines[0]?.includes(secret), `without ${secret}`);
    return JSON.parse(this.lines[0] ?? '{}') as Line;
  }
}

const WHO = { subject: subjectHash(SUBJECT), virtualHost: 'vh' };
const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"content":"the-result"}}';

t.test('a call: who, what, where to and how it went', async (t) => {
  const scene = Scene.inSession(t);
  scene.post('tools/call', { name: 'b-add', arguments: { secret: 'the-argument' } });
  t.same(scene.lines, [], 'not before it is answered');
  scene.http.last.json(RESULT);
  const line = scene.only(t);
  t.match(line, { ...WHO, method: 'tools/call', backend: 'b', tool: 'add', status: 200, callerGone: false });
  t.type(line['durationMs'], 'number');
  t.ok(Number(line['durationMs']) >= 0);
});

t.test('a call that is streamed has one line, at its end', async (t) => {
  const scene = Scene.inSession(t);
  scene.post('tools/call', { name: 'b-add', arguments: {}, _meta: { progressToken: 't' } });
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 't', progress: 1 } };
  scene.http.last.head(200, 'text/event-stream').data(`data: ${JSON.stringify(progress)}\n\n`);
  t.same(scene.lines, []);
  scene.http.last.data(`data: ${RESULT}\n\n`).end();
  t.match(scene.only(t), { method: 'tools/call', tool: 'add', status: 200 });
});

t.test('a caller that went away is said to be gone, once its call is over', async (t) => {
  const scene = Scene.inSession(t);
  const exchange = scene.post('tools/call', { name: 'b-add' });
  // The exchange of the test insists that nobody answers it any more, and the real one does not mind.
  exchange.respond = () => undefined;
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
    t.notOk('backend' in line, 'no backend had a part in it');
  }
});

t.test('initialize, a notification and a DELETE', async (t) => {
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
    opening.respond = () => undefined;
    opening.abort();
  });
  t.ok(exchange.isAborted);
  t.match(scene.only(t), { ...WHO, method: 'initialize', callerGone: true });
  t.equal(scene.http.last.request.method, 'DELETE', 'the upstream session is ended');
});

t.test("a caller's own words are cut to a bound", async (t) => {
  const words = 'x'.repeat(limits.accessLogNameCharsMax + 1);
  const bounded = words.slice(1);
  const called = Scene.inSession(t);
  called.post('tools/call', { name: words });
  // Compared, not matched: a longer text matches, too.
  t.equal(called.only(t)['tool'], bounded);
  const unknown = Scene.inSession(t);
  unknown.post(words);
  t.equal(unknown.only(t)['method'], bounded);
  const lines: string[] = [];
  new AccessLog(logInto(lines)).refused('POST', words, refusals.virtualHostUnknown);
  t.equal((JSON.parse(lines[0] ?? '{}') as Line)['virtualHost'], bounded);
});

t.test('what the relay refuses has a line with the status', async (t) => {
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

t.test('what never reaches the relay has a line with the code of the refusal', async (t) => {
  const lines: string[] = [];
  new AccessLog(logInto(lines)).refused('POST', 'vh', refusals.tokenExpired);
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? '{}'), { virtualHost: 'vh', method: 'POST', status: 401, refusal: 'token-expired' });
});

t.test('the watched exchange is the same exchange', async (t) => {
  const inner = new RecordedExchange();
  const watched = new AccessLog(logInto([])).watch({ subject: SUBJECT, virtualHost: VIRTUAL_HOST }, inner);
  t.equal(watched.request, inner.request);
  const onDrain = (): void => undefined;
  const onAbort = (): void => undefined;
  watched.onDrain = onDrain;
  watched.onAbort = onAbort;
  t.equal(inner.onDrain, onDrain);
  t.equal(inner.onAbort, onAbort);
  t.equal(watched.onDrain, onDrain);
  t.equal(watched.onAbort, onAbort);
  t.notOk(watched.isAborted);
  watched.openStream('S-1');
  t.equal(inner.streamSessionId, 'S-1');
  t.ok(watched.write(Buffer.from('one')));
  inner.isSlow = true;
  t.notOk(watched.write(Buffer.from('two')), 'the caller is slow');
  t.equal(inner.written.toString(), 'onetwo');
  watched.reset();
  t.equal(inner.outcome, 'cut');
  const whole = new RecordedExchange();
  const headers = ['retry-after', '30'];
  new AccessLog(logInto([]))
    .watch({ subject: SUBJECT, virtualHost: VIRTUAL_HOST }, whole)
    .respond(503, 'application/json', '{}', 'S-2', headers);
  t.match(whole.answer, { status: 503, contentType: 'application/json', sessionId: 'S-2', headers });
});

t.test('a stream that is cut has a line too', async (t) => {
  const lines: string[] = [];
  const exchange = new RecordedExchange();
  const watched = new AccessLog(logInto(lines)).watch({ subject: SUBJECT, virtualHost: VIRTUAL_HOST }, exchange);
  watched.openStream();
  watched.reset();
  t.equal(lines.length, 1);
  t.equal((JSON.parse(lines[0] ?? '{}') as Line)['cut'], true, 'which says so');
});

t.test('an exchange that is completed twice over has one line', async (t) => {
  const lines: string[] = [];
  const exchange = new RecordedExchange();
  // The contract has the later ones do nothing; the exchange of the test would throw.
  Object.assign(exchange, { respond: () => undefined, end: () => undefined, cut: () => undefined });
  const watched = new AccessLog(logInto(lines)).watch({ subject: SUBJECT, virtualHost: VIRTUAL_HOST }, exchange);
  watched.respond(404, '', '');
  watched.end();
  watched.reset();
  t.equal(lines.length, 1);
  t.match(JSON.parse(lines[0] ?? '{}'), { status: 404 });
});

/** An exchange that says when its whole answer has left, as those of the edge do. */
class SettledExchange extends RecordedExchange {
  settle: (isWhole: boolean) => void = () => {};
  releases = 0;

  whenSettled(onSettled: (isWhole: boolean) => void): void {
    this.settle = onSettled;
  }

  releaseBody(): void {
    this.releases += 1;
  }

  /** As at the edge: nothing is done for a caller that is gone. */
  override respond(...answer: Parameters<Exchange['respond']>): void {
    if (!this.isAborted) super.respond(...answer);
  }
}

function watchSettled(): { exchange: SettledExchange; watched: Exchange; told: () => Line[] } {
  const lines: string[] = [];
  const exchange = new SettledExchange();
  const watched = new AccessLog(logInto(lines)).watch({ subject: SUBJECT, virtualHost: VIRTUAL_HOST }, exchange);
  return { exchange, watched, told: () => lines.map((line) => JSON.parse(line) as Line) };
}

t.test('the line waits for the end of the answer, and says whether the caller has all of it', async (t) => {
  for (const isWhole of [true, false]) {
    const { exchange, watched, told } = watchSettled();
    watched.releaseBody?.();
    t.equal(exchange.releases, 1, 'the memory of the body is given back');
    watched.respond(404, 'application/json', '{}', undefined, ['x-name', 'value']);
    t.same(exchange.answer?.headers, ['x-name', 'value']);
    t.same(told(), []);
    exchange.settle(isWhole);
    exchange.settle(isWhole);
    const [line, ...more] = told();
    t.same(more, []);
    t.equal(line?.['status'], 404);
    t.equal(line?.['cut'], isWhole ? undefined : true);
  }
});

t.test('of a caller that is gone the line is written when what it asked for is over', async (t) => {
  const { exchange, watched, told } = watchSettled();
  exchange.isAborted = true;
  exchange.settle(false);
  t.same(told(), [], 'it is still worked on');
  watched.respond(200, 'application/json', '{}');
  t.match(told(), [{ status: 200, callerGone: true }]);
});

t.test('the status is that of the answer that went out', async (t) => {
  const lines: string[] = [];
  const exchange = { isAborted: false, request: { method: 'POST' }, respond: () => {}, whenSettled: () => {} };
  const watched = new AccessLog(logInto(lines)).watch(
    { subject: SUBJECT, virtualHost: VIRTUAL_HOST },
    exchange as unknown as Exchange,
  );
  watched.respond(200, 'application/json', '{}');
  exchange.isAborted = true;
  watched.respond(500, 'application/json', '{}');
  t.equal((JSON.parse(lines[0] ?? '{}') as Line)['status'], 200);
});
