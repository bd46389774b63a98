// Leases of several processes of one gateway: a backend that keeps sessions gets one for each lease, that of the lease's owner; a backend
// that keeps none is called by the process that a request reaches.
import t, { type Test } from 'tap';
import type { Exchange, Caller } from '../../src/exchange/exchange.js';
import { refusals, type Refusal } from '../../src/shared/refusals.js';
import { backendFor } from '../support/deployment.js';
import { modernBackendFor } from '../support/modern-backend.js';
import { readEvents } from '../support/event-stream.js';
import type { RecordedExchange } from '../support/recorded-exchange.js';
import { until } from '../support/until.js';
import { startSseServer } from '../support/sse-server.js';
import { answerOf, WiredRelay, type RpcAnswer, type WiredBackends } from '../relay/wired-relay.js';
import { post } from './modern-request.js';

const OWNER = 2;

class TwoProcesses {
  readonly owner: WiredRelay;
  readonly other: WiredRelay;
  passedOn = 0;
  /** What the way to the owner ends in, if it does not reach it: `absent` if nothing was sent. */
  obstacle: Refusal | 'absent' | undefined;
  readonly #keys = new Set<string>();

  constructor(t: Test) {
    const secret = Buffer.alloc(32, 7);
    const ownerSlotOf = (key: string): number => {
      this.#keys.add(key);
      return OWNER;
    };
    const forwardToSlot = (
      slot: number,
      caller: Caller,
      exchange: Exchange,
      onGone: (refusal: Refusal | undefined) => void,
    ): void => {
      this.passedOn += 1;
      t.equal(slot, OWNER);
      const { obstacle } = this;
      if (obstacle === undefined) this.owner.relay.handle(caller, exchange);
      else setImmediate(() => onGone(obstacle === 'absent' ? undefined : obstacle));
    };
    this.owner = new WiredRelay(t, {}, {}, { siblings: { secret, slot: OWNER, ownerSlotOf, forwardToSlot } });
    this.other = new WiredRelay(t, {}, {}, { siblings: { secret, slot: 1, ownerSlotOf, forwardToSlot } });
  }

  /** What the owner is chosen by. */
  get keys(): number {
    return this.#keys.size;
  }

  /** @returns the answer of the process that is not the owner. */
  async ask(backends: WiredBackends, method: string, params: Record<string, unknown> = {}): Promise<RpcAnswer> {
    return answerOf(post(this.other.caller(backends), method, { params }));
  }

  async call(backends: WiredBackends, name: string): Promise<RpcAnswer> {
    return this.ask(backends, 'tools/call', { name, arguments: {} });
  }
}

t.test('whichever process a request reaches, a backend with sessions sees one session', async (t) => {
  const backend = await backendFor(t, { withSessions: true });
  const processes = new TwoProcesses(t);
  const backends = { b: backend.url };
  for (let round = 0; round < 3; round += 1) {
    t.match(await processes.call(backends, 'b-echo'), { result: { resultType: 'complete' } });
    t.match(await processes.ask(backends, 'tools/list'), { result: { tools: [{ name: 'b-echo' }] } });
    t.match(await processes.ask(backends, 'server/discover'), { result: { capabilities: { tools: {} } } });
    const there = post(processes.owner.caller(backends), 'tools/call', { params: { name: 'b-echo', arguments: {} } });
    t.match(await answerOf(there), { result: { resultType: 'complete' } });
  }
  t.equal(processes.passedOn, 9);
  const ids = new Set(backend.raw.requests.filter(({ text }) => text.includes('"tools/')).map(sessionOf));
  t.equal(ids.size, 1, 'all calls and lists in one session');
  t.equal(backend.requestsOf('initialize').length, 1, 'which is the only one');
  t.same(backend.deletedSessions, [], 'and none is ended');
  t.equal(processes.keys, 1, 'all processes choose the owner by the same');
});

t.test(
  'whichever process a listener reaches, it hears what its calls change in their session, until it goes',
  async (t) => {
    const backend = await backendFor(t, {
      withSessions: true,
      capabilities: { tools: { listChanged: true } },
      answerAs: 'event-stream',
      onCall: async (call) => {
        await call.notify('notifications/tools/list_changed', {});
        return undefined;
      },
    });
    const processes = new TwoProcesses(t);
    const backends = { b: backend.url };
    const listen = (capabilities: object): RecordedExchange =>
      post(processes.other.caller(backends), 'subscriptions/listen', {
        params: { notifications: { toolsListChanged: true } },
        meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities },
      });
    const heardBy = (exchange: RecordedExchange): number =>
      readEvents(exchange.written).filter((text) => text.includes('list_changed')).length;
    const [listener, others] = [listen({}), listen({ sampling: {} })];
    for (const exchange of [listener, others]) await until(() => exchange.written.length > 0, 'the acknowledgement');
    t.equal(processes.passedOn, 2);
    await processes.call(backends, 'b-echo');
    await until(() => heardBy(listener) === 1, 'the change');
    t.equal(heardBy(others), 0, 'no other client’s: its own calls are in another session');
    listener.isForgiving = true;
    listener.abort();
    t.hasProp(await processes.call(backends, 'b-echo'), 'result');
    t.equal(heardBy(listener), 1);
  },
);

t.test('for a listener that leaves before it is known that the owner has no process, nothing is opened', async (t) => {
  const backend = await backendFor(t, { withSessions: true, capabilities: { tools: { listChanged: true } } });
  const processes = new TwoProcesses(t);
  processes.obstacle = 'absent';
  const listen = (): RecordedExchange =>
    post(processes.other.caller({ b: backend.url }), 'subscriptions/listen', {
      params: { notifications: { toolsListChanged: true } },
    });
  const gone = listen();
  gone.isForgiving = true;
  gone.abort();
  const later = listen();
  await until(() => later.written.length > 0, 'the acknowledgement');
  t.equal(backend.requestsOf('initialize').length, 1);
});

t.test('the owner knows the names in the lists that it has read', async (t) => {
  const page = { name: 'look', inputSchema: { type: 'object' }, _meta: { ui: { resourceUri: 'ui://page' } } };
  const backend = await backendFor(t, { withSessions: true, tools: [page] });
  const processes = new TwoProcesses(t);
  const backends = { b: backend.url };
  t.match(await processes.ask(backends, 'tools/list'), { result: { tools: [{ name: 'b-look' }] } });
  t.match(await processes.call(backends, 'look'), { result: { resultType: 'complete' } }, 'called as an app calls it');
  t.match(await processes.call(backends, 'other'), { error: { code: -32_602 } });
});

t.test('a backend that is known to keep no session is called from here', async (t) => {
  const modern = await modernBackendFor(t);
  const legacy = await backendFor(t);
  for (const [name, { url }] of Object.entries({ modern, legacy })) {
    const processes = new TwoProcesses(t);
    for (let call = 0; call < 3; call += 1)
      t.match(await processes.call({ b: url }, 'b-echo'), { result: { resultType: 'complete' } });
    t.equal(processes.passedOn, 1, `${name}: with the first call, the owner says so`);
    for (const method of ['tools/list', 'server/discover'])
      t.hasProp(await processes.ask({ b: url }, method), 'result');
    t.equal(processes.passedOn, 1, `${name}: lists, too`);
  }
  t.equal(legacy.requestsOf('initialize').length, 2, 'each process keeps what it has opened');
});

t.test('lists and introductions also teach which backends keep no session', async (t) => {
  const backend = await backendFor(t);
  for (const [method, passedOn] of [
    ['tools/list', 2],
    ['server/discover', 2],
    ['acme/x', 1],
  ] as const) {
    const processes = new TwoProcesses(t);
    // A first list makes the owner find out; the next request is told.
    for (let round = 0; round < 4; round += 1) await processes.ask({ b: backend.url }, method);
    t.equal(processes.passedOn, passedOn, method);
  }
});

t.test('a backend that cannot be used makes no difference either', async (t) => {
  const processes = new TwoProcesses(t);
  const backends = { b: { url: 'http://b.example/mcp', transport: 'STDIO' } };
  t.match(await processes.ask(backends, 'tools/list'), { result: {} });
  t.ok((await processes.call(backends, 'b-echo')).error);
  t.equal(processes.passedOn, 0);
});

t.test('a backend of the older transport always keeps a session, the owner’s: no other is opened', async (t) => {
  const backend = await startSseServer(t);
  const processes = new TwoProcesses(t);
  const backends = { b: { url: backend.url, transport: 'SSE' } };
  for (let round = 0; round < 2; round += 1)
    t.match(await processes.call(backends, 'b-echo'), { result: { resultType: 'complete' } });
  t.equal(backend.opened, 1);
});

t.test('a backend with sessions makes no difference to calls of another one', async (t) => {
  const modern = await modernBackendFor(t);
  const legacy = await backendFor(t, { withSessions: true });
  const processes = new TwoProcesses(t);
  const backends = { new: modern.url, old: legacy.url };
  const { result } = await processes.ask(backends, 'tools/list');
  t.equal((result?.['tools'] as readonly unknown[]).length, 2);
  await processes.call(backends, 'new-echo');
  const before = processes.passedOn;
  await processes.call(backends, 'new-echo');
  t.equal(processes.passedOn, before);
  await processes.call(backends, 'old-echo');
  await processes.ask(backends, 'tools/list');
  t.equal(processes.passedOn, before + 2);
});

t.test(
  'while the owner has no process, each process serves what reaches it; a request that may have been carried out is refused',
  async (t) => {
    const backend = await backendFor(t, { withSessions: true });
    const processes = new TwoProcesses(t);
    const backends = { b: backend.url };
    processes.obstacle = 'absent';
    t.match(await processes.call(backends, 'b-echo'), { result: { resultType: 'complete' } });
    t.match(await processes.ask(backends, 'tools/list'), { result: { tools: [{ name: 'b-echo' }] } });
    t.match(await processes.ask(backends, 'server/discover'), { result: { capabilities: { tools: {} } } });
    t.equal(backend.calls.length, 1);
    processes.obstacle = refusals.ownerLost;
    const exchange = post(processes.other.caller(backends), 'tools/call', {
      params: { name: 'b-echo', arguments: {} },
    });
    t.match(await answerOf(exchange), { detail: /ended before it responded/ });
    t.equal(exchange.answer?.status, refusals.ownerLost.status);
    t.equal(backend.calls.length, 1, 'and is not carried out here');
    processes.obstacle = undefined;
    t.match(await processes.call(backends, 'b-echo'), { result: { resultType: 'complete' } });
    t.equal(processes.passedOn, 5);
  },
);

function sessionOf({ headers }: { readonly headers: Readonly<Record<string, string | undefined>> }): string {
  return headers['mcp-session-id'] ?? '';
}
