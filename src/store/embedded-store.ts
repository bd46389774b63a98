// The record store on this machine: databases in one LMDB folder, which other processes may have open. Swaps rely on LMDB's having one
// writer at a time across all processes; a read sees all that was committed before it.
import { isUtf8 } from 'node:buffer';
import type { Database, RootDatabase } from 'lmdb';
import {
  RECORDS_AT_ONCE_MAX,
  RECORD_CHANGES_KEPT,
  AFTER_UTF8,
  encodeRecordKey,
  assertOneRedisSlot,
  RecordStoreFault,
  type RecordChange,
  type RecordChanges,
  type RecordKey,
  type RecordStore,
} from './record-store.js';
import { limits, RecentMap } from '../shared/index.js';
import { StoreCounts, type Store, type StoreRead, encodeStoreKey, missing, unencodable } from './store.js';
import { closeRoot, findCommitError, openDatabase, openRoot } from './embedded-databases.js';

type NameSpace = RecordKey['space'];

export class EmbeddedRecords implements RecordStore {
  readonly kind = 'embedded';
  readonly location: string;
  readonly #root: RootDatabase;
  readonly #databases: Readonly<Record<NameSpace, Database<Buffer, Buffer>>>;
  /** The log of changes: keys of changed records, by position (eight bytes). */
  readonly #changes: Database<Buffer, Buffer>;

  /** Opens the folder, creating it for its owner alone when it does not exist. Throws when it cannot be used. */
  constructor(path: string) {
    this.location = `the embedded store in ${path}`;
    this.#root = openRoot(path);
    this.#databases = {
      records: openDatabase(this.#root, 'records'),
      'user-configs': openDatabase(this.#root, 'user-configs'),
      publications: openDatabase(this.#root, 'publications'),
    };
    this.#changes = openDatabase(this.#root, 'changes');
  }

  async read(key: RecordKey): Promise<Buffer | undefined> {
    const bytes = encodeRecordKey(key);
    return this.#attempt(() => this.currentDatabase(key.space).getBinary(bytes));
  }

  async readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    return this.#attempt(() => {
      const database = this.currentDatabase('records');
      return keys.map((key) => database.getBinary(encodeRecordKey({ space: 'records', key })));
    });
  }

  async listKeys(prefix: string, after: string, countMax: number): Promise<string[]> {
    const end = Buffer.concat([Buffer.from(prefix), AFTER_UTF8]);
    const keys = await this.#keysAfter('records', Buffer.from(after), countMax, { start: Buffer.from(prefix), end });
    return keys.map((key) => key.toString());
  }

  async *subjects(): AsyncGenerator<readonly string[]> {
    for (let after = Buffer.alloc(0); ;) {
      const keys = await this.#keysAfter('user-configs', after, RECORDS_AT_ONCE_MAX, {});
      if (keys.length === 0) return;
      after = keys.at(-1)!;
      yield keys.filter((key) => isUtf8(key)).map((key) => key.toString());
    }
  }

  /** Lists keys after the given one, in byte order. @param after empty to start at the first key of the range. */
  async #keysAfter(space: NameSpace, after: Buffer, countMax: number, range: { start?: Buffer; end?: Buffer }) {
    return this.#attempt(() => {
      const start = after.length === 0 ? range.start : after;
      // The limit is one more, because the range includes its start key.
      const bounds = { ...range, ...(start !== undefined && { start }), limit: countMax + 1 };
      const keys = Array.from(this.currentDatabase(space).getKeys(bounds), (key) => Buffer.from(key));
      return keys.filter((key) => !key.equals(after)).slice(0, countMax);
    });
  }

  async swap(changes: readonly RecordChange[]): Promise<boolean> {
    assertOneRedisSlot(changes);
    const keyed = changes.map((change) => ({ ...change, bytes: encodeRecordKey(change) }));
    return this.#commit(() => {
      const isAsExpected = keyed.every(({ space, bytes, expected }) =>
        isSameValue(this.#databases[space].getBinary(bytes), expected),
      );
      if (!isAsExpected) return false;
      for (const { space, bytes, value, isLogged = false } of keyed) {
        if (value === undefined) this.#databases[space].removeSync(bytes);
        else this.#databases[space].putSync(bytes, value);
        if (isLogged) this.#logChange(bytes);
      }
      return true;
    });
  }

  /** Stores a value, which is durable when this resolves. */
  async put(key: RecordKey, value: Buffer): Promise<void> {
    const bytes = encodeRecordKey(key);
    await this.#commit(() => this.#databases[key.space].putSync(bytes, value));
  }

  async readChanges(position: string): Promise<RecordChanges> {
    return this.#attempt(() => {
      this.#changes.resetReadTxn();
      const last = this.#lastPosition();
      const known = position === '' ? -1 : Number(position);
      // The log has one entry for each of the last `RECORD_CHANGES_KEPT` positions. What was changed before them is unknown.
      const isUnknown = !(known >= 0 && known <= last) || last - known > RECORD_CHANGES_KEPT;
      if (isUnknown) return { position: String(last), keys: 'unknown' };
      const range = this.#changes.getRange({ start: positionKey(known + 1), end: positionKey(last + 1) });
      const keys = Array.from(range, ({ value }) => value.toString());
      return { position: String(last), keys };
    });
  }

  async ping(): Promise<boolean> {
    try {
      this.currentDatabase('records').getBinary(AFTER_UTF8);
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await closeRoot(this.#root);
  }

  /** The database with all commits of other processes: without the reset, lmdb reuses a read snapshot for about a millisecond. */
  currentDatabase(space: NameSpace): Database<Buffer, Buffer> {
    const database = this.#databases[space];
    database.resetReadTxn();
    return database;
  }

  /** Adds the key to the log of changes. Must run within a transaction. */
  #logChange(key: Buffer): void {
    const position = this.#lastPosition() + 1;
    this.#changes.putSync(positionKey(position), key);
    if (position > RECORD_CHANGES_KEPT) this.#changes.removeSync(positionKey(position - RECORD_CHANGES_KEPT));
  }

  #lastPosition(): number {
    for (const key of this.#changes.getKeys({ reverse: true, limit: 1 })) return Number(key.readBigUInt64BE());
    return 0;
  }

  /** Commits a change, which is durable when this resolves: LMDB flushes before it commits (`OPEN_OPTIONS`). */
  async #commit<Answer>(change: () => Answer): Promise<Answer> {
    // A child transaction, because only this kind is rolled back when the change throws.
    return this.#attempt(() => this.#root.childTransaction(change));
  }

  async #attempt<Answer>(action: () => Answer | Promise<Answer>): Promise<Answer> {
    try {
      return await action();
    } catch (error) {
      const cause = await findCommitError(error);
      const advice = 'make sure that this user may write there and that the disk is not full, and try again';
      throw new RecordStoreFault(`${this.location} failed: ${cause.message}; ${advice}`, { cause });
    }
  }
}

function isSameValue(stored: Buffer | undefined, expected: Buffer | undefined): boolean {
  return stored === undefined || expected === undefined ? stored === expected : stored.equals(expected);
}

function positionKey(position: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(position));
  return key;
}

// The store as the dataplane reads it, in the folder of `EmbeddedRecords`. Each read looks at the folder; the cache only avoids copying a
// value that has not changed. Hot path.

/** The value that was last read under a name. */
interface CachedRead {
  readonly key: Buffer;
  readonly read: { readonly kind: 'found'; readonly value: Buffer };
}

export class EmbeddedStore implements Store {
  readonly #counts: StoreCounts;
  readonly #records: EmbeddedRecords;
  readonly #cachedReads = { 'user-configs': createReadCache(), records: createReadCache() };

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
    const reads = this.#cachedReads[space];
    const known = reads.get(name);
    const key = known?.key ?? encodeStoreKey(name);
    if (key === undefined) return unencodable;
    try {
      const volatile = this.#records.currentDatabase(space).getBinaryFast(key);
      if (volatile === undefined) return missing;
      // lmdb's buffer is overwritten by the next read, and may be longer than the value.
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

function createReadCache(): RecentMap<CachedRead> {
  return new RecentMap(limits.cacheEntriesMax, limits.cacheBytesMax, ({ key, read }) => key.length + read.value.length);
}
