import { once } from 'node:events';
import { fork } from 'node:child_process';
import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { DeadlineWheel, type Deadline } from '../../src/fair/deadline-wheel.js';

const TICK_MS = 100;

/** A wheel on a clock that only the test advances. */
function wheelOnFakeClock() {
  let nowMs = 1_234_567.8;
  const wheel = new DeadlineWheel(TICK_MS, () => nowMs);
  return {
    wheel,
    now: () => nowMs,
    /** Lets time pass in ticks of `stepMs`. */
    pass: (durationMs: number, stepMs = TICK_MS): void => {
      const endMs = nowMs + durationMs;
      while (nowMs < endMs) {
        nowMs = Math.min(endMs, nowMs + stepMs);
        wheel.tick();
      }
    },
    /** Lets time pass without a tick. */
    stall: (durationMs: number): void => {
      nowMs += durationMs;
    },
  };
}

t.test('a deadline fires once, never early and at most one tick late', async (t) => {
  for (const delayMs of [0, 1, 99, 100, 101, 5_000, 51_199, 51_200, 51_201, 3_600_000, 90_000_000]) {
    const { wheel, now, pass } = wheelOnFakeClock();
    const dueMs = now() + delayMs;
    const firedAt: number[] = [];
    wheel.after(delayMs, () => firedAt.push(now()));
    pass(delayMs + 2 * TICK_MS);
    t.equal(firedAt.length, 1, `after ${delayMs} ms`);
    const lateMs = firedAt[0]! - dueMs;
    t.ok(lateMs >= 0 && lateMs <= TICK_MS, `${lateMs} ms late`);
    wheel.stop();
  }
});

t.test('another delay counts from now on, whether it is sooner or later, armed or not', async (t) => {
  for (const delayMs of [0, 99, 1_000, 5_000, 100_000]) {
    for (const before of ['armed', 'cancelled', 'fired'] as const) {
      const { wheel, now, pass } = wheelOnFakeClock();
      const firedAt: number[] = [];
      const deadline = wheel.after(before === 'fired' ? 0 : 5_000, () => firedAt.push(now()));
      if (before === 'cancelled') deadline.cancel();
      pass(300);
      firedAt.length = 0;
      for (let time = 0; time < 2; time += 1) {
        const dueMs = now() + delayMs;
        if (time === 0) deadline.restartAfter(delayMs);
        else deadline.restart();
        pass(delayMs + 6_000);
        t.equal(firedAt.length, 1, `${delayMs} ms, ${before}`);
        const lateMs = (firedAt.pop() ?? 0) - dueMs;
        t.ok(lateMs >= 0 && lateMs <= TICK_MS, `${lateMs} ms late`);
      }
      wheel.stop();
    }
  }
});

t.test('agrees with a plain list of due times', async (t) => {
  // A linear congruential generator with a fixed seed: every run is the same.
  let seed = 20_251_125;
  const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below;
  const { wheel, now, pass, stall } = wheelOnFakeClock();
  const model = new Map<number, { delayMs: number; dueMs: number; isArmed: boolean; deadline: Deadline }>();
  let problem = '';
  const arm = (id: number, delayMs: number) => {
    const deadline = wheel.after(delayMs, () => {
      const entry = model.get(id)!;
      if (!entry.isArmed || entry.dueMs > now()) problem ||= `${id} fired early or unarmed`;
      entry.isArmed = false;
      if (random(4) === 0) restart(id);
      if (random(4) === 0) cancel(random(model.size));
      if (random(4) === 0) restart(random(model.size));
    });
    model.set(id, { delayMs, dueMs: now() + delayMs, isArmed: true, deadline });
  };
  const restart = (id: number) => {
    const entry = model.get(id)!;
    entry.deadline.restart();
    entry.isArmed = true;
    entry.dueMs = now() + entry.delayMs;
  };
  const cancel = (id: number) => {
    const entry = model.get(id)!;
    entry.deadline.cancel();
    entry.isArmed = false;
  };
  let firedOrCancelled = 0;
  for (let id = 0; id < 50; id += 1) arm(id, 1 + random(100_000));
  for (let step = 0; step < 20_000; step += 1) {
    const action = random(10);
    if (action === 0 && model.size < 500) arm(model.size, 1 + random(random(5) === 0 ? 200_000 : 2_000));
    else if (action <= 2) restart(random(model.size));
    else if (action === 3) cancel(random(model.size));
    else if (action === 4 && random(100) === 0) stall(random(120_000));
    else pass(random(2 * TICK_MS), 1 + random(TICK_MS));
    wheel.tick();
    for (const [id, entry] of model) {
      if (!entry.isArmed) firedOrCancelled += 1;
      else if (entry.dueMs <= now()) problem ||= `${id} did not fire at step ${step}`;
    }
    if (problem !== '') break;
  }
  t.equal(problem, '');
  t.ok(firedOrCancelled > 0);
  wheel.stop();
});

t.test('a restarted deadline is due after the same delay from the restart', async (t) => {
  const { wheel, pass } = wheelOnFakeClock();
  let fired = 0;
  const deadline = wheel.after(1_000, () => (fired += 1));
  for (let restarts = 0; restarts < 100; restarts += 1) {
    pass(900);
    deadline.restart();
  }
  pass(900);
  t.equal(fired, 0);
  pass(200);
  t.equal(fired, 1);
  deadline.restart();
  pass(1_100);
  t.equal(fired, 2, 'restarted after it had fired');
  wheel.stop();
});

t.test('a cancelled deadline does not fire until it is restarted', async (t) => {
  const { wheel, pass } = wheelOnFakeClock();
  let fired = 0;
  const deadline = wheel.after(1_000, () => (fired += 1));
  deadline.cancel();
  deadline.cancel();
  pass(60_000);
  t.equal(fired, 0);
  deadline.restart();
  pass(1_100);
  t.equal(fired, 1);
  deadline.cancel();
  wheel.stop();
});

t.test('a callback may arm, cancel and restart others that are due in the same tick, and itself', async (t) => {
  const { wheel, pass } = wheelOnFakeClock();
  const fired: string[] = [];
  const first = wheel.after(50, () => {
    fired.push('first');
    second.cancel();
    third.restart();
    wheel.after(0, () => fired.push('armed'));
    if (fired.length < 5) first.restart();
  });
  const second = wheel.after(50, () => fired.push('second'));
  const third = wheel.after(50, () => fired.push('third'));
  pass(TICK_MS);
  t.same(fired, ['first'], 'the others are not due any more, and nothing armed in a tick fires in it');
  pass(TICK_MS);
  t.same(fired.slice(1).sort(), ['armed', 'first'], 'the first restarted the third again');
  pass(20 * TICK_MS);
  t.notOk(fired.includes('second'));
  t.equal(fired.filter((name) => name === 'third').length, 1);
  wheel.stop();
});

t.test('of many that are due at once, each turn of the event loop gets those of a short time', async (t) => {
  const { wheel, stall, pass } = wheelOnFakeClock();
  const eachTurn = 4;
  const counts = { fired: 0, again: 0 };
  const onDue = (): void => {
    counts.fired += 1;
    stall(limits.turnMs / eachTurn);
  };
  for (let count = 0; count < 10 * eachTurn; count += 1) wheel.after(1_000, onDue);
  const late = wheel.after(1_000, () => t.fail('cancelled while it waited for its turn'));
  const again = wheel.after(1_000, () => (counts.again += 1));
  pass(1_100, 1_100);
  late.cancel();
  again.restart();
  t.equal(counts.fired, eachTurn);
  // On a slow machine, the wheel's own interval gives them a turn, too.
  for (let before = 0; before < 10 * eachTurn;) {
    t.ok(counts.fired > before && counts.fired % eachTurn === 0, 'none is lost');
    before = counts.fired;
    await new Promise(setImmediate);
  }
  t.same(counts, { fired: 10 * eachTurn, again: 0 }, 'and none fires before it is due');
  pass(1_100);
  t.equal(counts.again, 1);
});

t.test('those that are late have one turn, however many ticks have passed meanwhile', async (t) => {
  const { wheel, stall, pass } = wheelOnFakeClock();
  let fired = 0;
  for (let count = 0; count < 100; count += 1) {
    wheel.after(1_000, () => {
      fired += 1;
      stall(limits.turnMs);
    });
  }
  pass(1_100, 1_100);
  for (let tick = 0; tick < 5; tick += 1) pass(TICK_MS);
  const before = fired;
  await new Promise(setImmediate);
  t.equal(fired, before + 1);
  wheel.stop();
});

t.test('nothing fires after stop', async (t) => {
  const { wheel, pass } = wheelOnFakeClock();
  const deadline = wheel.after(50, () => t.fail('fired'));
  wheel.stop();
  pass(1_000);
  deadline.restart();
  deadline.cancel();
  wheel.after(50, () => t.fail('fired'));
  pass(1_000);
});

t.test('the wheel runs on the real clock, also after it was idle', async (t) => {
  const wheel = new DeadlineWheel(5);
  t.teardown(() => wheel.stop());
  // The wheel does not keep the process alive, so the test has to.
  const alive = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(alive));
  for (let round = 0; round < 2; round += 1) {
    const startMs = performance.now();
    await new Promise<void>((resolve) => wheel.after(20, resolve));
    t.ok(performance.now() - startMs >= 20);
    // A tick without deadlines stops the interval.
    wheel.tick();
  }
});

t.test('an armed deadline does not keep the process alive', async (t) => {
  const program = `
    const { DeadlineWheel } = await import(${JSON.stringify(new URL('../../src/fair/deadline-wheel.js', import.meta.url).href)});
    new DeadlineWheel(10).after(3_600_000, () => {});
    process.disconnect();`;
  const child = fork('-', { execArgv: ['--input-type=module'], silent: true });
  child.stdin!.end(program);
  t.same(await once(child, 'exit'), [0, null]);
});
