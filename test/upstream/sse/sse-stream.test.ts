// The stream of a server of the 2024-11-05 transport by itself: who is told what, and who is not. What a session makes of it is in
// sse-session.test.ts.
import t, { type Test } from 'tap';
import { wakeScheduler } from '../../../src/fair/turn-scheduler.js';
import { limits } from '../../../src/shared/limits.js';
import { Credentials } from '../../../src/credentials/credentials.js';
import type { UpstreamHandler } from '../../../src/http-client/http-upstream.js';
import { RpcRequest } from '../../../src/upstream/rpc/rpc-request.js';
import { SseStream } from '../../../src/upstream/sse/sse-stream.js';
import { backendOf, virtualHostOf } from '../../relay/virtual-host.js';
import { until } from '../../support/until.js';
import { ScriptedContext } from '../scripted-context.js';
import type { ScriptedCall } from '../scripted-upstream.js';

const { target } = backendOf(virtualHostOf({ b: { url: 'https://b.example/sse', transport: 'SSE' } }), 'b');

/** Longer than all waits of these tests. */
const DEADLINE_MS = 600_000;

class Scene {
  readonly context: ScriptedContext;
  readonly stream: SseStream;
  get: ScriptedCall;
  /** What was told to whom, in order. */
  readonly told: string[] = [];
  readonly #credentials: Credentials | undefined;

  constructor(t: Test, hasCredentials = false) {
    this.#credentials = Credentials.ofHeaders(hasCredentials ? ['authorization', 'Bearer one'] : []);
    this.context = new ScriptedContext(t);
    const endpoint = this.context.endpoints.of(target);
    this.stream = new SseStream(
      this.context,
      { subject: 'alice', target, endpoint, headers: [], credentials: this.#credentials },
      {
        onEndpoint: () => this.told.push('owner: named'),
        onRequestWithoutClient: (_bytes, { method }) => this.told.push(`owner: asked ${method}`),
        onLost: ({ kind }) => this.told.push(`owner: ${kind}`),
      },
    );
    this.get = this.context.http.last;
  }

  open(): this {
    this.get.head(200, 'text/event-stream').data('event: endpoint\ndata: /m\n\n');
    this.told.length = 0;
    return this;
  }

  say(message: object): void {
    this.get.data(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  }

  ask(id: number, name = String(id)): this {
    this.call(id, name);
    return this;
  }

  call(id: number, name = String(id)): RpcRequest {
    const { http, deadlines } = this.context;
    const bytes = Buffer.from(String(id));
    const plan = {
      ...this.context.to(target),
      ...{ headers: [], stream: this.stream },
      ...{ body: bytes, id: { bytes, start: 0, end: bytes.length } },
      ...{ timeoutMs: DEADLINE_MS, isSilenceTimeout: true, carriesSession: true },
      credentials: this.#credentials,
    };
    return new RpcRequest(http, deadlines, plan, {
      onAnswer: () => this.told.push(`${name}: its answer`),
      onMessage: (_bytes, { method }) => this.told.push(`${name}: ${method}`),
      onFault: ({ kind, isUnsent }) => this.told.push(`${name}: ${kind}${isUnsent ? ', unsent' : ''}`),
    });
  }

  listen(name: string): { abort(): void } {
    const reader: UpstreamHandler = {
      onHead: () => undefined,
      onData: (data) => this.told.push(`${name}: ${/"method":"([^"]*)"/.exec(data.toString())?.[1] ?? ''}`),
      onEnd: () => undefined,
      onFault: ({ kind }) => this.told.push(`${name}: ${kind}`),
    };
    return this.stream.listen(reader);
  }

  /** What was told since it was last read. */
  get heard(): string[] {
    return this.told.splice(0);
  }
}

t.test('with credentials, a redirect is followed only to the path with or without a slash at the end', async (t) => {
  const scene = new Scene(t, true);
  scene.get.head(307, '', '', -1, '/sse/');
  scene.get = scene.context.http.last;
  t.equal(scene.get.request.target.path, '/sse/');
  scene.open().ask(1);
  scene.context.http.last.head(307, '', '', -1, '/m/');
  t.equal(scene.context.http.last.request.target.path, '/m/');
  const sent = scene.ask(2).context.http.summary.length;
  scene.context.http.last.head(307, '', '', -1, '/other');
  t.same(scene.heard, ['2: redirected']);
  t.equal(scene.context.http.summary.length, sent);

  const other = new Scene(t, true);
  other.get.head(307, '', '', -1, '/other');
  t.same(other.heard, ['owner: redirected']);
  t.equal(other.context.http.calls.length, 1);
});

t.test('an answer on the stream counts, whatever becomes of the response to its message', async (t) => {
  const large = 'x'.repeat(8 * limits.readAtOnceBytesMax);
  for (const [what, end] of [
    ['refused', (post: ScriptedCall) => post.head(504, '').end()],
    ['broken', (post: ScriptedCall) => post.fault('connection-lost')],
  ] as const) {
    const scene = new Scene(t).open().ask(1);
    const post = scene.context.http.last;
    scene.say({ id: 1, result: { large } });
    t.ok(scene.get.isPaused);
    await until(() => !scene.get.isPaused, 'the request to read its answer');
    end(post);
    await until(() => scene.told.length > 0, what);
    t.same(scene.heard, ['1: its answer'], `${what}, while it is read`);

    const held = scene.call(2);
    const second = scene.context.http.last;
    held.pause();
    scene.say({ id: 2, result: {} });
    // Behind the answer, in the same turns.
    await new Promise<void>((told) => wakeScheduler.run('alice', told));
    end(second);
    held.resume();
    t.same(scene.heard, ['2: its answer'], `${what}, while it is held`);
  }
});

t.test('where the server redirected messages to, but refuses them now, none is sent again', async (t) => {
  const scene = new Scene(t).open().ask(1);
  const pathOf = (id: number): string => scene.ask(id).context.http.last.request.target.path;
  scene.context.http.last.head(307, '', '', -1, '/m2');
  t.equal(scene.context.http.last.request.target.path, '/m2');
  t.equal(pathOf(2), '/m2');
  scene.context.http.last.head(503, '').end();
  t.equal(pathOf(3), '/m');
});

t.test('a refused message waits for nothing on the stream', async (t) => {
  const scene = new Scene(t).open().ask(1);
  const post = scene.context.http.last;
  post.head(404, '');
  scene.say({ id: 7, method: 'ping' });
  t.same(scene.heard, ['owner: asked ping']);
  scene.get.end();
  post.end();
  await until(() => scene.told.length === 2, 'both');
  t.same(scene.heard.sort(), ['1: session-lost', 'owner: stream-lost']);
});

t.test('what the response to a message says behind its head is no sign of life', async (t) => {
  const scene = new Scene(t).open().ask(1);
  const post = scene.context.http.last.head(200, 'text/event-stream');
  for (let passed = 0; passed <= DEADLINE_MS; passed += DEADLINE_MS / 4) {
    scene.context.advance(DEADLINE_MS / 4);
    post.data(': ping\n\n');
  }
  t.same(scene.heard, ['1: answer-timeout']);
});

t.test('closing the stream tells its owner nothing, and its waiters that it has ended', async (t) => {
  const scene = new Scene(t).open().ask(1).ask(2);
  scene.stream.close();
  t.ok(scene.get.isAborted);
  await until(() => scene.told.length === 2, 'both');
  t.same(scene.heard, ['1: stream-lost', '2: stream-lost']);
  scene.stream.close();
  t.same(scene.heard, [], 'once');
});

t.test('a broken stream is reported to its owner first', async (t) => {
  const scene = new Scene(t).open().ask(1);
  scene.get.end();
  await until(() => scene.told.length === 2, 'both');
  t.same(scene.heard, ['owner: stream-lost', '1: stream-lost']);
});

t.test('the size of an event is bounded until the URL for messages is known, and not after that', async (t) => {
  const scene = new Scene(t);
  scene.get.head(200, 'text/event-stream').data(`event: endpoint\ndata: /${'x'.repeat(limits.sseEndpointBytesMax)}`);
  t.same(scene.heard, ['owner: endpoint-missing']);
  for (const [bytes, told] of [
    [limits.sseEndpointBytesMax, 'named'],
    [limits.sseEndpointBytesMax + 1, 'endpoint-missing'],
  ] as const) {
    const whole = new Scene(t);
    whole.get.head(200, 'text/event-stream').data(`event: endpoint\ndata: ${'/m'.padEnd(bytes, 'x')}\n\n`);
    t.same(whole.heard, [`owner: ${told}`], `${bytes} bytes`);
  }
  const open = new Scene(t).open();
  open.get.data(`data: "${'x'.repeat(limits.sseEndpointBytesMax)}`);
  t.same(open.heard, []);
});

t.test('a number may come back as a string, as official clients take it', async (t) => {
  const scene = new Scene(t).open().ask(7).ask(8);
  scene.say({ id: '8', result: {} });
  scene.say({ id: '"7', result: {} });
  await until(() => scene.told.length > 0, 'the answer');
  t.same(scene.heard, ['8: its answer'], 'and no other string');
});

t.test('the second of two requests with one id is not sent, nor one beyond the limit', async (t) => {
  const scene = new Scene(t).open();
  for (let id = 1; id <= limits.sessionRequestsInFlightMax; id += 1) scene.ask(id);
  const sentCount = scene.context.http.calls.length;
  scene.ask(1, 'again').ask(0, 'more');
  await until(() => scene.told.length === 2, 'both');
  t.same(scene.heard, ['again: id-in-use, unsent', 'more: backend-busy, unsent']);
  t.equal(scene.context.http.calls.length, sentCount);
});

t.test('a message without an id goes to the only waiting request; with several, to none', async (t) => {
  const scene = new Scene(t).open().ask(1);
  scene.say({ method: 'notifications/message' });
  t.same(scene.heard, ['1: notifications/message']);
  scene.ask(2);
  scene.say({ method: 'notifications/message' });
  t.same(scene.heard, []);
  scene.say({ id: 9, method: 'roots/list' });
  t.same(scene.heard, ['owner: asked roots/list'], 'who asks is answered all the same');
});

t.test('a listener gets it instead, the latest of them, until it wants no more', async (t) => {
  const scene = new Scene(t).open().ask(1);
  const first = scene.listen('first');
  await turn();
  const second = scene.listen('second');
  await turn();
  first.abort();
  scene.say({ method: 'notifications/message' });
  t.same(scene.heard, ['second: notifications/message']);
  second.abort();
  scene.say({ method: 'notifications/message' });
  t.same(scene.heard, ['1: notifications/message']);
  scene.stream.close();
  scene.listen('late');
  await until(() => scene.told.length === 2, 'both');
  t.same(scene.heard.sort(), ['1: stream-lost', 'late: stream-lost']);
});

t.test('a call that has its answer holds nothing up, and hears nothing of how its POST ends', async (t) => {
  const scene = new Scene(t).open();
  const call = scene.call(1);
  const post = scene.context.http.last;
  scene.say({ id: 1, result: {} });
  t.same(scene.heard, ['1: its answer']);
  call.pause();
  t.notOk(scene.get.isPaused);
  post.head(500, 'text/plain').data('x').end();
  post.fault('connection-lost');
  call.abort();
  t.same(scene.heard, []);
  t.notOk(post.isAborted, 'so that its connection can be reused');
});

t.test('the memory of a request is in use until its POST is over, and was sent', async (t) => {
  for (const isSent of [false, true]) {
    const scene = new Scene(t).open();
    const call = scene.call(1);
    const post = scene.context.http.last;
    scene.say({ id: 1, result: {} });
    t.notOk(call.isSent);
    post.head(202, '');
    post.isSent = isSent;
    post.end();
    t.equal(call.isSent, isSent);
  }
});

t.test('an unfinished event counts as memory once it is large, and until it is whole', async (t) => {
  const scene = new Scene(t).open();
  const held = (): number => scene.context.accounts.of('alice').answerBytes.used;
  scene.get.data('data: "x');
  t.equal(held(), 0);
  for (const times of [1, 2, 4, 4]) {
    scene.get.data('x'.repeat(limits.countedFromBytes));
    t.ok(held() > times * limits.countedFromBytes && held() < (times + 1) * limits.countedFromBytes);
  }
  scene.get.data('"\n\n');
  t.equal(held(), 0);
});

t.test('an event for which there is no room in time ends the stream', async (t) => {
  const scene = new Scene(t).open().ask(1);
  const account = scene.context.accounts.of('alice').answerBytes;
  account.take(Number.MAX_SAFE_INTEGER - limits.countedFromBytes);
  scene.get.data(`data: "${'x'.repeat(limits.countedFromBytes)}`);
  t.ok(scene.get.isPaused, 'no room at the moment');
  t.same(scene.heard, []);
  scene.context.advance(limits.messageWaitMsMax + 100);
  t.match(scene.heard, [/^owner: answers-/, /^1: answers-/]);
});

t.test('a large answer is given at once, however many small ones wait for their turn', async (t) => {
  const scene = new Scene(t).open().ask(1).ask(2);
  while (wakeScheduler.tryPass('alice')) /* uses up the time of this turn */ ;
  scene.say({ id: 1, result: {} });
  scene.say({ id: 2, result: 'x'.repeat(limits.countedFromBytes) });
  t.same(scene.heard, ['2: its answer']);
  await until(() => scene.told.length > 0, 'the other');
  t.same(scene.heard, ['1: its answer']);
});

t.test('a stream is silent while nobody waits on it', async (t) => {
  const scene = new Scene(t).open();
  scene.context.advance(1_000);
  t.ok(scene.stream.hasBeenSilentFor(1_000));
  scene.ask(1);
  t.notOk(scene.stream.hasBeenSilentFor(1_000));
  scene.say({ id: 1, result: {} });
  t.notOk(scene.stream.hasBeenSilentFor(1_000), 'it was heard just now');
  t.same(scene.heard, ['1: its answer']);
  scene.context.advance(1_000);
  t.ok(scene.stream.hasBeenSilentFor(1_000));
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
