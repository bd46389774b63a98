// A backend that is slow, silent or gone beside a good one: whom it delays, for how long, and how it comes back.
// The backends are scripts, and the test moves the clock.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { RelayScene, initializeResult } from './relay-scene.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { virtualHostOf } from './virtual-host.js';
import { ORIGIN_ANSWERED_MS, PROBE_ANSWER_MS_MAX } from '../../src/upstream/reach/backend-endpoints.js';
import { PROBE_DELAY_MS_MIN, ORIGIN_FORGOTTEN_MS } from '../../src/upstream/reach/silence-ledger.js';

const VIRTUAL_HOST = virtualHostOf({
  good: { url: 'https://good.example/mcp' },
  sick: { url: 'https://sick.example/mcp' },
});
const LIST = JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { tools: [{ name: 'x' }] } });
const TICK_MS = 10;

class Scene extends RelayScene {
  constructor(t: Test) {
    super(t, VIRTUAL_HOST);
  }

  /** `initialize` of a new session; the good backend answers at once. */
  begin(subject = 'alice'): RecordedExchange {
    const exchange = this.initialize(subject);
    this.greet('good');
    return exchange;
  }

  initialize(subject = 'alice'): RecordedExchange {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }));
    return this.requestAs(subject, { body, sessionId: '' });
  }

  /** The latest request that a backend was sent. */
  latest(backend: string): ScriptedCall {
    const call = this.http.calls.findLast(({ request }) => request.target.origin === `https://${backend}.example`);
    if (call === undefined) throw new Error(`nothing was sent to ${backend}`);
    return call;
  }

  countOf(backend: string): number {
    return this.http.calls.filter(({ request }) => request.target.origin === `https://${backend}.example`).length;
  }

  greet(backend: string): void {
    this.latest(backend).json(initializeResult, `s-${backend}`);
    this.latest(backend).empty();
  }

  pass(ms: number): void {
    for (let passedMs = 0; passedMs < ms; passedMs += TICK_MS) this.context.advance(TICK_MS);
  }

  get patienceMs(): number {
    return this.context.options.initializePatienceMs;
  }

  in(session: RecordedExchange, method: string, params: unknown = {}): RecordedExchange {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }));
    return this.request({ body, sessionId: session.answer?.sessionId ?? '' });
  }
}

interface Answer {
  readonly result?: { readonly tools?: readonly unknown[]; readonly _meta?: Record<string, unknown> };
  readonly error?: { readonly code: number; readonly message: string };
}

function read(exchange: RecordedExchange): Answer {
  return JSON.parse(exchange.answer?.body.toString() ?? '{}') as Answer;
}

function unavailable(exchange: RecordedExchange): unknown {
  return read(exchange).result?._meta?.['switchyard/unavailable'];
}

t.test('initialize waits for a silent backend as long as the patience, and no longer', async (t) => {
  const scene = new Scene(t);
  const session = scene.begin();
  scene.pass(scene.patienceMs - 2 * TICK_MS);
  t.equal(session.outcome, 'none');
  scene.pass(4 * TICK_MS);
  t.same(unavailable(session), [{ backend: 'sick', reason: 'not ready yet' }]);
  t.notOk(scene.latest('sick').isAborted, 'its opening goes on');
});

t.test('while no backend is open, initialize waits for the first: a slow one delays no other', async (t) => {
  const scene = new Scene(t);
  const session = scene.initialize();
  scene.pass(3 * scene.patienceMs);
  t.equal(session.outcome, 'none');
  scene.greet('good');
  t.same(unavailable(session), [{ backend: 'sick', reason: 'not ready yet' }]);
  t.match(read(session).result, { serverInfo: {} });
});

t.test('when no backend opens at all, initialize is answered when each was given up', async (t) => {
  const scene = new Scene(t);
  const session = scene.initialize();
  scene.latest('good').fault('connection-refused');
  scene.pass(scene.context.options.initializeTimeoutMs - 2 * TICK_MS);
  t.equal(session.outcome, 'none');
  scene.pass(4 * TICK_MS);
  t.same(unavailable(session), [
    { backend: 'good', reason: 'connection refused' },
    { backend: 'sick', reason: 'no response in time' },
  ]);
});

t.test('when all backends have answered, initialize does not wait for the rest of the patience', async (t) => {
  const scene = new Scene(t);
  const session = scene.begin();
  scene.greet('sick');
  t.equal(unavailable(session), undefined);
  t.equal(session.outcome, 'responded');
  scene.pass(2 * scene.patienceMs);
});

t.test('a call waits for an opening that goes on after initialize was answered', async (t) => {
  const scene = new Scene(t);
  const session = scene.begin();
  scene.pass(scene.patienceMs + TICK_MS);
  const call = scene.in(session, 'tools/call', { name: 'sick-x' });
  scene.pass(5 * scene.patienceMs);
  t.equal(call.outcome, 'none');
  t.equal(scene.countOf('sick'), 1, 'there is one opening');
  scene.greet('sick');
  t.match(scene.latest('sick').text, /"tools\/call"/);
  scene.latest('sick').json('{"jsonrpc":"2.0","id":7,"result":{}}');
  t.same(read(call).result, {});
});

t.test('a list waits for an opening for some times the patience, and then names the backend', async (t) => {
  const scene = new Scene(t);
  const session = scene.begin();
  scene.pass(scene.patienceMs + TICK_MS);
  const list = scene.in(session, 'tools/list');
  scene.latest('good').json(LIST);
  scene.pass(limits.listPatienceFactor * scene.patienceMs - 3 * TICK_MS);
  t.equal(list.outcome, 'none');
  scene.pass(5 * TICK_MS);
  t.match(read(list).result, { tools: [{ name: 'good-x' }] });
  t.same(unavailable(list), [{ backend: 'sick', reason: 'not ready yet' }]);
  t.equal(scene.countOf('sick'), 1);
  scene.greet('sick');
  t.equal(scene.latest('sick').summary, 'notifications/initialized', 'the list that went without it asks nothing');
  const later = scene.in(session, 'tools/list');
  for (const backend of ['good', 'sick']) scene.latest(backend).json(LIST);
  t.equal(unavailable(later), undefined);
  t.equal(read(later).result?.tools?.length, 2);
});

t.test('a list is complete when an opening finishes in time', async (t) => {
  const scene = new Scene(t);
  const session = scene.begin();
  scene.pass(scene.patienceMs + TICK_MS);
  const list = scene.in(session, 'tools/list');
  scene.latest('good').json(LIST);
  scene.pass(1.5 * scene.patienceMs);
  scene.greet('sick');
  scene.pass(limits.listPatienceFactor * scene.patienceMs);
  scene.latest('sick').json(LIST);
  t.equal(read(list).result?.tools?.length, 2, 'the patience was for the opening alone');
});

t.test('an origin that one session found unreachable is not waited for until a probe has reached it', async (t) => {
  const scene = new Scene(t);
  const first = scene.begin('alice');
  scene.latest('sick').fault('connect-timeout');
  t.same(unavailable(first), [{ backend: 'sick', reason: 'connecting timed out' }]);
  const sentCount = scene.countOf('sick');
  for (const subject of ['alice', 'bob']) {
    const session = scene.begin(subject);
    t.same(unavailable(session), [{ backend: 'sick', reason: 'connecting timed out' }], 'at once');
  }
  const call = scene.in(first, 'tools/call', { name: 'sick-x' });
  t.match(read(call).error, { code: -32603, message: /sick.*connecting timed out/ });
  const list = scene.in(first, 'tools/list');
  scene.latest('good').json(LIST);
  t.same(unavailable(list), [{ backend: 'sick', reason: 'connecting timed out' }]);
  t.equal(scene.countOf('sick'), sentCount, 'and nothing was sent');
  scene.pass(PROBE_DELAY_MS_MIN + 4 * TICK_MS);
  scene.latest('sick').head(404, '');
  const healed = scene.in(first, 'tools/call', { name: 'sick-x' });
  scene.greet('sick');
  scene.latest('sick').json('{"jsonrpc":"2.0","id":7,"result":{}}');
  t.same(read(healed).result, {}, 'the session that was there before has it back');
});

t.test('an origin that is gone stays known as gone as long as anybody asks for it', async (t) => {
  const scene = new Scene(t);
  const session = scene.begin();
  scene.latest('sick').fault('connection-refused');
  const stepMs = PROBE_ANSWER_MS_MAX;
  for (let passedMs = 0; passedMs < 1.5 * ORIGIN_FORGOTTEN_MS; passedMs += stepMs) {
    scene.pass(stepMs);
    const latest = scene.latest('sick');
    if (latest.request.method === 'GET') latest.fault('connection-refused');
    const call = scene.in(session, 'tools/call', { name: 'sick-x' });
    t.match(read(call).error, { message: /connection refused/ });
    t.equal(scene.latest('sick'), latest, 'the call was not sent');
  }
});

t.test('a call of an open session to an origin that is gone fails at once', async (t) => {
  const scene = new Scene(t);
  const session = scene.begin();
  scene.greet('sick');
  scene.pass(ORIGIN_ANSWERED_MS);
  scene.in(session, 'tools/call', { name: 'sick-x' });
  scene.latest('sick').fault('connection-refused');
  const sentCount = scene.countOf('sick');
  const call = scene.in(session, 'tools/call', { name: 'sick-x' });
  t.match(read(call).error, { code: -32603, message: /connection refused/ });
  t.equal(scene.countOf('sick'), sentCount);
  scene.pass(PROBE_DELAY_MS_MIN + 4 * TICK_MS);
  scene.latest('sick').head(404, '');
  const healed = scene.in(session, 'tools/call', { name: 'sick-x' });
  t.match(scene.latest('sick').text, /"tools\/call"/, 'in the same upstream session');
  scene.latest('sick').json('{"jsonrpc":"2.0","id":7,"result":{}}');
  t.same(read(healed).result, {});
});

t.test('a backend that was silent for the whole timeout is tried by few sessions', async (t) => {
  const scene = new Scene(t);
  scene.begin();
  scene.pass(scene.context.options.initializeTimeoutMs + TICK_MS);
  const sentCount = scene.countOf('sick');
  const second = scene.begin();
  t.same(unavailable(second), [{ backend: 'sick', reason: 'no response in time' }], 'at once');
  t.equal(scene.countOf('sick'), sentCount);
  scene.pass(PROBE_DELAY_MS_MIN + 4 * TICK_MS);
  const trial = scene.begin();
  t.same(unavailable(trial), [{ backend: 'sick', reason: 'no response in time' }], 'at once as well');
  t.equal(scene.countOf('sick'), sentCount + 1, 'but it has tried');
  const list = scene.in(trial, 'tools/list');
  scene.latest('good').json(LIST);
  scene.pass(scene.patienceMs + TICK_MS);
  t.equal(list.outcome, 'responded', 'a list does not wait twice for what is known to be silent');
  const call = scene.in(second, 'tools/call', { name: 'sick-x' });
  t.match(read(call).error, { message: /no response in time/ });
  scene.greet('sick');
  const healed = scene.in(second, 'tools/call', { name: 'sick-x' });
  scene.greet('sick');
  t.match(scene.latest('sick').text, /"tools\/call"/);
  scene.latest('sick').json('{"jsonrpc":"2.0","id":7,"result":{}}');
  t.same(read(healed).result, {}, "one trial's success serves every session");
});

t.test("one subject's silence costs another subject nothing", async (t) => {
  const scene = new Scene(t);
  scene.begin('mallory');
  scene.pass(scene.context.options.initializeTimeoutMs + TICK_MS);
  const session = scene.begin('alice');
  t.equal(session.outcome, 'none', 'alice waits for it as if nothing were known');
  scene.greet('sick');
  t.equal(unavailable(session), undefined);
});

t.test('a session that ends during its trial makes room for the next trial', async (t) => {
  const scene = new Scene(t);
  scene.begin();
  scene.pass(scene.context.options.initializeTimeoutMs + PROBE_DELAY_MS_MIN + 4 * TICK_MS);
  const trial = scene.begin();
  const sentCount = scene.countOf('sick');
  scene.request({ method: 'DELETE', sessionId: trial.answer?.sessionId ?? '', body: Buffer.alloc(0) });
  scene.begin();
  t.equal(scene.countOf('sick'), sentCount + 1);
});

t.test('an HTTP status that a backend gave one caller does not count against its origin', async (t) => {
  const scene = new Scene(t);
  for (const status of [401, 404, 500]) {
    const session = scene.begin('mallory');
    scene.latest('sick').empty(status);
    // It may be of the other era, which is tried then.
    if (status === 404) scene.latest('sick').empty(status);
    t.match(unavailable(session), [{ backend: 'sick', reason: `refused with HTTP status ${status}` }]);
  }
  const session = scene.begin('alice');
  t.equal(session.outcome, 'none');
  scene.greet('sick');
  t.equal(unavailable(session), undefined);
});
