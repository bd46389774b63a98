// Of the tasks of one turn of the event loop the first run, and more while the turn is still short; the rest takes turns by key. Each test
// sets how long a task takes; the turns are the event loop's own. More is tested in test/worker/request-scheduler.test.ts.
import t from 'tap';
import { TurnScheduler } from '../../src/fair/turn-scheduler.js';

/** A power of two, so that sums are exact. */
const TASK_MS = 0.25;
const UNTIMED_MAX = 4;
const TURN_MS = 2;
/** How many tasks of a key run at once: those before the first look at the clock, those of the time that starts with it, and a late one. */
const PASSING = UNTIMED_MAX + TURN_MS / TASK_MS + 1;
const EACH_TURN = TURN_MS / TASK_MS;

function createScene(itemsPerKeyMax = 1_000) {
  let nowMs = 0;
  const rules = { untimedMax: UNTIMED_MAX, turnMs: TURN_MS, waiting: [1_000, itemsPerKeyMax] as const };
  const turns = new TurnScheduler(rules, () => nowMs);
  const done: string[] = [];
  const run = (key: string, count: number, onDone = (): void => undefined): void => {
    for (let number = 0; number < count; number += 1)
      turns.run(key, () => {
        done.push(`${key}${number}`);
        nowMs += TASK_MS;
        onDone();
      });
  };
  return { turns, done, run };
}

function numbered(key: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `${key}${number}`);
}

t.test('a few tasks run at once in each turn, however many turns there are', async (t) => {
  const { turns, done, run } = createScene();
  for (let turn = 1; turn <= 20; turn += 1) {
    run('a', PASSING);
    t.equal(done.length, turn * PASSING);
    t.equal(turns.count, 0);
    await new Promise(setImmediate);
  }
});

t.test('the other tasks take turns by key, each key in its order', async (t) => {
  const { done, run } = createScene();
  run('a', PASSING + 2 * EACH_TURN);
  run('b', 3);
  t.same(done, [...numbered('a', PASSING), 'b0'], 'one of each passes late');
  done.pop();
  await new Promise(setImmediate);
  t.equal(done.length, PASSING + EACH_TURN, 'a turn takes its time, and no more');
  t.ok(done.indexOf('b2') < PASSING + 4, 'who has two waits for two of the others');
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  t.same(
    done.filter((word) => word.startsWith('a')),
    numbered('a', PASSING + 2 * EACH_TURN),
  );
  run('c', 1);
  t.equal(done.at(-1), 'c0', 'then all is as before');
});

t.test('a task added by another waits behind those that wait already', async (t) => {
  const { done, run } = createScene();
  let isFirst = true;
  run('a', PASSING + 3, () => {
    if (done.length <= PASSING || !isFirst) return;
    isFirst = false;
    run('b', 1);
    t.equal(done.length, PASSING + 1, 'not from within');
  });
  await new Promise(setImmediate);
  t.equal(done.length, PASSING + 4);
});

t.test('a task without room in the queue runs at once', (t) => {
  const { turns, done, run } = createScene(10);
  run('a', PASSING + 12);
  t.equal(turns.count, 10);
  t.equal(done.length, PASSING + 2);
  t.end();
});

t.test(
  'where many keys have one task each, none of them waits; a key with many, and what is beyond the late time, does',
  async (t) => {
    const { turns, done, run } = createScene();
    run('many', PASSING + 2 * EACH_TURN);
    const lateCount = (4 * TURN_MS) / TASK_MS - 1;
    for (let key = 0; key < lateCount; key += 1) run(`late ${key}`, 1);
    t.equal(done.length, PASSING + lateCount);
    run('too late', 1);
    t.equal(done.length, PASSING + lateCount);
    await new Promise(setImmediate);
    t.ok(turns.count > 0, 'some wait still');
    run('another', 2);
    t.equal(done.filter((word) => word.startsWith('another')).length, 1, 'in each turn');
  },
);
