// The only module that knows both stores of user configs. Loads only the one that the options name.
import type { StoreOptions } from '../config/dataplane-options.js';
import type { ConfigStore } from './config-store.js';

/**
 * @param isMade whether to create an embedded store that does not exist.
 * @returns `undefined` when there is no store. Rejects with a `ConfigStoreFault`.
 */
export async function openConfigStore(options: StoreOptions, isMade: boolean): Promise<ConfigStore | undefined> {
  switch (options.kind) {
    case 'embedded':
      return (await import('./embedded-config-store.js')).EmbeddedConfigStore.open(options.path, isMade);
    case 'redis':
      return (await import('./redis-config-store.js')).RedisConfigStore.open(options);
  }
}
