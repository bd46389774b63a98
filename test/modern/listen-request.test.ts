// `subscriptions/listen` with legacy backends, through a real relay; the backends are scripted.
import t, { type Test } from 'tap';
import type { ShareOptions } from '../../src/config/dataplane-options.js';
import { estimatedSessionBytes } from '../../src/session/session-memory.js';
import { limits, perSubject } from '../../src/shared/limits.js';
import { refusals, type Refusal } from '../../src/shared/refusals.js';
import type { RpcError } from '../../src/shared/rpc-errors.js';
import { OWN_INTRODUCTION } from '../../src/upstream/session/client-introduction.js';
import { readEvents } from '../support/event-stream.js';
import { until } from '../support/until.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { REQUEST_ID, type ScriptedCall } from '../upstream/scripted-upstream.js';
import { RelayScene } from '../relay/relay-scene.js';
import { virtualHostOf } from '../relay/virtual-host.js';
import { LIST_CHANGES_MS } from '../../src/streams/session-stream.js';
import { LISTEN_CONFIG_MS } from '../../src/session/config-poll.js';

const META = 'io.modelcontextprotocol/';
const TAG = `${META}subscriptionId`;

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly notifications?: unknown;
    readonly uri?: string;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly result?: { readonly resultType?: string; readonly _meta?: Readonly<Record<string, unknown>> };
  readonly error?: RpcError;
}

function initialized(capabilities: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: REQUEST_ID, result: { protocolVersion: '2025-11-25', capabilities } });
}

const SPEAKING = { tools: { listChanged: true }, resources: { subscribe: true } };

/** Two backends: `b` announces changes and has resources, `c` announces nothing. */
class Scene extends RelayScene {
  constructor(t: Test, shares: Partial<ShareOptions> = {}) {
    super(t, virtualHostOf({ b: {}, c: {} }), shares);
  }

  listen(notifications: unknown, id: unknown = 'l'): RecordedExchange {
    const meta = { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: { roots: {} } };
    const body = { jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { notifications, _meta: meta } };
    return this.request({
      sessionId: '',
      body: Buffer.from(JSON.stringify(body)),
      mirror: { protocolVersion: '2026-07-28', method: 'subscriptions/listen', name: '', params: [] },
    });
  }

  /** Requests of one kind to a backend, the latest last. */
  sent(backend: string, what: string): ScriptedCall[] {
    const target = this.virtualHost.backends.get(backend)?.target;
    return this.http.calls.filter(
      ({ request, text }) => request.target === target && (request.method === what || text.includes(`"${what}"`)),
    );
  }

  /** The backend refuses `server/discover`, and opens a session. */
  greet(backend: string, capabilities: object = SPEAKING): void {
    const discovery = this.sent(backend, 'server/discover').at(-1);
    const { id } = JSON.parse(discovery?.text ?? '{}') as Message;
    const error = { code: -32601, message: 'Method not found' };
    if (this.sent(backend, 'initialize').length === 0)
      discovery?.json(JSON.stringify({ jsonrpc: '2.0', id, error }), '', 404);
    this.sent(backend, 'initialize').at(-1)?.json(initialized(capabilities), `${backend}-session`);
    this.sent(backend, 'notifications/initialized').at(-1)?.empty();
  }

  /** The backend's own stream begins. */
  begin(backend: string): ScriptedCall {
    const stream = this.sent(backend, 'GET').at(-1);
    if (stream === undefined) throw new Error('not listened to');
    return stream.head(200, 'text/event-stream');
  }

  /** The backend accepts the last subscription, or refuses it. */
  take(backend: string, isTaken = true): void {
    const call = this.sent(backend, 'resources/subscribe').at(-1);
    const { id } = JSON.parse(call?.text ?? '{}') as Message;
    call?.json(
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        ...(isTaken ? { result: {} } : { error: { code: -32602, message: 'no' } }),
      }),
    );
  }
}

function messages(exchange: RecordedExchange): Message[] {
  if (exchange.answer !== undefined) return [JSON.parse(exchange.answer.body.toString()) as Message];
  return readEvents(exchange.written).map((text) => JSON.parse(text) as Message);
}

const changed = (what: string, params = ''): string =>
  `data: {"jsonrpc":"2.0","method":"notifications/${what}"${params}}\n\n`;

t.test('a listener hears what it asked for where that is there, under its own id', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.listen({
    toolsListChanged: true,
    promptsListChanged: true,
    resourceSubscriptions: ['b+x:1', 'b+x:2', 'nobody+x:3', ''],
  });
  scene.greet('b');
  scene.greet('c', { tools: {} });
  t.equal(exchange.outcome, 'none', 'not before the backend is listened to');
  const stream = scene.begin('b');
  scene.take('b');
  const second = scene.sent('b', 'resources/subscribe');
  t.equal(second.length, 2, 'one for each of its own');
  stream.data(changed('tools/list_changed'));
  for (const call of second) {
    if (call.text.includes('x:1')) {
      const { id } = JSON.parse(call.text) as Message;
      call.json(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32602, message: 'no' } }));
    }
  }
  scene.context.advance(LIST_CHANGES_MS + 200);
  const [acknowledged, ...more] = messages(exchange);
  t.same(acknowledged, {
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: {
      notifications: { toolsListChanged: true, resourceSubscriptions: ['b+x:2'] },
      _meta: { [TAG]: 'l' },
    },
  });
  t.same(more, [{ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: { [TAG]: 'l' } } }]);

  stream.data(changed('resources/updated', ',"params":{"uri":"x:2","_meta":{"a":1}}'));
  stream.data(changed('resources/updated', ',"params":{"uri":"x:9"}'));
  stream.data(changed('prompts/list_changed'));
  stream.data(changed('resources/list_changed'));
  stream.data(changed('message', ',"params":{"level":"error","data":1}'));
  stream.data('data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}\n\n');
  scene.context.advance(LIST_CHANGES_MS + 200);
  t.same(
    messages(exchange).slice(2),
    [
      {
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: 'b+x:2', _meta: { [TAG]: 'l', a: 1 } },
      },
      // It was asked for, though no backend declared such notifications.
      { jsonrpc: '2.0', method: 'notifications/prompts/list_changed', params: { _meta: { [TAG]: 'l' } } },
    ],
    'and nothing else',
  );
  t.match(JSON.parse(scene.http.last.text), { id: 1, error: { code: -32601 } }, 'nobody is asked anything there');
});

t.test('a listener that goes away ends the sessions at its backends', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.listen({ toolsListChanged: true }, 7);
  scene.greet('b');
  scene.greet('c');
  scene.begin('b');
  scene.begin('c');
  t.match(messages(exchange), [{ params: { notifications: { toolsListChanged: true }, _meta: { [TAG]: 7 } } }]);
  t.equal(scene.relay.sessionCount, 1);
  exchange.isForgiving = true;
  exchange.abort();
  t.equal(scene.relay.sessionCount, 0);
  t.equal(scene.sent('b', 'DELETE').length, 1);
  scene.sent('b', 'DELETE')[0]?.empty();
  scene.sent('c', 'DELETE')[0]?.empty();
  t.equal(scene.accounts.size, 0, 'nothing is counted for it any more');
});

t.test('a drain ends a listening request with a result', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.listen({ toolsListChanged: true }, 7);
  t.equal(exchange.isBodyReleased, true, 'it may be open for hours');
  exchange.request.body.fill('x');
  scene.greet('b');
  scene.greet('c');
  scene.begin('b');
  scene.begin('c');
  scene.relay.drain();
  t.equal(exchange.outcome, 'ended');
  t.match(messages(exchange).at(-1), { id: 7, result: { resultType: 'complete', _meta: { [TAG]: 7 } } });
  t.match(messages(scene.listen({ toolsListChanged: true })), [{ error: { code: -32603 } }], 'and there are no more');
});

t.test('a listening request that has lasted long enough ends with a result', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.listen({ toolsListChanged: true }, 7);
  scene.greet('b');
  scene.greet('c');
  scene.begin('b');
  scene.begin('c');
  await until(() => {
    scene.context.advance(LISTEN_CONFIG_MS);
    return exchange.outcome === 'ended';
  }, 'its end');
  t.match(messages(exchange).at(-1), { id: 7, result: { resultType: 'complete', _meta: { [TAG]: 7 } } });
  t.equal(scene.relay.sessionCount, 0);
});

t.test('a changed config ends a listening request, so that its client listens again', async (t) => {
  for (const next of ['gone', virtualHostOf({ b: {} })] as const) {
    const scene = new Scene(t);
    const exchange = scene.listen({ toolsListChanged: true }, 7);
    scene.greet('b');
    scene.greet('c');
    scene.begin('b');
    scene.begin('c');
    // A config that cannot be read changes nothing.
    for (const same of [scene.virtualHost, 'unknown'] as const) {
      scene.hostNow = same;
      scene.context.advance(LISTEN_CONFIG_MS + 200);
      await Promise.resolve();
      await Promise.resolve();
      t.equal(exchange.outcome, 'streaming');
    }
    scene.hostNow = next;
    await until(() => {
      scene.context.advance(LISTEN_CONFIG_MS + 200);
      return exchange.outcome === 'ended';
    }, 'its end');
    t.match(messages(exchange).at(-1), { id: 7, result: { resultType: 'complete', _meta: { [TAG]: 7 } } });
    t.equal(scene.relay.sessionCount, 0, 'and what it has listened with');
  }
});

t.test('a slow backend is not waited for, and is heard once it is there', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.listen({ toolsListChanged: true });
  scene.greet('c', {});
  scene.context.advance(scene.context.options.initializePatienceMs + 200);
  t.match(messages(exchange), [{ method: 'notifications/subscriptions/acknowledged' }]);
  t.strictSame(messages(exchange)[0]?.params?.notifications, {});
  scene.greet('b');
  scene.begin('b').data(changed('tools/list_changed'));
  scene.context.advance(LIST_CHANGES_MS + 200);
  t.match(messages(exchange)[1], { method: 'notifications/tools/list_changed' });
});

t.test('a listening request with nothing to hear ends at once', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.listen({ promptsListChanged: true });
  scene.greet('b');
  scene.greet('c', {});
  scene.begin('b');
  t.match(messages(exchange), [{ params: { notifications: {} } }, { id: 'l', result: { resultType: 'complete' } }]);
  t.equal(scene.relay.sessionCount, 0);
});

t.test('an invalid filter is refused', async (t) => {
  const scene = new Scene(t);
  const tooMany = Array.from({ length: limits.subscriptionsMax + 1 }, (_, i) => `b+x:${i}`);
  for (const filter of [
    undefined,
    [],
    { toolsListChanged: 1 },
    { resourceSubscriptions: 'x' },
    { resourceSubscriptions: tooMany },
  ])
    t.match(
      messages(scene.listen(filter)),
      [{ id: 'l', error: { code: -32602 } }],
      JSON.stringify(filter)?.slice(0, 50),
    );
  t.equal(scene.relay.sessionCount, 0);
});

t.test('the number of listening requests of each subject is bounded', async (t) => {
  const scene = new Scene(t);
  const first = scene.listen({ toolsListChanged: true });
  for (let count = 1; count < perSubject(limits.listensMax); count += 1)
    scene.listen({ toolsListChanged: true }, count);
  t.match(messages(scene.listen({ toolsListChanged: true })), [{ error: { code: -32603, message: /Too many/ } }]);
  first.isForgiving = true;
  first.abort();
  const next = scene.listen({ toolsListChanged: true });
  t.same(messages(next), [], 'in the place of one that is over');
});

t.test('a listening request without room for its session is refused, and nothing is held for it', (t) => {
  // Room for the session with all of its backends, but not for its stream beside it.
  const sessionBytes = estimatedSessionBytes(virtualHostOf({ b: {}, c: {} }), OWN_INTRODUCTION);
  const rows: readonly (readonly [shares: Partial<ShareOptions>, refusal: Refusal])[] = [
    [{ subjectSessionBytesMax: sessionBytes - 1 }, refusals.subjectSessionBytesFull],
    [{ subjectSessionBytesMax: sessionBytes }, refusals.subjectSessionBytesFull],
    [{ sessionBytesMax: sessionBytes }, refusals.sessionBytesFull],
    [{ subjectSessionsMax: 0 }, refusals.subjectSessionsFull],
  ];
  for (const [shares, refusal] of rows) {
    const scene = new Scene(t, shares);
    // More often than one subject may listen at once, so that a leaked place shows.
    for (let count = 0; count <= perSubject(limits.listensMax); count += 1) {
      const { answer } = scene.listen({ toolsListChanged: true, resourceSubscriptions: ['b+x:1'] }, count);
      t.match(answer, { status: refusal.status, body: Buffer.from(refusal.body) }, JSON.stringify(shares));
    }
    t.same([scene.relay.sessionCount, scene.accounts.size, scene.http.calls.length], [0, 0, 0]);
  }
  t.end();
});

t.test('what is said before the acknowledgement is sent after it', async (t) => {
  const scene = new Scene(t);
  const exchange = scene.listen({ toolsListChanged: true });
  scene.greet('b');
  scene.begin('b').data(changed('tools/list_changed'));
  scene.context.advance(LIST_CHANGES_MS + 200);
  t.same(messages(exchange), []);
  scene.greet('c', {});
  t.match(messages(exchange), [
    { method: 'notifications/subscriptions/acknowledged' },
    { method: 'notifications/tools/list_changed', params: { _meta: { [TAG]: 'l' } } },
  ]);
});

t.test('a client that declares no tasks cannot listen to tasks', async (t) => {
  const scene = new Scene(t);
  t.match(messages(scene.listen({ taskIds: ['b-t'] })), [{ error: { code: -32_021 } }]);
  t.equal(scene.relay.sessionCount, 0);
});

// The last one, because what is left of its turns would delay others.
t.test('of thousands that are hung up at once, each turn of the event loop ends some', async (t) => {
  const scene = new Scene(t);
  const listening = Array.from({ length: 3_000 }, (_, id) => scene.listen({ toolsListChanged: true }, id));
  t.equal(scene.relay.sessionCount, listening.length);
  for (const exchange of listening) {
    exchange.isForgiving = true;
    exchange.abort();
  }
  t.ok(scene.relay.sessionCount > listening.length / 2, `${scene.relay.sessionCount} are left for later turns`);
  await until(() => scene.relay.sessionCount === 0, 'the end of all of them');
  t.equal(scene.accounts.of('alice').sessions.used, 0);
});
