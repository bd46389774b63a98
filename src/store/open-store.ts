// The only module that knows both stores. Loads only the one that the options name: the other's client would be a quarter of a worker's
// start-up time.
import type { StoreOptions } from '../config/dataplane-options.js';
import type { Logger } from '../shared/logger.js';
import type { StoreCounts } from './store-counts.js';
import type { Store, StoreObstacles } from './store.js';

/**
 * Opens the store that the options name. Rejects when an embedded store cannot be used. Waits for an unreachable Redis no longer than one
 * connection attempt: the store opens, its reads fail, and it keeps trying to connect.
 */
export async function openStore(
  options: StoreOptions,
  logger: Logger,
  onObstacle?: StoreObstacles,
  counts?: StoreCounts,
): Promise<Store> {
  switch (options.kind) {
    case 'embedded':
      return openEmbedded(options.path, counts);
    case 'redis':
      return (await import('./redis-store.js')).RedisStore.open(options, logger, onObstacle, counts);
  }
}

/** Adds the path and advice to LMDB's message, which names no path and hints at a read-only file system only by the failed operation. */
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
