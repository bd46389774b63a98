import t from 'tap';
import { limits } from '../../src/shared/limits.js';
import { RecordStoreFault } from '../../src/store/record-store.js';
import { retrySwap } from '../../src/store/retry-swap.js';

t.test('a swap is tried until an attempt succeeds', async (t) => {
  let tries = 0;
  t.equal(await retrySwap(async () => (++tries === 3 ? false : undefined)), false);
  t.equal(tries, 3);
});

t.test('a swap is given up in the end, and at once when the store fails', async (t) => {
  let tries = 0;
  await t.rejects(
    retrySwap(async () => void tries++),
    RecordStoreFault,
  );
  t.equal(tries, limits.recordSwapTriesMax);
  const broken = new Error('broken');
  await t.rejects(
    retrySwap(async () => Promise.reject(broken)),
    broken,
  );
});
