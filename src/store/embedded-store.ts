// The store on the local machine: an LMDB folder that every worker and other processes have open. Each read looks at the folder, and sees
// everything that any process committed before; the cache only saves a copy of an unchanged value. Hot path.
import { limits, RecentMap } from '../shared/index.js';
import { EmbeddedRecords } from './embedded-records.js';
import type { RecordKey } from './record-store.js';
import { StoreCounts, type Store, type StoreRead, encodeStoreKey, unencodable } from './store.js';

/** The last value that was read under a name. */
interface Known {
  readonly key: Buffer;
  readonly read: { readonly kind: 'found'; readonly value: Buffer };
}

const missing: StoreRead = Object.freeze({ kind: 'missing' });

export class EmbeddedStore implements Store {
  readonly kind = 'embedded';
  readonly #counts: StoreCounts;
  readonly #records: EmbeddedRecords;
  /** By name space. */
  readonly #known = { 'user-configs': knownReads(), records: knownReads() };

  /** Opens the folder, creating it for its owner alone when it does not exist. Throws when it cannot be used. */
  constructor(path: string, counts = new StoreCounts()) {
    this.#counts = counts;
    this.#records = new EmbeddedRecords(path);
  }

  read(subject: string): StoreRead {
    const read = this.#read('user-configs', subject);
    if (read.kind === 'failed') this.#counts.failed += 1;
    else this.#counts.asked += 1;
    return read;
  }

  readRecord(key: string): StoreRead {
    return this.#read('records', key);
  }

  async swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean> {
    return this.#records.swap([{ space: 'records', key, expected, value }]);
  }

  #read(space: Exclude<RecordKey['space'], 'publications'>, name: string): StoreRead {
    const reads = this.#known[space];
    const known = reads.get(name);
    const key = known?.key ?? encodeStoreKey(name);
    if (key === undefined) return unencodable;
    try {
      const volatile = this.#records.committed(space).getBinaryFast(key);
      if (volatile === undefined) return missing;
      // The buffer lent by lmdb is overwritten by the next read, and may be longer than the value.
      const value = volatile.subarray(0, volatile.length);
      if (known !== undefined && known.read.value.equals(value)) return known.read;
      const read = { kind: 'found', value: Buffer.from(value) } as const;
      reads.set(name, { key, read });
      return read;
    } catch (error) {
      return { kind: 'failed', reason: `the embedded store cannot be read: ${String(error)}`, isForAll: true };
    }
  }

  async write(subject: string, value: Buffer): Promise<void> {
    await this.#records.put({ space: 'user-configs', key: subject }, value);
  }

  /** Does nothing: each read looks at the folder. */
  forget(_subject: string): void {}

  async close(): Promise<void> {
    await this.#records.close();
  }
}

function knownReads(): RecentMap<Known> {
  return new RecentMap(limits.cacheEntriesMax, limits.cacheBytesMax, ({ key, read }) => key.length + read.value.length);
}
