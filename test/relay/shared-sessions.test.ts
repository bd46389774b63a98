// Sessions that two machines share: which of them ends one that idles, and what one does while it learns of the other's changes.
import t, { type Test } from 'tap';
import { SessionDirectory } from '../../src/session-directory/session-directory.js';
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
    const machine = { scene: new RelayScene(t, virtualHostOf({ b: {} }), {}, directory), view };
    this.#machines.push(machine);
    return machine;
  }

  async begun(t: Test): Promise<Machine> {
    const machine = this.machine(t);
    machine.scene.open({}, INITIALIZED);
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

t.test('a session that both have used, and nobody uses any more, is ended at its backends once', async (t) => {
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
  t.equal(one.scene.accounts.held('sessions') + other.scene.accounts.held('sessions'), 0);
});

t.test('one that Redis has said nothing certain of is ended at its backends', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  one.view.onChanged?.(undefined);
  await machines.advance(2 * IDLE_TIMEOUT_MS);
  t.equal(deletedCount(one), 1);
});

t.test('one that idles here is not ended while it is used there', async (t) => {
  const machines = new Machines();
  const one = await machines.begun(t);
  const other = machines.machine(t);
  // Taken up at the last moment.
  await machines.advance(IDLE_TIMEOUT_MS - 1_000);
  t.equal(await ping(other), 200);
  await machines.advance(IDLE_TIMEOUT_MS - 2_000);
  t.equal(await ping(other), 200, 'it has all of its time');
  t.equal(one.scene.accounts.held('sessions'), 0, 'where it idled it is gone');
  await machines.advance(IDLE_TIMEOUT_MS - 2_000);
  t.equal(await ping(other), 200);
  t.equal(deletedCount(one, other), 0);
});

t.test('one that is used again after a while is not ended by the other', async (t) => {
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

t.test('requests wait in their order while it is read what another machine has changed', async (t) => {
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
  'with a session that another machine has ended those upstream sessions end of which only this one knows',
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

t.test('of two upstream sessions that were opened at once the one that nobody goes on with is ended', async (t) => {
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

t.test('what is changed while a session is being adopted is read with its next request', async (t) => {
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
