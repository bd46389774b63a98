// A test that starts processes and creates folders, reports them, and never ends.
import t from 'tap';
import { startDeployment } from './deployment.js';
import { createScratchDirectory } from './scratch-directory.js';
import { startRedis } from './redis.js';

/** What the program reports. */
export interface Leftovers {
  readonly pids: readonly number[];
  readonly directories: readonly string[];
}

if (process.argv[2] === 'run') {
  t.test('it hangs', async (t) => {
    const directory = createScratchDirectory(t);
    const redis = await startRedis(t);
    const { gateway } = await startDeployment(t, { workerCount: 2, storeOptions: redis.storeOptions });
    const pids = [redis.pid, gateway.pid, ...gateway.workerPids()];
    process.send?.({ pids, directories: [directory] } satisfies Leftovers);
    await new Promise((resolve) => setTimeout(resolve, 2 ** 30));
  });
}
