// The store of user configs for whoever writes them by hand: not to serve requests, but to look at one, change it only if it
// is what was seen, and list the subjects. Opened for one command; keys and values are those that the dataplane reads. Cold.
import type { StoreOptions } from '../config/dataplane-options.js';
import { limits } from '../shared/limits.js';
import { encodeStoreKey } from './store-key.js';

/** Its methods reject with a {@link ConfigStoreFault}. */
export interface ConfigStore {
  /** Where it is, for a person. */
  readonly place: string;
  read(subject: string): Promise<Buffer | undefined>;
  /**
   * False, and nothing is changed, when there is anything else than expected; atomic over processes and machines, and durable
   * when it resolves. `undefined` stands for nothing.
   */
  swap(subject: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean>;
  /** Some at a time, in no order; one may come twice while others write. */
  subjects(): AsyncIterable<readonly string[]>;
  close(): Promise<void>;
}

/** The store cannot be used. The message is for a person and names no secret. */
export class ConfigStoreFault extends Error {
  override readonly name = 'ConfigStoreFault';
}

/**
 * @param isMade whether an embedded store that is not there is made.
 * @returns `undefined` when there is none. Rejects with a {@link ConfigStoreFault}.
 */
export async function openConfigStore(options: StoreOptions, isMade: boolean): Promise<ConfigStore | undefined> {
  switch (options.kind) {
    case 'embedded':
      return (await import('./embedded-config-store.js')).EmbeddedConfigStore.open(options.path, isMade);
    case 'redis':
      return (await import('./redis-config-store.js')).RedisConfigStore.open(options);
  }
}

/** Throws a {@link ConfigStoreFault} for a subject without a key. */
export function subjectKey(subject: string): Buffer {
  const key = encodeStoreKey(subject);
  if (key !== undefined) return key;
  throw new ConfigStoreFault(`a subject must have 1 to ${limits.storeKeyBytesMax} bytes of UTF-8`);
}
