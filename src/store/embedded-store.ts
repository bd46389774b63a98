// The store on the local machine: an LMDB folder that every worker and other processes have open. A read sees everything that any process
// committed before it began, so nothing is ever invalidated; the cache only saves copying. Hot path.
import type { Database, RootDatabase } from 'lmdb';
import { limits } from '../shared/limits.js';
import { commitReason, openDatabase, openRoot } from './embedded-databases.js';
import { StoreCounts, type Store, type StoreRead, encodeStoreKey, unencodable } from './store.js';
import { RecentMap } from '../shared/recent-map.js';

interface Known {
  readonly key: Buffer;
  readonly read: { readonly kind: 'found'; readonly value: Buffer };
}

/** A name space of the folder, with its cache of values read. */
interface Shelf {
  readonly values: Database<Buffer, Buffer>;
  readonly known: RecentMap<Known>;
}

const missing: StoreRead = Object.freeze({ kind: 'missing' });

export class EmbeddedStore implements Store {
  readonly kind = 'embedded';
  readonly #counts: StoreCounts;
  readonly #root: RootDatabase;
  readonly #userConfigs: Shelf;
  readonly #records: Shelf;

  /** Opens the folder, creating it for its owner alone when it does not exist. Throws when it cannot be used. */
  constructor(path: string, counts = new StoreCounts()) {
    this.#counts = counts;
    this.#root = openRoot(path);
    this.#userConfigs = shelfOf(openDatabase(this.#root, 'user-configs'));
    this.#records = shelfOf(openDatabase(this.#root, 'records'));
  }

  read(subject: string): StoreRead {
    const read = this.#read(this.#userConfigs, subject);
    if (read.kind === 'failed') this.#counts.failed += 1;
    else this.#counts.asked += 1;
    return read;
  }

  readRecord(key: string): StoreRead {
    return this.#read(this.#records, key);
  }

  async swapRecord(key: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean> {
    const bytes = encodeStoreKey(key);
    if (bytes === undefined) throw new Error('the key cannot be encoded as a store key');
    const { values } = this.#records;
    try {
      const isDone = await this.#root.transaction(() => {
        const stored = values.getBinary(bytes);
        const isSeen = expected === undefined ? stored === undefined : stored?.equals(expected) === true;
        if (isSeen && value === undefined) values.removeSync(bytes);
        else if (isSeen && value !== undefined) values.putSync(bytes, value);
        return isSeen;
      });
      if (isDone) await this.#root.flushed;
      return isDone;
    } catch (error) {
      throw await commitReason(error);
    }
  }

  #read({ values, known: reads }: Shelf, name: string): StoreRead {
    const known = reads.get(name);
    const key = known?.key ?? encodeStoreKey(name);
    if (key === undefined) return unencodable;
    try {
      // By default lmdb reuses a read snapshot for about a millisecond; without this reset, a commit by another process in that time would
      // not be seen.
      values.resetReadTxn();
      const lent = values.getBinaryFast(key);
      if (lent === undefined) return missing;
      // The buffer lent by lmdb is overwritten by the next read, and may be longer than the value.
      const value = lent.subarray(0, lent.length);
      if (known !== undefined && known.read.value.equals(value)) return known.read;
      const read = { kind: 'found', value: Buffer.from(value) } as const;
      reads.set(name, { key, read });
      return read;
    } catch (error) {
      return { kind: 'failed', reason: `the embedded store cannot be read: ${String(error)}`, isForAll: true };
    }
  }

  async write(subject: string, value: Buffer): Promise<void> {
    const key = encodeStoreKey(subject);
    if (key === undefined) throw new Error('the subject cannot be encoded as a store key');
    try {
      await this.#userConfigs.values.put(key, value);
    } catch (error) {
      throw await commitReason(error);
    }
    // The commit is already visible to every process; this waits until it is on disk.
    await this.#userConfigs.values.flushed;
  }

  /** Nothing to do: each read looks at the store. */
  forget(_subject: string): void {}

  async close(): Promise<void> {
    await this.#root.close();
  }
}

function shelfOf(values: Database<Buffer, Buffer>): Shelf {
  const known = new RecentMap<Known>(
    limits.storeCacheEntriesMax,
    limits.storeCacheBytesMax,
    ({ key, read }) => key.length + read.value.length,
  );
  return { values, known };
}
