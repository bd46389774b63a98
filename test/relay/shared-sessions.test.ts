// Sessions that two machines share: which one ends an idle session, and what a machine does while it learns of the other's changes.
import t, { type Test } from 'tap';
import { SessionDirectory } from '../../src/session/directory/session-directory.js';
import { limits } from '../../src/shared/limits.js';
import { readEvents } from '../support/event-stream.js';
import { logInto } from '../support/log-lines.js';
import { SharedPlace, type SharedSessions } from '../support/shared-memory-sessions.js';
import { until } from '../support/until.js';
import { REQUEST_ID } from '../upstream/scripted-upstream.js';
import { RelayScene, SESSION_ID } from './relay-scene.js';
import { virtualHostOf } from './virtual-host.js';

const IDLE_TIMEOUT_MS = 60_000;
const INITIALIZED = JSON.stringify({
  jsonrpc: '2.0',
  id: REQUEST_ID,
  result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } },
});
const PING = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');

interface Machine {
  readonly scene: RelayScene;
  readonly view: SharedSessions;
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

class Machines {
  #nowMs = 0;
  readonly place = new SharedPlace(() => this.#nowMs);
  readonly #machines: Machine[] = [];

  machine(t: Test): Machine {
    const view = this.place.view();
    const directory = new SessionDirectory(view, {
      idleTimeoutMs: IDLE_TIMEOUT_MS,
      outlivesGateway: true,
      isPossibleId: (id) => id.startsWith(SESSION_ID),
      logger: logInto([]),
    });
    const machine = {
      scene: new RelayScene(t, virtualHostOf({ b: { passthrough_headers: ['x-tenant'] } }), {}, directory),
      view,
    };
    this.#machines.push(machine);
    return machine;
  }

  async begun(t: Test, capabilities: object = {}): Promise<Machine> {
    const machine = this.machine(t);
    machine.scene.open(capabilities, INITIALIZED);
    await until(() => this.place.records.size === 1, 'the record');
    return machine;
  }

  async advance(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 500) {
      this.#nowMs += 500;
      for (const { scene } of this.#machines) scene.context.advance(500);
      await settled();
    }
  }
}

async function ping({ scene }: Machine): Promise<number | undefined> {
  const exchange = scene.request({ body: PING });
  await until(() => exchange.outcome !== 'none', 'the answer');
  return exchange.answer?.status;
}

function deletedCount(...machines: Machine[]): number {
  return machines.flatMap(({ scene }) => scene.http.summary).filter((each) => each === 'DELETE').length;
}

t.test('a session that both machines used is ended at its backends once when nobody uses it any more', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  for (let turn = 0; turn < 3; turn++) {
    t.equal(await ping(other), 200);
    await machines.advance(10_000);
    t.equal(await ping(one), 200);
    await machines.advance(10_000);
  }
  t.equal(deletedCount(one, other), 0);
  await machines.advance(2 * IDLE_TIMEOUT_MS);
  t.equal(deletedCount(one, other), 1);
  t.equal(one.scene.accounts.used('sessions') + other.scene.accounts.used('sessions'), 0);
});

t.test('an idle session of which Redis says nothing certain is ended at its backends', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  one.view.onChanged?.(undefined);
  await machines.advance(2 * IDLE_TIMEOUT_MS);
  t.equal(deletedCount(one), 1);
});

t.test('a session that idles at one machine is not ended while it is used at another', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  // The other machine adopts the session at the last moment.
  await machines.advance(IDLE_TIMEOUT_MS - 1_000);
  t.equal(await ping(other), 200);
  await machines.advance(IDLE_TIMEOUT_MS - 2_000);
  t.equal(await ping(other), 200, 'it has all of its time');
  t.equal(one.scene.accounts.used('sessions'), 0, 'where it idled it is gone');
  await machines.advance(IDLE_TIMEOUT_MS - 2_000);
  t.equal(await ping(other), 200);
  t.equal(deletedCount(one, other), 0);
});

t.test('a session that is used again after a while is not ended by the other machine', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  t.equal(await ping(other), 200);
  await machines.advance(1_000);
  t.equal(await ping(one), 200);
  await machines.advance(IDLE_TIMEOUT_MS - 2_000);
  t.equal(await ping(other), 200);
  for (let turn = 0; turn < 4; turn++) {
    await machines.advance(10_000);
    t.equal(await ping(other), 200);
  }
  t.equal(deletedCount(one, other), 0);
});

t.test('requests wait in their order while a change made by another machine is read', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  t.equal(await ping(other), 200);
  await settled();
  let open: () => void = () => undefined;
  one.view.gate = new Promise((resolve) => (open = resolve));
  one.scene.post('tools/call', { name: 'b-x' }, 7);
  one.scene.post('notifications/cancelled', { requestId: 7 });
  t.notOk(one.scene.http.summary.includes('notifications/cancelled'));
  open();
  await until(() => one.scene.http.summary.includes('tools/call'), 'the call');
  await settled();
  t.same(one.scene.http.summary.slice(-2), ['tools/call', 'notifications/cancelled']);
});

t.test(
  'of a session that another machine has ended, the upstream sessions that only this machine knows are ended here',
  async (t) => {
    const machines = new Machines();
    const one = await machines.begun(t);
    const other = machines.machine(t);
    t.equal(await ping(other), 200);
    t.equal(await ping(one), 200);
    await settled();
    let pass: () => void = () => undefined;
    one.view.gate = new Promise((resolve) => (pass = resolve));
    one.scene.post('tools/call', { name: 'b-x' }, 7);
    one.scene.http.last.empty(404);
    one.scene.http.last.json(INITIALIZED, 'unknown-there');
    one.scene.http.last.empty();
    const deletion = other.scene.request({ method: 'DELETE' });
    t.equal(deletion.outcome, 'none', 'others cannot know yet');
    await settled();
    t.equal(deletion.answer?.status, 200);
    pass();
    t.equal(await ping(one), 404);
    await settled();
    const ended = one.scene.http.calls.filter(({ request }) => request.method === 'DELETE');
    t.same(
      ended.map((call) => call.header('mcp-session-id')),
      ['unknown-there'],
    );
  },
);

t.test('of two upstream sessions opened at once, the one that was recorded second is ended', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  t.equal(await ping(other), 200);
  t.equal(await ping(one), 200);
  await settled();
  for (const { scene } of [one, other]) {
    scene.post('tools/call', { name: 'b-x' }, 7);
    scene.http.last.empty(404);
  }
  for (const [number, { scene }] of [one, other].entries()) {
    scene.http.last.json(INITIALIZED, `anew-${number}`);
    scene.http.last.empty();
  }
  await settled();
  t.equal(await ping(one), 200);
  t.equal(await ping(other), 200);
  await settled();
  t.equal(deletedCount(one, other), 1);
  const ended = other.scene.http.calls.find(({ request }) => request.method === 'DELETE');
  t.equal(ended?.header('mcp-session-id'), 'anew-1', 'it was written down second');
});

t.test('a change during an adoption is read with the next request of the session', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  let open: () => void = () => undefined;
  other.view.gate = new Promise((resolve) => (open = resolve));
  const exchange = other.scene.request({ body: PING });
  const deletion = one.scene.request({ method: 'DELETE' });
  await settled();
  t.equal(deletion.answer?.status, 200);
  open();
  await until(() => exchange.outcome !== 'none', 'the answer');
  await settled();
  t.equal(await ping(other), 404);
});

t.test('DELETE is answered once the other machine has heard of it, and then that one answers 404', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  t.equal(await ping(other), 200);
  await settled();
  t.equal(await ping(one), 200);
  // The other machine hears too late of changes, but in time of the end.
  other.view.isLate = true;
  let hear: () => void = () => undefined;
  other.view.peers.gate = new Promise((resolve) => (hear = resolve));
  const deletion = one.scene.request({ method: 'DELETE' });
  await settled();
  t.equal(deletion.outcome, 'none', 'the other one has not heard of it');
  t.equal(await ping(other), 200, 'and serves it');
  hear();
  await until(() => deletion.outcome !== 'none', 'the answer');
  t.equal(deletion.answer?.status, 200);
  t.equal(await ping(other), 404);
  t.equal(deletedCount(one, other), 1, 'its backend is told once');
});

t.test('DELETE ends at once what is in flight at the other machine', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  t.equal(await ping(other), 200);
  const call = other.scene.post('tools/call', { name: 'b-x' }, 7);
  t.equal(other.scene.http.last.summary, 'tools/call');
  const deleted = one.scene.request({ method: 'DELETE', body: Buffer.alloc(0) });
  await until(() => deleted.outcome !== 'none' && call.outcome !== 'none', 'both answers');
  t.match(call.answer?.body.toString(), /"id":7,"error"/);
  t.equal(other.scene.accounts.used('sessions'), 0, 'and nothing of the session is left');
});

t.test('DELETE also waits for a machine that adopted the session without the first one knowing it yet', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  one.view.isLate = other.view.isLate = true;
  t.equal(await ping(other), 200);
  const deletion = one.scene.request({ method: 'DELETE' });
  await until(() => deletion.outcome !== 'none', 'the answer');
  t.equal(await ping(other), 404);
});

t.test('DELETE waits for a machine that never answers up to a bound', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  t.equal(await ping(other), 200);
  t.equal(await ping(one), 200);
  other.view.peers.gate = new Promise(() => undefined);
  const deletion = one.scene.request({ method: 'DELETE' });
  await machines.advance(limits.peerAnswerMsMax - 500);
  t.equal(deletion.outcome, 'none');
  await machines.advance(1_000);
  t.equal(deletion.answer?.status, 200);
});

t.test('a write during the end of a session does not let DELETE be answered too early', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  t.equal(await ping(other), 200);
  t.equal(await ping(one), 200);
  await settled();
  other.view.isLate = true;
  let pass: () => void = () => undefined;
  one.view.gate = new Promise((resolve) => (pass = resolve));
  one.scene.post('logging/setLevel', { level: 'error' }, 2);
  one.scene.http.last.json(`{"jsonrpc":"2.0","id":"${REQUEST_ID}","result":{}}`);
  const deletion = one.scene.request({ method: 'DELETE' });
  await settled();
  t.equal(deletion.outcome, 'none');
  pass();
  await until(() => deletion.outcome !== 'none', 'the answer');
  t.equal(await ping(other), 404);
});

t.test('machines that adopt a session at the same time are all told of its end', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const others = [machines.machine(t), machines.machine(t), machines.machine(t)];
  t.same(await Promise.all(others.map(ping)), [200, 200, 200]);
  for (const { view } of others) view.isLate = true;
  const deletion = one.scene.request({ method: 'DELETE' });
  await until(() => deletion.outcome !== 'none', 'the answer');
  t.same(await Promise.all(others.map(ping)), [404, 404, 404]);
});

t.test('a machine that hears of the end while it is adopting the session does not adopt it', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  other.view.isLate = true;
  let open: () => void = () => undefined;
  other.view.gate = new Promise((resolve) => (open = resolve));
  const exchange = other.scene.request({ body: PING });
  const deletion = one.scene.request({ method: 'DELETE' });
  await until(() => deletion.outcome !== 'none', 'the answer');
  open();
  await until(() => exchange.outcome !== 'none', 'the answer');
  t.equal(exchange.answer?.status, 404);
});

t.test('a cancellation reaches the machine that runs the call, with its headers', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  one.scene.post('tools/call', { name: 'b-x' }, 7);
  t.equal(one.scene.http.summary.at(-1), 'tools/call');
  const notice = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7, reason: 'ü' } };
  other.scene.request({ body: Buffer.from(JSON.stringify(notice)), passthroughHeaders: ['x-tenant', 'ü'] });
  await until(() => one.scene.http.summary.at(-1) === 'notifications/cancelled', 'the backend to be told');
  t.match(JSON.parse(one.scene.http.last.text), { params: { reason: 'ü' } });
  t.equal(one.scene.http.last.header('x-tenant'), 'ü');
  t.notOk(other.scene.http.summary.includes('notifications/cancelled'));
});

t.test('of two GET streams at two machines the newer one stays open', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  const older = one.scene.request({ method: 'GET' });
  t.equal(older.outcome, 'streaming');
  const newer = other.scene.request({ method: 'GET' });
  await until(() => newer.outcome === 'streaming', 'the newer one');
  await until(() => older.outcome !== 'streaming', 'the older one to end');
  t.equal(newer.outcome, 'streaming');
  const third = one.scene.request({ method: 'GET' });
  await until(() => third.outcome === 'streaming', 'one where the oldest was');
  await until(() => newer.outcome !== 'streaming', 'the one before to end');
});

t.test('a message from a machine that cannot seal it is ignored', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const stream = one.scene.request({ method: 'GET' });
  const [name = ''] = machines.place.records.keys();
  one.view.peers.onReceived?.(Buffer.from(name, 'hex'), Buffer.from('{"kind":"stream-opened"}'));
  t.equal(stream.outcome, 'streaming');
});

t.test('a question asked at one machine is settled there when the client answers at another', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t, { roots: {} });
  const other = machines.machine(t);
  const asking = one.scene.post('tools/call', { name: 'b-x' }, 7);
  const ask = 'data: {"jsonrpc":"2.0","id":"q:1","method":"roots/list"}\n\n';
  one.scene.http.last.head(200, 'text/event-stream').data(ask);
  const [text = '{}'] = readEvents(asking.written);
  const { id } = JSON.parse(text) as { id?: unknown };
  const answer = other.scene.request({
    body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: { roots: [] } })),
  });
  await until(() => answer.outcome !== 'none', 'the answer');
  t.equal(answer.answer?.status, 202);
  t.equal(other.scene.http.last.text, '{"jsonrpc":"2.0","id":"q:1","result":{"roots":[]}}');
  await machines.advance(one.scene.context.options.clientAnswerTimeoutMs + 1_000);
  t.notOk(
    one.scene.http.summary.includes('response'),
    `the backend is not answered once more: ${one.scene.http.summary.join()}`,
  );
  t.notOk(asking.written.includes('notifications/cancelled'), 'and the client is not told that it need not answer');
});

t.test('a DELETE whose caller has gone before its answer is over with the answer, too', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const deletion = one.scene.request({ method: 'DELETE' });
  t.equal(deletion.outcome, 'none');
  deletion.isForgiving = true;
  const endings: string[] = [];
  deletion.onDone = (_status, _bytes, ending) => endings.push(ending);
  deletion.abort();
  await until(() => endings.length > 0, 'the end of the request');
  t.same(endings, ['unheard']);
});
