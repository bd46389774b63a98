// One slot with real stub workers: what it reports, and what it tells its worker. How slots work together is in fleet.test.ts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { FromWorker } from '../../src/process/messages.js';
import { Slot, type FleetBounds, type WorkerPlan } from '../../src/primary/slot.js';
import { StartQueue, type StartEnding } from '../../src/primary/start-queue.js';
import { workerBounds } from '../../src/primary/worker-bounds.js';
import { limits } from '../../src/shared/limits.js';
import { logInto } from '../support/log-lines.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { isAlive, Journal, until } from './stub-fleet.js';
import { stubOptions } from './stub-options.js';
import { stubEnvironment, stubModule, type StubPlan } from './stub-worker.js';

/** Grants every turn at once, and records how starts ended. */
class KeptTurns extends StartQueue {
  readonly endings: StartEnding[] = [];

  override onStartEnded(ending: StartEnding): void {
    this.endings.push(ending);
    super.onStartEnded(ending);
  }
}

class Scene {
  readonly slot: Slot;
  /** Lines of the log, and messages for more than the slot. */
  readonly lines: string[] = [];
  readonly heard: FromWorker[] = [];
  readonly journal: Journal;
  readonly turns = new KeptTurns({ startsAtOnceMax: 1, failuresMax: Infinity }, () => undefined);
  deaths = 0;

  constructor(t: Test, stub: StubPlan, bounds: Partial<FleetBounds> = {}, changes: Partial<WorkerPlan> = {}) {
    this.journal = new Journal(t);
    const start = {
      ...{ slotCount: 1, options: stubOptions(), hopDirectory: 'unused', hopSecret: new Uint8Array(32) },
      bootstrapModule: undefined,
    };
    const environment = stubEnvironment(this.journal.path, [stub]);
    const plan = {
      module: stubModule,
      launcher: [],
      environment,
      start,
      bounds: { ...limits, ...workerBounds, workerStartMsMax: 600_000, ...bounds },
      checkStore: async () => undefined,
      ...changes,
    };
    const observer = {
      ...{ onChange: () => undefined, onExit: () => undefined },
      onMessage: (_worker: unknown, message: FromWorker) => void this.heard.push(message),
      onDeath: () => void (this.deaths += 1),
    };
    this.slot = new Slot(0, plan, this.turns, observer, logInto(this.lines));
    t.teardown(async () => {
      this.slot.kill();
      await until('the worker is gone', () => this.slot.servingWorker === undefined && this.slot.state === 'stopped');
    });
  }

  /** The fields of the lines with this message. */
  logged(message: string): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ msg }) => msg === message);
  }

  async listening(): Promise<this> {
    this.slot.start();
    await until('the worker listens', () => this.slot.state === 'listening');
    return this;
  }
}

t.test('a listening worker is told readiness and each change once; a new worker is told again', async (t) => {
  const scene = new Scene(t, {});
  scene.slot.sendReadiness(true);
  await scene.listening();
  for (const isReady of [true, true, false]) scene.slot.sendReadiness(isReady);
  await scene.journal.entry('readiness', 0, 2);
  process.kill((await scene.journal.entry('listening', 0)).pid, 'SIGKILL');
  await until('its death is heard', () => scene.deaths === 1);
  await until('another one listens', () => scene.slot.state === 'listening');
  scene.slot.sendReadiness(false);
  await scene.journal.entry('readiness', 0, 3);
  const told = scene.journal.entries('readiness', 0).map(({ message }) => message);
  t.match(told, [{ isReady: true }, { isReady: false }, { isReady: false }]);
});

t.test('a worker’s report about the store and the keys is forgotten with the worker', async (t) => {
  const nothing = { storeObstacle: '', storeStaleness: '', keysObstacle: '', isKeyless: false };
  const scene = new Scene(
    t,
    { storeObstacle: 'Redis is on strike', storeStaleness: 'for a day', keysObstacle: 'no keys' },
    { workerRestartDelayMsMin: 60_000 },
  );
  t.match(scene.slot.readiness, { isListening: false, ...nothing }, 'before it has one');
  await scene.listening();
  await until('it says so', () => scene.slot.readiness.storeObstacle !== '');
  t.match(scene.slot.readiness, { slot: 0, isListening: true, isFailing: false, storeObstacle: 'Redis is on strike' });
  t.equal(scene.slot.readiness.storeStaleness, 'for a day');
  t.match(scene.slot.readiness, { keysObstacle: 'no keys', isKeyless: true });
  t.ok(scene.slot.polledSlot.worker, 'it can tell its figures');
  process.kill((await scene.journal.entry('listening', 0)).pid, 'SIGSTOP');
  scene.slot.servingWorker?.kill('SIGKILL');
  await until('another one starts', () => scene.slot.state === 'starting');
  t.match(scene.slot.readiness, { isListening: false, ...nothing });
  t.equal(scene.slot.polledSlot.worker, undefined, 'one that starts cannot');
});

t.test('a retiring worker has left when it says so, and is told to drain only once', async (t) => {
  const scene = await new Scene(t, { drain: 'ignore' }).listening();
  t.ok(scene.slot.hasLeft, 'there is nobody to wait for');
  scene.slot.drain('retire');
  t.same([scene.slot.state, scene.slot.hasLeft], ['draining', false]);
  await until('it has left', () => scene.slot.hasLeft);
  scene.slot.drain('retire');
  scene.slot.drain();
  await scene.journal.entry('drain', 0);
  t.equal(scene.journal.entries('retire', 0).length, 1);
});

t.test('a worker that drains, or has drained, can tell its figures until it is told to stop', async (t) => {
  const scene = await new Scene(t, {}).listening();
  const { reportingWorker: worker } = scene.slot;
  scene.slot.drain();
  t.same([scene.slot.state, scene.slot.reportingWorker === worker], ['draining', true]);
  await until('it has drained', () => scene.slot.state === 'drained');
  t.ok(worker !== undefined && scene.slot.reportingWorker === worker);
  scene.slot.stop(60_000, 0);
  t.same([scene.slot.state, scene.slot.reportingWorker], ['stopping', undefined]);
});

t.test('a slot whose worker cannot start reports why, and keeps trying', async (t) => {
  const bounds = { workerFailedStartsMax: 2, workerStartRetryMsMax: 1 };
  const scene = new Scene(t, { start: 'report-failure' }, bounds);
  scene.slot.start();
  await until('the first has failed', () => scene.turns.endings.length === 1);
  t.same(scene.turns.endings, [{ kind: 'failed', reason: 'the certificate is of wax' }]);
  t.notOk(scene.slot.isFailing);
  await until('two have failed', () => scene.slot.isFailing);
  await until('it tries on', () => scene.turns.endings.length > 2);
});

t.test('a killed slot starts nothing any more', async (t) => {
  const scene = await new Scene(t, {}).listening();
  t.same(scene.turns.endings, [{ kind: 'listening' }]);
  const { pid } = await scene.journal.entry('listening', 0);
  scene.slot.kill();
  t.equal(scene.slot.servingWorker, undefined, 'it serves nobody from now on');
  await until('it is gone', () => scene.slot.state === 'stopped');
  t.notOk(isAlive(pid));
  scene.slot.start();
  t.same([scene.slot.state, scene.deaths, scene.turns.endings.length], ['stopped', 0, 1]);
});

t.test('a start that is told to end is no failed one', async (t) => {
  const scene = new Scene(t, { start: 'hang' });
  scene.slot.start();
  await scene.journal.entry('start', 0);
  scene.slot.drain();
  t.same([scene.slot.state, scene.turns.endings], ['stopping', [{ kind: 'stopped' }]]);
  t.match(await scene.journal.entry('stop', 0), { message: { withinMs: workerBounds.workerStopMs, farewellsMs: 0 } });
  await until('it has stopped', () => scene.slot.state === 'stopped');
});

t.test('a worker gets half of its memory as heap, and what keeps its collector quick', async (t) => {
  const scene = await new Scene(t, {}).listening();
  const words = scene.slot.servingWorker?.spawnargs ?? [];
  for (const word of ['--max-old-space-size=512', '--expose-gc', '--no-allocation-site-pretenuring'])
    t.ok(words.includes(word), word);
});

t.test('a process that cannot be created is a start that failed, and is tried again', async (t) => {
  for (const [changes, reason] of [
    [{ launcher: ['/nowhere/launcher'] }, /^spawn \/nowhere\/launcher ENOENT$/],
    // The environment is larger than the system takes.
    [{ environment: { LARGE: 'x'.repeat(2 ** 20) } }, /^no process can be started: spawn E2BIG$/],
  ] as const) {
    const scene = new Scene(t, {}, { workerStartRetryMsMax: 1 }, changes);
    scene.slot.start();
    t.equal(scene.slot.state, 'starting', 'until it is known');
    await until('it is tried again', () => scene.turns.endings.length > 1);
    t.match(scene.turns.endings[0], { kind: 'failed', reason });
    t.match(scene.logged('worker cannot start')[0], { level: 50, slot: 0, reason, failedStarts: 1 });
    t.equal(scene.deaths, 0);
    scene.slot.kill();
    await until('it is over', () => scene.slot.state === 'stopped');
  }
});

t.test('a worker that says again that it listens, or has an error, goes on', async (t) => {
  const scene = await new Scene(t, {}).listening();
  const { servingWorker } = scene.slot;
  servingWorker?.emit('message', { kind: 'listening', version: '0.0.0' });
  servingWorker?.emit('error', new Error('it cannot be sent to'));
  t.same([scene.slot.state, scene.slot.servingWorker === servingWorker], ['listening', true]);
  t.equal(scene.heard.filter(({ kind }) => kind === 'listening').length, 1);
});

t.test('the log says how a worker ended: serving, draining or too late, and not when it was told to', async (t) => {
  const scene = await new Scene(t, { drain: 'ignore', stop: 'ignore' }).listening();
  t.match(scene.logged('worker listening'), [{ level: 20 }]);
  process.kill((await scene.journal.entry('listening', 0)).pid, 'SIGBUS');
  const { pid: second } = await scene.journal.entry('listening', 0, 2);
  await until('it listens', () => scene.slot.state === 'listening');
  t.match(scene.logged('worker died; replacing it'), [{ level: 50, ending: /^SIGBUS: .*truncated/ }]);
  t.match(
    scene.logged('worker listening'),
    [{ level: 20 }, { level: 30, workerPid: second }],
    'that it is back is news',
  );
  scene.slot.drain();
  process.kill(second, 'SIGKILL');
  await until('it is over', () => scene.slot.state === 'stopped');
  t.match(scene.logged('worker died while draining'), [{ level: 50, workerPid: second, ending: 'SIGKILL' }]);

  const stubborn = await new Scene(t, { stop: 'ignore' }).listening();
  stubborn.slot.stop(1, 0);
  await until('it is over', () => stubborn.slot.state === 'stopped');
  t.match(stubborn.logged('worker does not stop: killed'), [{ level: 40, withinMs: 1 }]);
  t.same(stubborn.logged('worker died while draining'), []);
});

t.test('the store is in doubt until a worker listens again, and a slot that has ended no longer asks', async (t) => {
  const obstacle = join(createScratchDirectory(t), 'obstacle');
  let damage: Promise<void> = Promise.resolve();
  let checks = 0;
  const checkStore = async (): Promise<void> => {
    checks += 1;
    await damage;
  };
  const scene = await new Scene(t, { obstacle }, { workerStartRetryMsMax: 1 }, { checkStore }).listening();
  writeFileSync(obstacle, '');
  process.kill((await scene.journal.entry('listening', 0)).pid, 'SIGSEGV');
  await until('three could not start', () => scene.turns.endings.length > 3);
  t.ok(checks >= 3, 'each start is preceded by a look at the store');
  let fail = (_error: Error): void => undefined;
  damage = new Promise((_, reject) => (fail = reject));
  const before = checks;
  await until('the next is asked for', () => checks > before);
  scene.slot.kill();
  const failures = scene.logged('worker cannot start').length;
  fail(new Error('the store is damaged'));
  await setImmediate();
  t.same([scene.slot.state, scene.logged('worker cannot start').length], ['stopped', failures]);
});
