// The store of user configs for people who edit them by hand: it serves no requests, but reads one config, changes it only if it is still
// as it was read, and lists the subjects. Opened for a single command; keys and values are those that the dataplane reads. Cold path.
import { limits } from '../shared/limits.js';
import { encodeStoreKey } from './store.js';

/** Its methods reject with a {@link ConfigStoreFault}. */
export interface ConfigStore {
  /** The location of the store, for a person. */
  readonly place: string;
  read(subject: string): Promise<Buffer | undefined>;
  /**
   * Resolves to false, without a change, when the stored value is not the expected one. Atomic across processes and machines, and durable
   * when it resolves. `undefined` stands for no value.
   */
  swap(subject: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean>;
  /** In batches, in no order; a subject may appear twice when others write meanwhile. */
  subjects(): AsyncIterable<readonly string[]>;
  close(): Promise<void>;
}

/** The store cannot be used. The message is for a person and names no secret. */
export class ConfigStoreFault extends Error {
  override readonly name = 'ConfigStoreFault';
}

/** Throws a {@link ConfigStoreFault} for a subject that has no valid key. */
export function subjectKey(subject: string): Buffer {
  const key = encodeStoreKey(subject);
  if (key !== undefined) return key;
  throw new ConfigStoreFault(`a subject must have 1 to ${limits.storeKeyBytesMax} bytes of UTF-8`);
}
