// The only module that knows both record stores. Loads only the one that the options name.
import type { StoreOptions } from '../config/dataplane-options.js';
import type { Logger } from '../shared/logger.js';
import { checkEmbedded } from './check-embedded.js';
import type { RecordStore } from './record-store.js';

/**
 * Opens the record store that the options name. Rejects when an embedded store cannot be used. Waits for an unreachable Redis no longer
 * than one connection attempt: the store opens, its methods reject, and it keeps trying to connect.
 */
export async function openRecordStore(options: StoreOptions, logger: Logger): Promise<RecordStore> {
  switch (options.kind) {
    case 'embedded':
      await checkEmbedded(options.path);
      return (await import('./embedded-records.js')).EmbeddedRecords.open(options.path);
    case 'redis':
      return (await import('./redis-records.js')).RedisRecords.open(options, logger);
  }
}
