import t from 'tap';
import { Backoff, settledWithin } from '../../src/shared/backoff.js';

t.test('the delay doubles up to its maximum, and starts over after a reset', async (t) => {
  const backoff = new Backoff(100, 350);
  t.same(
    [backoff.nextDelayMs(), backoff.nextDelayMs(), backoff.nextDelayMs(), backoff.nextDelayMs()],
    [100, 200, 350, 350],
  );
  backoff.reset();
  t.equal(backoff.nextDelayMs(), 100);
});

t.test('jitter shortens the delay by up to half of it', async (t) => {
  const backoff = new Backoff(100, 1_000);
  t.same(
    [backoff.nextDelayMsWithJitter(0), backoff.nextDelayMsWithJitter(1), backoff.nextDelayMsWithJitter(0.5)],
    [100, 100, 300],
  );
});

t.test('a promise is waited for until the time is over, and no longer', async (t) => {
  const late: string[] = [];
  const onLate = (): string => {
    late.push('late');
    return 'late';
  };
  t.equal(await settledWithin(Promise.resolve('done'), 60_000, onLate), 'done');
  await t.rejects(settledWithin(Promise.reject(new Error('failed')), 60_000, onLate), { message: 'failed' });
  t.same(late, []);
  t.equal(await settledWithin(new Promise<string>(() => {}), 1, onLate), 'late');
  t.same(late, ['late']);
});
