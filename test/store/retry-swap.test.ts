import t from 'tap';
import { RecordStoreFault, retrySwap, RECORD_SWAP_TRIES_MAX } from '../../src/store/record-store.js';

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
  t.equal(tries, RECORD_SWAP_TRIES_MAX);
  const broken = new Error('broken');
  await t.rejects(
    retrySwap(async () => Promise.reject(broken)),
    broken,
  );
});
