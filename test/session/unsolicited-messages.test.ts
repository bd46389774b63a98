// Which backends of a session are listened to, and for how long; what they say is in the tests of the session's stream.
import t, { type Test } from 'tap';
import { limits } from '../../src/shared/limits.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { RelayScene } from '../relay/relay-scene.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { BACKEND_STREAMS_LINGER_MS } from '../../src/session/unsolicited-messages.js';

const SPEAKING = { logging: {} };

/** A session with two backends, which can send notifications unless the test declares otherwise. */
class Scene extends RelayScene {
  constructor(
    t: Test,
    capabilities: Readonly<Record<'a' | 'b', object>> = { a: SPEAKING, b: SPEAKING },
    sessionId = 'upstream-session',
  ) {
    super(t, virtualHostOf({ a: {}, b: {} }));
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    this.request({
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })),
      sessionId: '',
    });
    for (const call of [...this.http.calls]) {
      const result = { protocolVersion: '2025-11-25', capabilities: capabilities[this.#nameOf(call)] };
      call.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result }), sessionId);
      this.http.last.empty();
    }
  }

  listen(): RecordedExchange {
    return this.request({ method: 'GET', body: Buffer.alloc(0), acceptedTypes: 'event-stream' });
  }

  /** The backends whose streams are open or being opened. */
  get heard(): ('a' | 'b')[] {
    return this.streams
      .filter(({ isAborted }) => !isAborted)
      .map((call) => this.#nameOf(call))
      .sort();
  }

  get streams(): ScriptedCall[] {
    return this.http.calls.filter(({ request }) => request.method === 'GET');
  }

  #nameOf({ request }: ScriptedCall): 'a' | 'b' {
    return request.target === this.virtualHost.backends.get('a')?.target ? 'a' : 'b';
  }
}

t.test('a backend that declares nothing is listened to if it has a session, whose life it may ask for', async (t) => {
  const scene = new Scene(t, { a: SPEAKING, b: { tools: {} } });
  t.same(scene.heard, [], 'nobody listens yet');
  scene.listen();
  t.same(scene.heard, ['a', 'b']);
});

t.test('a backend without a session that can have nothing to say is not listened to', async (t) => {
  const scene = new Scene(t, { a: SPEAKING, b: { tools: {} } }, '');
  scene.listen();
  t.same(scene.heard, ['a']);
});

t.test('a newer GET reuses the backend streams of the older one', async (t) => {
  const scene = new Scene(t);
  scene.listen();
  for (const stream of scene.streams) stream.head(200, 'text/event-stream');
  scene.listen();
  t.equal(scene.streams.length, 2);
  t.same(scene.heard, ['a', 'b']);
});

t.test('backends are listened to for a while after the client went away, and no longer', async (t) => {
  const scene = new Scene(t);
  scene.listen().abort();
  scene.context.advance(BACKEND_STREAMS_LINGER_MS - 100);
  t.same(scene.heard, ['a', 'b']);
  scene.context.advance(1_000);
  t.same(scene.heard, []);
});

t.test('a client that comes back in time finds the streams open', async (t) => {
  const scene = new Scene(t);
  scene.listen().abort();
  scene.context.advance(BACKEND_STREAMS_LINGER_MS - 100);
  scene.listen();
  scene.context.advance(10 * BACKEND_STREAMS_LINGER_MS);
  t.same(scene.heard, ['a', 'b']);
  t.equal(scene.streams.length, 2);
});

t.test('a backend that lost its session is reopened for a client that only listens, after a delay', async (t) => {
  const scene = new Scene(t);
  scene.listen();
  for (const stream of scene.streams) stream.head(200, 'text/event-stream');
  const sentCount = scene.http.calls.length;
  scene.streams[0]!.end();
  scene.context.advance(2 * limits.retryDelayMsMin);
  const again = scene.http.last;
  t.equal(again.summary, 'GET', 'the stream is opened again');
  again.empty(404);
  scene.context.advance(2 * limits.retryDelayMsMin);
  t.same(scene.http.summary.slice(sentCount), ['GET', 'ping'], 'a refused GET alone shows nothing');
  scene.http.last.empty(404);
  scene.context.advance(2 * limits.retryDelayMsMin);
  t.same(scene.http.summary.slice(sentCount), ['GET', 'ping', 'initialize']);
});

t.test('a backend that refuses the stream but answers keeps its session', async (t) => {
  for (const answer of ['result', 'error'] as const) {
    const scene = new Scene(t);
    scene.listen();
    const sentCount = scene.http.calls.length;
    for (const stream of scene.streams) stream.empty(404);
    t.same(scene.http.summary.slice(sentCount), ['ping', 'ping']);
    for (const call of scene.http.calls.slice(sentCount)) {
      const body = answer === 'result' ? { result: {} } : { error: { code: -32601, message: 'Method not found' } };
      call.json(JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, ...body }));
    }
    scene.context.advance(limits.retryDelayMsMax);
    t.same(scene.http.summary.slice(sentCount), ['ping', 'ping'], answer);
  }
});

t.test('a process that drains no longer listens to backends, and sessions go on', async (t) => {
  const scene = new Scene(t);
  const stream = scene.listen();
  scene.relay.drain();
  t.equal(stream.outcome, 'ended');
  t.same(scene.heard, []);
  t.equal(scene.post('ping', {}, 1).answer?.status, 200);
});

t.test('a stream on which a call waits for its answer stays open until then, whoever goes', async (t) => {
  for (const goes of ['the client', 'the process', 'the session'] as const) {
    const scene = new Scene(t);
    const listening = scene.listen();
    for (const stream of scene.streams) stream.head(200, 'text/event-stream');
    const call = scene.post('tools/call', { name: 'a-add', arguments: {} }, 1);
    scene.http.last.empty(202);
    if (goes === 'the client') listening.abort();
    else if (goes === 'the process') scene.relay.drain();
    else scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
    scene.context.advance(1.5 * BACKEND_STREAMS_LINGER_MS);
    t.same(scene.heard.includes('a'), goes !== 'the session', goes);
    if (goes === 'the session') continue;
    scene.streams[0]!.data(`data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n`);
    await until(() => call.answer !== undefined, 'the answer');
    t.match(call.answer?.body.toString(), '"result":{"content":[]}');
    scene.context.advance(1.5 * BACKEND_STREAMS_LINGER_MS);
    t.same(scene.heard, [], goes);
  }
});

t.test(
  'an answer that is cut off on a stream is said to be lost if it cannot come again, and if it is known whose it was',
  async (t) => {
    for (const [before, ids, isLost] of [
      ['', [1], true],
      ['id: 7\ndata:\n\n', [1], false],
      ['', [1, 2], false],
    ] as const) {
      const scene = new Scene(t);
      scene.listen();
      for (const stream of scene.streams) stream.head(200, 'text/event-stream');
      const calls = ids.map((id) => {
        const call = scene.post('tools/call', { name: 'a-add', arguments: {} }, id);
        scene.http.last.empty(202);
        return call;
      });
      scene.streams[0]!.data(`${before}data: {"jsonrpc":"2.0","id":1,"res`);
      scene.streams[0]!.end();
      const errors = calls.map(({ answer }) => answer?.body.toString().match(/failed: [\w ]+/)?.[0]);
      t.same(errors, isLost ? ['failed: stream ended without a response'] : ids.map(() => undefined));
      t.equal(scene.http.summary.filter((each) => each === 'tools/call').length, ids.length, 'nothing is sent again');
    }
  },
);

t.test("an answer is a backend's only if the successor passes it back, whatever a client's headers say", async (t) => {
  const scene = new Scene(t);
  scene.listen();
  for (const stream of scene.streams) stream.head(200, 'text/event-stream');
  const call = scene.post('tools/call', { name: 'a-add', arguments: {} }, 1);
  scene.http.last.empty(202);
  scene.relay.retire();
  const answer = (by: string): Buffer => Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"by":"${by}"}}`);
  scene.request({ body: answer('client'), lastEventId: 'a' });
  t.equal(call.answer, undefined);
  scene.request({ body: answer('other'), lastEventId: 'b', isFromSuccessor: true });
  t.equal(call.answer, undefined, 'of another backend');
  scene.request({ body: answer('backend'), lastEventId: 'a', isFromSuccessor: true });
  await until(() => call.answer !== undefined, 'the answer');
  t.match(call.answer?.body.toString(), '"by":"backend"');
});

t.test('the end of the session ends all its streams', async (t) => {
  const scene = new Scene(t);
  const stream = scene.listen();
  scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  t.equal(stream.outcome, 'ended');
  t.same(scene.heard, []);
});

t.test(
  'backends of a client that can be asked are listened to as soon as it is ready, before it opens its stream',
  async (t) => {
    for (const [capabilities, count] of [
      [{ sampling: {} }, 1],
      [{}, 0],
    ] as const) {
      const scene = new RelayScene(t, virtualHostOf({ b: {} })).open(capabilities);
      scene.post('notifications/initialized', {});
      const streams = scene.http.calls.filter(({ request, isAborted }) => request.method === 'GET' && !isAborted);
      t.equal(streams.length, count);
    }
  },
);

t.test('a backend that is being opened again is left alone once nobody listens any more', async (t) => {
  const scene = new Scene(t);
  const listening = scene.listen();
  for (const stream of scene.streams) stream.head(200, 'text/event-stream');
  scene.streams[0]!.end();
  scene.context.advance(2 * limits.retryDelayMsMin);
  scene.http.last.empty(404);
  scene.context.advance(2 * limits.retryDelayMsMin);
  scene.http.last.empty(404);
  listening.abort();
  scene.context.advance(2 * limits.retryDelayMsMin);
  const opening = scene.http.last;
  t.equal(opening.summary, 'initialize');
  scene.context.advance(BACKEND_STREAMS_LINGER_MS - limits.retryDelayMsMin);
  const sentCount = scene.http.calls.length;
  opening.empty(503);
  scene.context.advance(20_000);
  t.same(scene.http.summary.slice(sentCount), []);
});
