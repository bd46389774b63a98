// The one place that knows both stores. It loads the one that is asked for: the client of the other would be a quarter of
// what it takes to start a worker.
import type { StoreOptions } from '../config/dataplane-options.js';
import type { Logger } from '../shared/logger.js';
import type { StoreCounts } from './store-counts.js';
import type { Store } from './store.js';

/**
 * Opens the store that the options name. Rejects when an embedded store cannot be used. A Redis that cannot be reached
 * is waited for no longer than one attempt to connect: the store opens, its reads fail, and it heals.
 * @param onObstacle hears why nothing can be read from then on, and `''` when it can again.
 */
export async function openStore(
  options: StoreOptions,
  logger: Logger,
  onObstacle?: (obstacle: string) => void,
  counts?: StoreCounts,
): Promise<Store> {
  switch (options.kind) {
    case 'embedded':
      return openEmbedded(options.path, counts);
    case 'redis':
      return (await import('./redis-store.js')).RedisStore.open(options, logger, onObstacle, counts);
  }
}

/** LMDB's own words name no path, and a file system that is read-only only by what LMDB was about to do. */
async function openEmbedded(path: string, counts: StoreCounts | undefined): Promise<Store> {
  const { EmbeddedStore } = await import('./embedded-store.js');
  try {
    return new EmbeddedStore(path, counts);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const advice = 'give --store-path a directory that this user may write: readers write there, too';
    throw new Error(`the embedded store in ${path} cannot be opened: ${reason}; ${advice}`, { cause: error });
  }
}
