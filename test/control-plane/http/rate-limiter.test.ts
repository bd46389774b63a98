import t from 'tap';
import { RateLimiter } from '../../../src/control-plane/http/control-plane-admission.js';

const MINUTE_MS = 60_000;

t.test('a limited number a minute is admitted, counted from the first', async (t) => {
  let nowMs = 5;
  const limiter = new RateLimiter(3, () => nowMs);
  t.same([limiter.admit('a'), limiter.admit('a'), limiter.admit('a'), limiter.admit('a')], [0, 0, 0, 60]);
  nowMs += MINUTE_MS - 1_500;
  t.equal(limiter.admit('a'), 2, 'whole seconds, never too early');
  nowMs += 1_499;
  t.equal(limiter.admit('a'), 1);
  nowMs += 1;
  t.same([limiter.admit('a'), limiter.admit('a'), limiter.admit('a'), limiter.admit('a')], [0, 0, 0, 60]);
});

t.test('keys are counted separately', async (t) => {
  const limiter = new RateLimiter(1, () => 0);
  t.same([limiter.admit('a'), limiter.admit('b'), limiter.admit('a')], [0, 0, 60]);
});

t.test('a limit of 0 admits any number', async (t) => {
  const limiter = new RateLimiter(0, () => 0);
  for (let count = 0; count < 1_000; count++) if (limiter.admit('a') !== 0) t.fail(`refused at ${count}`);
  t.equal(limiter.admit('a'), 0);
});

t.test('above the maximum of keys the oldest is counted from zero, and no other', async (t) => {
  const limiter = new RateLimiter(1, () => 0, 3);
  for (const key of ['a', 'b', 'c']) limiter.admit(key);
  t.equal(limiter.admit('d'), 0, 'takes the place of a');
  t.same([limiter.admit('b'), limiter.admit('c'), limiter.admit('d')], [60, 60, 60]);
  t.equal(limiter.admit('a'), 0);
});

t.test('periods that have ended make room first', async (t) => {
  let nowMs = 0;
  const limiter = new RateLimiter(1, () => nowMs, 2);
  limiter.admit('old');
  nowMs = MINUTE_MS;
  limiter.admit('a');
  limiter.admit('b');
  t.same([limiter.admit('a'), limiter.admit('b')], [60, 60]);
});
