// One slot with real stub workers: what it reports, and what it tells its worker. How slots work together is in fleet.test.ts.
import t, { type Test } from 'tap';
import { Slot, type FleetBounds } from '../../src/primary/slot.js';
import { StartQueue, type StartEnding } from '../../src/primary/start-queue.js';
import { workerBounds } from '../../src/primary/worker-bounds.js';
import { limits } from '../../src/shared/limits.js';
import { createLogger } from '../../src/shared/logger.js';
import { isAlive, Journal, until } from './stub-fleet.js';
import { stubOptions } from './stub-options.js';
import { stubEnvironment, stubModule, type StubPlan } from './stub-worker.js';

/** Grants every turn at once, and records how starts ended. */
class KeptTurns extends StartQueue {
  readonly endings: StartEnding[] = [];

  override end(ending: StartEnding): void {
    this.endings.push(ending);
    super.end(ending);
  }
}

class Scene {
  readonly slot: Slot;
  readonly journal: Journal;
  readonly turns = new KeptTurns({ startsAtOnceMax: 1, failuresMax: Infinity }, () => undefined);
  deaths = 0;

  constructor(t: Test, stub: StubPlan, bounds: Partial<FleetBounds> = {}, module = stubModule) {
    this.journal = new Journal(t);
    const start = {
      ...{ slotCount: 1, options: stubOptions(), hopDirectory: 'unused', hopSecret: new Uint8Array(32) },
      bootstrapModule: undefined,
    };
    const environment = stubEnvironment(this.journal.path, [stub]);
    const plan = {
      module,
      launcher: [],
      environment,
      start,
      bounds: { ...limits, ...workerBounds, ...bounds },
      checkStore: async () => undefined,
    };
    const observer = {
      ...{ onState: () => undefined, onMessage: () => undefined, onExit: () => undefined },
      onDeath: () => void (this.deaths += 1),
    };
    this.slot = new Slot(0, plan, this.turns, observer, createLogger('silent', {}));
    t.teardown(async () => {
      this.slot.kill();
      await until('the worker is gone', () => this.slot.servingWorker === undefined && this.slot.state === 'stopped');
    });
  }

  async listening(): Promise<this> {
    this.slot.start();
    await until('the worker listens', () => this.slot.state === 'listening');
    return this;
  }
}

t.test('a listening worker is told readiness and each change once; a new worker is told again', async (t) => {
  const scene = new Scene(t, {});
  scene.slot.tellReadiness(true);
  await scene.listening();
  for (const isReady of [true, true, false]) scene.slot.tellReadiness(isReady);
  await scene.journal.entry('readiness', 0, 2);
  process.kill((await scene.journal.entry('listening', 0)).pid, 'SIGKILL');
  await until('its death is heard', () => scene.deaths === 1);
  await until('another one listens', () => scene.slot.state === 'listening');
  scene.slot.tellReadiness(false);
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
  t.ok(scene.slot.askedWorker.worker, 'it can tell its figures');
  process.kill((await scene.journal.entry('listening', 0)).pid, 'SIGSTOP');
  scene.slot.servingWorker?.kill('SIGKILL');
  await until('another one starts', () => scene.slot.state === 'starting');
  t.match(scene.slot.readiness, { isListening: false, ...nothing });
  t.equal(scene.slot.askedWorker.worker, undefined, 'one that starts cannot');
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
  const { answeringWorker: worker } = scene.slot;
  scene.slot.drain();
  t.same([scene.slot.state, scene.slot.answeringWorker === worker], ['draining', true]);
  await until('it has drained', () => scene.slot.state === 'drained');
  t.ok(worker !== undefined && scene.slot.answeringWorker === worker);
  scene.slot.stop(60_000, 0);
  t.same([scene.slot.state, scene.slot.answeringWorker], ['stopping', undefined]);
});

t.test('a slot whose worker cannot start reports why, and keeps trying', async (t) => {
  const bounds = { workerStartTriesMax: 2, workerStartRetryMsMax: 1 };
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
