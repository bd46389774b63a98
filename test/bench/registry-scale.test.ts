// The measurement of the control plane's store works, with small counts. The times are not judged.
import t from 'tap';
import { measureScale } from '../../bench/registry-scale.js';
import { startRedis } from '../support/redis.js';
import { createScratchDirectory } from '../support/scratch-directory.js';

const COUNTS = { servers: 30, compositions: 5, subjectsPerComposition: 4 };

t.test('on both stores', async (t) => {
  const embedded = await measureScale({ kind: 'embedded', path: createScratchDirectory(t) }, COUNTS);
  const redis = await measureScale((await startRedis(t)).storeOptions, COUNTS);
  t.same(Object.keys(embedded), Object.keys(redis));
  for (const { medianMs, longestMs } of [...Object.values(embedded), ...Object.values(redis)]) {
    t.ok(medianMs > 0 && medianMs <= longestMs);
  }
});
