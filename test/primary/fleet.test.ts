// The fleet in this process with real stub workers, for tests that need shorter limits than the program has.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { Fleet } from '../../src/primary/fleet.js';
import { restartDelayMs, startRetryDelayMs, type FleetBounds } from '../../src/primary/slot.js';
import { limits } from '../../src/shared/limits.js';
import { logInto } from '../support/log-lines.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { isAlive, Journal, until } from './stub-fleet.js';
import { stubOptions } from './stub-options.js';
import { loopSignal, stubEnvironment, stubModule, type StubPlan } from './stub-worker.js';
import { workerBounds } from '../../src/primary/worker-bounds.js';

// A start fails for its time only where a test wants it, however busy the machine.
const FLEET_BOUNDS = { ...limits, ...workerBounds, workerStartMsMax: 600_000 };

// These tests mostly wait: for processes to start, and for the times after which the fleet acts.
t.jobs = 6;

function createFleet(
  t: Test,
  stubs: readonly StubPlan[],
  bounds: Partial<FleetBounds> = {},
  checkStore = async (): Promise<void> => {},
  options = stubOptions(),
): { fleet: Fleet; journal: Journal; logged: (msg: RegExp) => Record<string, unknown>[] } {
  const journal = new Journal(t);
  const start = {
    slotCount: stubs.length,
    options,
    hopDirectory: 'unused',
    hopSecret: new Uint8Array(32),
    bootstrapModule: undefined,
  };
  const environment = stubEnvironment(journal.path, stubs);
  const plan = {
    module: stubModule,
    launcher: [],
    environment,
    start,
    bounds: { ...FLEET_BOUNDS, ...bounds },
    checkStore,
  };
  const lines: string[] = [];
  const fleet = new Fleet(plan, logInto(lines));
  const logged = (msg: RegExp): Record<string, unknown>[] =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => msg.test(String(line['msg'])));
  t.teardown(() => {
    fleet.kill();
    return fleet.drain(0);
  });
  return { fleet, journal, logged };
}

t.test('a worker that does not listen in time is killed and counts as a failed start', async (t) => {
  const { fleet, journal } = createFleet(t, [{ start: 'hang' }], {
    workerStartMsMax: 1_000,
    workerFailedStartsMax: 1,
  });
  fleet.start();
  t.equal(await fleet.failure, 'not listening after 1000 ms');
  for (const { pid } of journal.entries('start')) t.notOk(isAlive(pid));
});

t.test('few workers start at once', async (t) => {
  const gates = createScratchDirectory(t);
  const stubs = Array.from({ length: 7 }, (_, slot) => ({ gate: join(gates, String(slot)) }));
  const { fleet, journal } = createFleet(t, stubs, { workerStartsAtOnceMax: 3 });
  fleet.start();
  for (const slot of stubs.keys()) {
    const startedMax = Math.min(slot + 3, stubs.length);
    await until('the next one starts', () => journal.entries('start').length === startedMax);
    writeFileSync(join(gates, String(slot)), '');
    await journal.entry('listening', slot);
  }
  t.equal(await fleet.ready, stubs.length);
  const startsBeforeListening = journal.entries().map(({ event }) => event);
  t.same(startsBeforeListening.slice(0, 4), ['start', 'start', 'start', 'listening'], 'no fourth one began before');
});

t.test('stopping gets the time that the drain leaves of its timeout', async (t) => {
  const { fleet, journal } = createFleet(t, [{}], { workerStopMs: 100 });
  fleet.start();
  await fleet.ready;
  await fleet.drain(60_000);
  const { message } = await journal.entry('stop', 0);
  t.ok(message?.kind === 'stop' && message.withinMs > 30_000 && message.withinMs <= 60_000);
});

t.test(
  'a worker stops telling backends a tenth of the drain timeout before it is killed, a second at least',
  async (t) => {
    // The drain timeout, the time left of it when the drain has ended, and the time that is then reserved.
    for (const [timeoutMs, stub, keptMs] of [
      [60_000, {}, 6_000],
      [9_000, {}, 1_000],
      [500, { drain: 'ignore' }, 1_000],
    ] as const) {
      const { fleet, journal } = createFleet(t, [stub]);
      fleet.start();
      await fleet.ready;
      await fleet.drain(timeoutMs);
      const { message } = await journal.entry('stop', 0);
      if (message?.kind !== 'stop') throw new Error('no such message');
      t.equal(message.withinMs - message.farewellsMs, keptMs, `${timeoutMs} ms`);
    }
  },
);

t.test('a worker with little time left uses half of it to tell backends', async (t) => {
  const { fleet, journal } = createFleet(t, [{ drain: 'ignore' }], { workerStopMs: 1_000 });
  fleet.start();
  await fleet.ready;
  await fleet.drain(100);
  const { message } = await journal.entry('stop', 0);
  t.match(message, { withinMs: 1_000, farewellsMs: 500 });
});

t.test('a start that keeps failing is tried less and less often, but always again', (t) => {
  const longest = Array.from({ length: 13 }, (_, failed) => startRetryDelayMs(failed + 1, FLEET_BOUNDS, 0));
  t.same(longest, [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000, 30_000]);
  t.equal(startRetryDelayMs(5_000, FLEET_BOUNDS, 1), 15_000, 'however long it goes on; slots do not try in step');
  t.end();
});

t.test('a slot that cannot start is tried until it can, and the others serve on', async (t) => {
  const obstacle = join(createScratchDirectory(t), 'obstacle');
  writeFileSync(obstacle, '');
  const { fleet, journal } = createFleet(t, [{}, { obstacle }, {}], { workerStartRetryMsMax: 50 });
  let failure: string | undefined;
  void fleet.failure.then((reason) => (failure = reason));
  fleet.start();
  t.equal(await fleet.ready, 2, 'nobody waits for it');
  const starts = () => journal.entries('start', 1).length;
  await until('it is tried more often than ends a program of which nothing listens', () => starts() > 6);
  t.equal(journal.entries('start', 0).length, 1, 'the others are left alone');
  rmSync(obstacle);
  process.kill((await journal.entry('listening', 1)).pid, 'SIGKILL');
  await journal.entry('listening', 1, 2);
  writeFileSync(obstacle, '');
  const before = starts();
  process.kill((await journal.entry('listening', 1, 2)).pid, 'SIGKILL');
  await until('its starts have failed once more', () => starts() > before + workerBounds.workerFailedStartsMax);
  t.ok(isAlive((await journal.entry('listening', 0)).pid));
  rmSync(obstacle);
  t.ok(await journal.entry('listening', 1, 3));
  t.equal(failure, undefined);
});

t.test('a worker that does not stop is killed', async (t) => {
  const { fleet, journal } = createFleet(t, [{ stop: 'ignore' }], { workerStopMs: 100 });
  fleet.start();
  await fleet.ready;
  const { pid } = await journal.entry('listening', 0);
  await fleet.drain(1_000);
  t.equal(journal.entries('stop', 0).length, 1, 'it was asked first');
  t.notOk(isAlive(pid));
});

t.test('a worker that has not listened yet is stopped without a drain', async (t) => {
  const { fleet, journal } = createFleet(t, [{}, { start: 'hang' }]);
  fleet.start();
  await journal.entry('start', 1);
  await journal.entry('listening', 0);
  await fleet.drain(1_000);
  t.same([journal.entries('drain', 1).length, journal.entries('stop', 1).length], [0, 1]);
});

t.test('a worker that dies while it drains is not replaced, and not waited for', async (t) => {
  const { fleet, journal } = createFleet(t, [{ drain: 'ignore' }]);
  fleet.start();
  await fleet.ready;
  const drained = fleet.drain(60_000);
  process.kill((await journal.entry('drain', 0)).pid, 'SIGKILL');
  await drained;
  t.equal(journal.entries('start', 0).length, 1);
});

t.test('a slot that waits for its restart does not start during a drain', async (t) => {
  const { fleet, journal } = createFleet(t, [{}, {}], {
    workerRestartDelayMsMin: 60_000,
    workerRestartDelayMsMax: 60_000,
  });
  fleet.start();
  await fleet.ready;
  process.kill((await journal.entry('listening', 1)).pid, 'SIGKILL');
  const second = await journal.entry('listening', 1, 2); // at once
  process.kill(second.pid, 'SIGKILL');
  await until('the second worker is gone', () => !isAlive(second.pid));
  await fleet.drain(1_000);
  t.equal(journal.entries('start', 1).length, 2, 'the third would have come after a minute');
  t.equal(fleet.deathCount, 2, 'and each death counts, an end that was asked for does not');
});

t.test('a worker that hangs is killed and replaced, and the others are left alone', async (t) => {
  // Long enough for a busy machine to let the third one speak.
  const options = stubOptions({ workerHangTimeoutMs: 2_000 });
  const { fleet, journal, logged } = createFleet(t, [{}, {}, {}], {}, undefined, options);
  fleet.start();
  await fleet.ready;
  const { pid: stopped } = await journal.entry('listening', 0);
  const { pid: looping } = await journal.entry('listening', 1);
  const { pid: other } = await journal.entry('listening', 2);
  process.kill(stopped, 'SIGSTOP');
  process.kill(looping, loopSignal);
  for (const slot of [0, 1]) await journal.entry('listening', slot, 2);
  t.notOk(isAlive(stopped) || isAlive(looping));
  t.ok(isAlive(other));
  t.match(
    logged(/hangs/).sort((one, other) => Number(one['slot']) - Number(other['slot'])),
    [stopped, looping].map((workerPid, slot) => ({ level: 50, slot, workerPid, silentMs: Number })),
  );
});

t.test('a reload replaces one worker after another, each once its successor listens', async (t) => {
  const { fleet, journal, logged } = createFleet(t, [{}, {}]);
  fleet.start();
  await fleet.ready;
  t.equal(await fleet.reload(stubOptions()), undefined);
  for (const slot of [0, 1]) {
    await journal.entry('stop', slot);
    await journal.entry('listening', slot, 2);
  }
  const events = journal.entries().filter(({ event }) => event !== 'disconnected');
  const indexOf = (event: string, slot: number, nth: number): number =>
    events.indexOf(events.filter((entry) => entry.event === event && entry.slot === slot)[nth - 1]!);
  for (const slot of [0, 1]) {
    const [first, second] = journal.entries('listening', slot);
    t.not(first?.pid, second?.pid);
    const [retired, stopped] = [journal.entries('retire', slot), journal.entries('stop', slot)];
    t.same(
      [...retired, ...stopped].map(({ pid }) => pid),
      [first?.pid, first?.pid],
      'the old one is retired and stopped',
    );
    t.ok(indexOf('start', slot, 2) < indexOf('retire', slot, 1));
    await until('the old one is gone', () => !isAlive(first!.pid));
    t.ok(isAlive(second!.pid));
  }
  t.ok(indexOf('listening', 0, 2) < indexOf('start', 1, 2), 'the second slot comes after the first');
  await fleet.drain(1_000);
  t.equal(journal.entries('drain').length, 2, 'the new ones are drained in the end');
  t.same(logged(/--reload-timeout/), [], 'none was waited for that had finished');
});

t.test('a successor that cannot start leaves its predecessor, and the workers after it, serving', async (t) => {
  const obstacle = join(createScratchDirectory(t), 'obstacle');
  const { fleet, journal } = createFleet(t, [{}, { obstacle }, {}]);
  fleet.start();
  await fleet.ready;
  writeFileSync(obstacle, '');
  t.equal(await fleet.reload(stubOptions()), 'slot 1: the certificate is of wax');
  t.same(
    [0, 1, 2].map((slot) => journal.entries('start', slot).length),
    [2, 2, 1],
  );
  await journal.entry('retire', 0);
  t.same(
    journal.entries('retire').map(({ slot }) => slot),
    [0],
  );
  t.ok(isAlive((await journal.entry('listening', 1)).pid));
  rmSync(obstacle);
  t.equal(await fleet.reload(stubOptions()), undefined, 'the next one can');
  for (const [slot, nth] of [2, 1, 1].entries()) await journal.entry('retire', slot, nth);
});

t.test('a successor that dies later is replaced like any other', async (t) => {
  const { fleet, journal } = createFleet(t, [{}]);
  fleet.start();
  await fleet.ready;
  t.equal(await fleet.reload(stubOptions({ bodyBytesMax: 77 })), undefined);
  process.kill((await journal.entry('listening', 0, 2)).pid, 'SIGKILL');
  const { message } = await journal.entry('start', 0, 3);
  t.match(message, { options: { bodyBytesMax: 77 } });
  await journal.entry('listening', 0, 3);
});

t.test('a replaced worker gets its time to finish, and no third one starts beside it', async (t) => {
  const { fleet, journal, logged } = createFleet(t, [{ drain: 'ignore' }]);
  fleet.start();
  await fleet.ready;
  const { pid: first } = await journal.entry('start', 0);
  t.equal(await fleet.reload(stubOptions({ reloadTimeoutMs: 1_500 })), undefined, 'nobody waits for it');
  t.ok(isAlive(first));
  t.equal(await fleet.reload(stubOptions()), undefined);
  t.notOk(isAlive(first), 'it was gone before the third one began');
  t.match(logged(/--reload-timeout/), [{ level: 40, slot: 0, workerPid: first }]);
  const stop = await journal.entry('stop', 0);
  t.equal(stop.pid, first, 'it was asked to stop');
  const { workerStopMs, workerExitMs } = workerBounds;
  t.match(stop.message, { withinMs: workerStopMs, farewellsMs: workerStopMs - workerExitMs });
  t.equal(journal.entries('start', 0).length, 3);
});

t.test('a drain ends a reload in any of its steps', async (t) => {
  const gate = join(createScratchDirectory(t), 'gate');
  writeFileSync(gate, '');
  const { fleet, journal } = createFleet(t, [{ drain: 'ignore' }, { gate }]);
  fleet.start();
  await fleet.ready;
  rmSync(gate);
  const reload = fleet.reload(stubOptions());
  await journal.entry('start', 1, 2);
  await fleet.drain(200);
  t.equal(await reload, 'slot 1: the gateway ends');
  t.notOk(
    journal.entries('start').some(({ pid }) => isAlive(pid)),
    'predecessor, successor and all others are gone',
  );

  const waiting = createFleet(t, [{ drain: 'ignore' }]);
  waiting.fleet.start();
  await waiting.fleet.ready;
  t.equal(await waiting.fleet.reload(stubOptions()), undefined);
  const second = waiting.fleet.reload(stubOptions());
  await waiting.fleet.drain(200);
  t.equal(await second, 'slot 0: the gateway ends', 'also while the one before the last has not finished');
  t.equal(waiting.journal.entries('start').length, 2);
});

t.test('the log level, and that a drain comes, are told to all workers, and to those that listen later', async (t) => {
  const gate = join(createScratchDirectory(t), 'gate');
  const { fleet, journal } = createFleet(t, [{}, { gate }]);
  fleet.start();
  await until('one listens', () => fleet.slotReadiness[0]?.isListening);
  fleet.setLogLevel('trace');
  fleet.announceDrain();
  for (const kind of ['log-level', 'announce-drain'] as const) await journal.entry(kind, 0);
  writeFileSync(gate, '');
  for (const slot of [0, 1]) {
    t.match(await journal.entry('log-level', slot), { message: { level: 'trace' } });
    await journal.entry('announce-drain', slot);
  }
});

t.test('a successor knows whether the gateway can serve as soon as it listens', async (t) => {
  const { fleet, journal } = createFleet(t, [{}]);
  fleet.start();
  await fleet.ready;
  fleet.sendReadiness(true);
  await fleet.reload(stubOptions());
  const { pid } = await journal.entry('listening', 0, 2);
  t.match(await journal.entry('readiness', 0, 2), { pid, message: { isReady: true } });
});

t.test('workers are asked until they end, a replaced one beside its successor', async (t) => {
  const { fleet, journal } = createFleet(t, [{ drain: 'ignore' }], { metricGatheringAgeMsMax: 0 });
  fleet.start();
  await fleet.ready;
  const isSaid = async (name: string, value: number): Promise<boolean> =>
    (await fleet.gatherFigures()).series.some((series) => series.name === name && series.value === value);
  await until('its figures are there', () => isSaid('switchyard_sessions', 10));
  await fleet.reload(stubOptions());
  const pids = [await journal.entry('listening', 0, 2), await journal.entry('listening', 0)].map(({ pid }) => pid);
  t.match(
    await fleet.ask({ view: 'worker' }),
    pids.map((pid) => ({ slot: 0, pid, answer: { pid } })),
    'the one that has the slot comes first',
  );
  await until('the figures are those of both', () => isSaid('switchyard_sessions', 20));
  process.kill(pids[1] ?? 0, 'SIGKILL');
  await until('one is left to ask', async () => (await fleet.ask({ view: 'worker' }))?.length === 1);
  await until('gauges end with their worker', () => isSaid('switchyard_sessions', 10));
  t.ok(await isSaid('switchyard_hops_total', 2), 'counters do not fall');
});

t.test('a hang timeout of 0 disables the watch', async (t) => {
  const { fleet, journal } = createFleet(t, [{}, {}], {}, undefined, stubOptions({ workerHangTimeoutMs: 0 }));
  fleet.start();
  await fleet.ready;
  const { pid } = await journal.entry('listening', 0);
  process.kill(pid, 'SIGSTOP');
  await sleep(100); // no condition to wait for: with a timeout of 0 a watch would have looked a hundred times
  t.ok(isAlive(pid));
  process.kill(pid, 'SIGCONT');
});

t.test('kill ends a drain under way', async (t) => {
  const { fleet, journal } = createFleet(t, [{ drain: 'ignore' }]);
  fleet.start();
  await fleet.ready;
  const drained = fleet.drain(60_000);
  await journal.entry('drain', 0);
  fleet.kill();
  await drained;
  for (const { pid } of journal.entries('start')) t.notOk(isAlive(pid));
});

t.test(
  'after a truncated file has killed a worker, the next worker waits until the store is complete again',
  async (t) => {
    let checks = 0;
    const { fleet, journal } = createFleet(t, [{}, {}], { workerStartRetryMsMax: 60 }, async () => {
      checks += 1;
      if (checks < 4) throw new Error('the store is damaged');
    });
    fleet.start();
    await fleet.ready;
    process.kill((await journal.entry('listening', 0)).pid, 'SIGBUS');
    const second = await journal.entry('listening', 0, 2);
    t.equal(checks, 4, 'no worker was started on a damaged store');
    t.equal(journal.entries('start', 0).length, 2);
    t.equal(journal.entries('start', 1).length, 1, 'the others serve on');
    process.kill(second.pid, 'SIGKILL');
    t.ok(await journal.entry('listening', 0, 3));
    t.equal(checks, 4, 'any other death says nothing of the store');
  },
);

t.test('a slot that waits for its store to be repaired does not delay a drain', async (t) => {
  let isChecked = false;
  const { fleet, journal } = createFleet(t, [{}], {}, async () => {
    isChecked = true;
    throw new Error('the store is damaged');
  });
  fleet.start();
  await fleet.ready;
  process.kill((await journal.entry('listening', 0)).pid, 'SIGSEGV');
  await until('the store is looked at', () => isChecked);
  await fleet.drain(60_000);
  t.equal(journal.entries('start', 0).length, 1);
});

t.test('a crash loop is slowed down, but never to a whole second', (t) => {
  const delays = Array.from({ length: 8 }, (_, restarts) => restartDelayMs(restarts, FLEET_BOUNDS));
  t.same(delays, [0, 50, 100, 200, 400, 800, 800, 800]);
  t.ok(workerBounds.workerRestartDelayMsMax < 1_000);
  t.equal(restartDelayMs(5_000, FLEET_BOUNDS), 800, 'however long it goes on');
  t.end();
});

t.test('a worker that had settled is replaced without delay again', async (t) => {
  const bounds = { workerSettledMs: 0, workerRestartDelayMsMin: 60_000, workerRestartDelayMsMax: 60_000 };
  const { fleet, journal } = createFleet(t, [{}, {}], bounds);
  fleet.start();
  for (const nth of [1, 2, 3]) process.kill((await journal.entry('listening', 0, nth)).pid, 'SIGKILL');
  t.ok(await journal.entry('listening', 0, 4));
});
