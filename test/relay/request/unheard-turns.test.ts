import t from 'tap';
import { UnheardTurns } from '../../../src/relay/request/unheard-turns.js';
import { limits } from '../../../src/shared/limits.js';
import { until } from '../../support/until.js';

t.test('subjects take turns, one slice at a time, and a call that has ended leaves the queue', async (t) => {
  const turns = new UnheardTurns();
  const read: string[] = [];
  let atOnce = 0;
  const wait = (subject: string, number: number): ReturnType<UnheardTurns['wait']> =>
    turns.wait(subject, () => {
      read.push(`${subject}${number}`);
      atOnce += 1;
      if (atOnce > 1) t.fail('two in one turn');
      setImmediate(() => (atOnce = 0));
    });
  for (let number = 0; number < 5; number += 1) wait('a', number);
  const over = wait('b', 0);
  wait('b', 1);
  over?.leave();
  t.same(read, [], 'nothing from within');
  await until(() => read.length === 6, 'everybody');
  t.same(read, ['a0', 'b1', 'a1', 'a2', 'a3', 'a4']);
});

t.test('a slow slice is followed by a longer rest, up to a bound', async (t) => {
  let nowMs = 0;
  const turns = new UnheardTurns(() => nowMs);
  const atMs: number[] = [];
  const sliceMs = [1, 4, 1_000_000, 0];
  for (const ms of sliceMs) {
    turns.wait('a', () => {
      atMs.push(performance.now());
      nowMs += ms;
    });
  }
  await until(() => atMs.length === sliceMs.length, 'all slices');
  const restsMs = atMs.slice(1).map((ms, index) => ms - atMs[index]!);
  // A timer may fire a millisecond early.
  const leastMs = [1, 4, limits.unheardRestMsMax / limits.unheardRestFactor].map(
    (ms) => ms * limits.unheardRestFactor - 1,
  );
  for (const [index, ms] of leastMs.entries()) t.ok(restsMs[index]! >= ms, `${restsMs[index]} ms, ${ms} at least`);
});

t.test('time that is spent beyond the turn counts as well', async (t) => {
  const turns = new UnheardTurns();
  let first = 0;
  let second = 0;
  turns.wait('a', () => {
    first = performance.now();
    turns.noteSpent(5);
  });
  turns.wait('a', () => (second = performance.now()));
  await until(() => second > 0, 'both');
  t.ok(second - first >= 5 * limits.unheardRestFactor - 1, `${second - first} ms`);
});
