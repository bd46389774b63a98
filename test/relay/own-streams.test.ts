// What backends say about a call on their own streams, as some servers do: those that answer calls with JSON, and those whose tools
// do not say which call a message belongs to.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import { readEvents } from '../support/event-stream.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { initializeResult, RelayScene } from './relay-scene.js';
import { virtualHostOf } from './virtual-host.js';
import { LATE_PROGRESS_WAIT_MS } from '../../src/calls/answered-request.js';
import { LISTEN_CONFIG_MS } from '../../src/session/config-poll.js';

const ANSWER = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}';
const PAST_LATE_REPORTS = LATE_PROGRESS_WAIT_MS + 200;
const ROOTS = (id: number): string => `data: {"jsonrpc":"2.0","id":${id},"method":"roots/list"}\n\n`;

/** A session with the client's own stream, for which the own streams of two backends are open. */
class Scene extends RelayScene {
  readonly own: RecordedExchange;
  readonly #streams: Record<string, ScriptedCall> = {};

  constructor(t: Test, introduction = initializeResult) {
    super(t, virtualHostOf({ b: {}, c: {} }));
    this.open({ roots: {}, tasks: {} }, introduction);
    this.own = this.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
    const calls = this.http.calls.filter(({ request }) => request.method === 'GET');
    for (const name of ['b', 'c']) {
      const call = calls.find(({ request }) => request.target === this.virtualHost.backends.get(name)?.target);
      if (call === undefined) throw new Error(`${name} is not listened to`);
      this.#streams[name] = call.head(200, 'text/event-stream');
    }
    this.post('notifications/initialized', {});
  }

  /** Sends a message on the backend's own stream. */
  says(backend: string, event: string): void {
    this.#streams[backend]!.data(event);
  }

  call(backend: string, id: number, progressToken: unknown = id): RecordedExchange {
    return this.post('tools/call', { name: `${backend}-x`, _meta: { progressToken } }, id);
  }
}

function progress(token: unknown, count: number, meta?: object): string {
  const params = { progressToken: token, progress: count, _meta: meta };
  return `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })}\n\n`;
}

/** The progress that a client got: tokens with counts. */
function heard(exchange: RecordedExchange): unknown[] {
  const messages = readEvents(exchange.written).map((text) => JSON.parse(text) as { method?: string; params?: object });
  return messages
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => Object.values<unknown>(params as Record<string, unknown>));
}

/** Whether the client got its answer. */
function isOver({ outcome }: RecordedExchange): boolean {
  return outcome === 'responded' || outcome === 'ended';
}

t.test('progress on a backend’s own stream is sent on the stream of its call', async (t) => {
  const scene = new Scene(t);
  const one = scene.call('b', 7, 'x');
  const oneCall = scene.http.last;
  const two = scene.call('c', 8, 'y');
  const twoCall = scene.http.last;
  scene.says('b', progress('x', 1));
  scene.says('b', progress('y', 2));
  scene.says('b', progress('z', 3));
  scene.says('c', progress('y', 4));
  oneCall.json(ANSWER);
  scene.context.advance(PAST_LATE_REPORTS);
  scene.says('b', progress('x', 5));
  twoCall.json(ANSWER.replace('7', '8'));
  scene.context.advance(PAST_LATE_REPORTS);
  t.same(heard(one), [['x', 1]]);
  t.same(heard(two), [['y', 4]], 'no other backend has a say in it');
  const late = [
    ['z', 3],
    ['x', 5],
  ];
  t.same(heard(scene.own), late, 'what belongs to no call in flight comes where the backend sent it');
  t.same(readEvents(one.written).at(-1), ANSWER);
});

t.test(
  'a numeric token that comes back as text is the call’s on its own response, and on no other stream',
  async (t) => {
    const scene = new Scene(t);
    const number = scene.call('b', 7);
    const numberCall = scene.http.last.head(200, 'text/event-stream');
    const text = scene.call('b', 8, '9');
    const textCall = scene.http.last.head(200, 'text/event-stream');
    scene.says('b', progress('7', 1));
    for (const token of ['7', '07', '8', 8]) numberCall.data(progress(token, 2));
    for (const token of [9, '"9', '9']) textCall.data(progress(token, 3));
    t.same(heard(number), [[7, 2]], 'under the token of the caller');
    t.same(heard(text), [['9', 3]]);
    t.match(scene.context.endpoints.origins, [{ forgiven: { 'id-as-text': 1 } }]);
    numberCall.data(`data: ${ANSWER}\n\n`).end();
    t.equal(readEvents(number.written).at(-1), ANSWER);
  },
);

t.test('no backend reports on another one’s call, whatever a client may read as its token', async (t) => {
  const scene = new Scene(t, initializeResult.replace('"tools":{}', '"tools":{},"tasks":{"list":{}}'));
  const number = scene.call('b', 7);
  const ownCall = scene.call('c', 8);
  const hostile = scene.http.last.head(200, 'text/event-stream');
  const likeness = [7, '7', '07', ' 7', '7.0', '0x7', '7e0'];
  const ofTask = { 'io.modelcontextprotocol/related-task': { taskId: 't' } };
  for (const token of likeness) {
    scene.says('c', progress(token, 1));
    scene.says('c', progress(token, 2, ofTask));
    hostile.data(progress(token, 3));
    hostile.data(progress(token, 4, ofTask));
  }
  scene.post('tools/call', { name: 'b-x' }, 9);
  for (const [token, count] of [
    ['70', 5],
    [0, 7],
    ['', 8],
  ] as const)
    scene.says('c', progress(token, count));
  hostile.data(progress('70', 6, ofTask));
  t.same(heard(number), []);
  t.match(heard(ownCall), [['70', 6]]);
  const itsOwn = [
    ['70', 5],
    [0, 7],
    ['', 8],
  ];
  t.match(heard(scene.own), itsOwn, 'and says of its own what it likes: a call without a token takes none of it');
});

t.test('however many reports a backend sends, the token of each call in flight is read once', async (t) => {
  const scene = new Scene(t);
  let reads = 0;
  for (let id = 10; id < 20; id++) {
    const body = Buffer.from(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"b-x","_meta":{"progressToken":${id}}}}`,
    );
    scene.request({ body });
    const read = body.toString.bind(body);
    body.toString = (...bounds) => {
      reads += 1;
      return read(...bounds);
    };
  }
  scene.call('c', 8);
  const hostile = scene.http.last.head(200, 'text/event-stream');
  for (let count = 0; count < 100; count++) {
    hostile.data(progress('14', count));
    scene.says('c', progress('15', count));
    scene.says('b', progress(16.5, count));
  }
  t.equal(reads, 10);
});

t.test('an answer does not overtake the last report, which comes on another connection', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.call('b', 7, 'x');
  const call = scene.http.last;
  scene.says('b', progress('x', 1));
  call.json(ANSWER);
  scene.says('c', progress('x', 3));
  t.notOk(isOver(exchange));
  scene.says('b', progress('x', 2));
  t.same(heard(exchange), [
    ['x', 1],
    ['x', 2],
  ]);
  t.ok(isOver(exchange), 'answered without any further wait');
  t.equal(readEvents(exchange.written).at(-1), ANSWER);

  const unheard = scene.call('b', 8, 'y');
  scene.http.last.json(ANSWER.replace('7', '8'));
  t.ok(isOver(unheard), 'a call without reports there is answered at once');

  const large = scene.call('b', 10, 'l');
  const largeCall = scene.http.last;
  scene.says('b', progress('l', 1));
  const text = 'x'.repeat(limits.readAtOnceBytesMax);
  largeCall.json(`{"jsonrpc":"2.0","id":10,"result":{"content":[{"type":"text","text":"${text}"}]}}`);
  await until(() => isOver(large), 'the large answer, for which no memory is held');

  const cancelled = scene.call('b', 9, 'z');
  const last = scene.http.last;
  scene.says('b', progress('z', 1));
  last.json(ANSWER.replace('7', '9'));
  scene.post('notifications/cancelled', { requestId: 9 });
  scene.context.advance(PAST_LATE_REPORTS);
  scene.says('b', progress('z', 2));
  t.same(heard(cancelled), [['z', 1]]);
  t.ok(isOver(cancelled));
  t.equal(readEvents(cancelled.written).filter((text) => text.includes('"id":9')).length, 1, 'one answer');
});

t.test('progress on a backend’s own stream is a sign of life of its call', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.call('b', 7, 'x');
  const { callIdleTimeoutMs } = scene.context.options;
  for (const count of [1, 2, 3]) {
    scene.context.advance(callIdleTimeoutMs - 1_000);
    scene.says('b', progress('x', count));
    t.equal(exchange.outcome, 'streaming');
  }
  scene.context.advance(callIdleTimeoutMs + 1_000);
  t.equal(exchange.outcome, 'ended');
});

t.test('a caller that reads nothing misses some progress, and nothing waits for it', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.exchange({
    body: Buffer.from(
      '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"b-x","_meta":{"progressToken":1}}}',
    ),
  });
  exchange.isSlow = true;
  scene.relay.handle({ subject: 'alice', virtualHost: scene.virtualHost }, exchange);
  const call = scene.http.last;
  for (let count = 1; count <= 1_000; count += 1) scene.says('b', progress(1, count));
  exchange.drain();
  scene.says('b', progress(1, 1_001));
  exchange.drain();
  call.json(ANSWER);
  exchange.drain();
  t.same(heard(exchange), [
    [1, 1],
    [1, 1_001],
  ]);
});

t.test('a call that begins while its backend asks on its own stream does not time out either', async (t) => {
  const scene = new Scene(t);
  const { callIdleTimeoutMs } = scene.context.options;
  scene.says('b', ROOTS(1));
  const exchange = scene.call('b', 7);
  scene.context.advance(callIdleTimeoutMs + 1_000);
  t.notOk(isOver(exchange));
  const [asked] = readEvents(scene.own.written).map((text) => JSON.parse(text) as { id?: unknown });
  scene.request({ body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: asked?.id, result: { roots: [] } })) });
  scene.context.advance(callIdleTimeoutMs - 1_000);
  t.notOk(isOver(exchange));
  scene.context.advance(2_000);
  t.ok(isOver(exchange), 'then its silence counts');
});

t.test('a question from a session that was lost since does not hold back the timeout of a call', async (t) => {
  const scene = new Scene(t);
  const { callIdleTimeoutMs } = scene.context.options;
  const exchange = scene.call('b', 7);
  const call = scene.http.last;
  scene.says('b', ROOTS(1));
  call.empty(404);
  scene.http.calls.findLast(({ summary }) => summary === 'initialize')?.json(initializeResult, 'second');
  scene.http.calls.findLast(({ summary }) => summary === 'notifications/initialized')?.empty();
  scene.http.calls.findLast(({ request }) => request.method === 'GET')?.head(200, 'text/event-stream');
  t.equal(scene.http.calls.filter(({ summary }) => summary === 'tools/call').length, 2, 'it was sent once more');
  scene.context.advance(callIdleTimeoutMs + 1_000);
  t.ok(isOver(exchange));
});

t.test('calls do not time out while their backend asks on its own stream; afterwards they do', async (t) => {
  const scene = new Scene(t);
  const { callIdleTimeoutMs } = scene.context.options;
  const exchanges = [scene.call('b', 7)];
  scene.says('b', ROOTS(1));
  exchanges.push(scene.call('b', 8));
  scene.says('b', ROOTS(2));
  const other = scene.call('c', 9);
  scene.context.advance(callIdleTimeoutMs + 1_000);
  const overCount = (): number => exchanges.filter((exchange) => isOver(exchange)).length;
  t.equal(overCount(), 0);
  t.ok(isOver(other), 'what another backend asks is no excuse');
  const ids = readEvents(scene.own.written).map((text) => (JSON.parse(text) as { id?: unknown }).id);
  const answerTo = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result: { roots: [] } });
  scene.request({ body: Buffer.from(answerTo(ids[0])) });
  scene.context.advance(callIdleTimeoutMs - 100_000);
  t.equal(overCount(), 0, 'one is not answered yet');
  scene.request({ body: Buffer.from(answerTo(ids[1])) });
  scene.context.advance(callIdleTimeoutMs - 1_000);
  t.equal(overCount(), 0);
  scene.context.advance(2_000);
  t.equal(overCount(), 2);
});

t.test(
  'a client that only listens is checked against the config, and may listen again when its virtual host is back',
  async (t) => {
    const scene = new Scene(t);
    const look = (): void => scene.context.advance(LISTEN_CONFIG_MS + 200);
    const listened = (): ScriptedCall[] => scene.http.calls.filter(({ request }) => request.method === 'GET');
    scene.hostNow = 'unknown';
    look();
    scene.hostNow = virtualHostOf({ b: {} });
    const cTarget = scene.virtualHost.backends.get('c')?.target;
    const [toC] = listened().filter(({ request }) => request.target === cTarget);
    await until(() => {
      look();
      return toC?.isAborted === true;
    }, 'the end of the stream of a backend that is not in it any more');
    t.equal(scene.own.outcome, 'streaming');
    scene.says('b', ROOTS(1));
    const events = readEvents(scene.own.written);
    t.equal(events.filter((text) => text.includes('"roots/list"')).length, 1, 'others are heard as before');
    scene.hostNow = 'gone';
    await until(() => {
      look();
      return scene.own.outcome === 'ended';
    }, 'the end of the stream');
    const before = listened().length;
    const again = scene.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
    t.equal(again.outcome, 'streaming');
    t.ok(listened().length > before, 'and its backends are listened to again');
  },
);

t.test('where several calls share a stream, a token as text is no call’s', async (t) => {
  const scene = new RelayScene(t, virtualHostOf({ b: { transport: 'SSE' } }));
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  scene.request({
    body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })),
    sessionId: '',
  });
  const stream = scene.http.last.head(200, 'text/event-stream').data('event: endpoint\ndata: /m\n\n');
  const { idText } = scene.http.last.empty();
  stream.data(`data: ${initializeResult.replace(JSON.stringify(REQUEST_ID), idText)}\n\n`);
  scene.http.last.empty();
  const exchange = scene.post('tools/call', { name: 'b-x', _meta: { progressToken: 7 } }, 7);
  const { idText: sentId } = scene.http.last.empty();
  stream.data(progress('7', 1));
  stream.data(progress(7, 2));
  t.same(heard(exchange), [[7, 2]]);
  stream.data(`data: ${ANSWER.replace('7', sentId)}\n\n`);
  t.ok(isOver(exchange));
});
