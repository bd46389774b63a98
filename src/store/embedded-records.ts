// The record store on the local machine: databases in the LMDB folder that the dataplane also reads. LMDB has one writer at a time across
// all processes, which is all that a swap needs.
import type { Database, RootDatabase } from 'lmdb';
import { limits } from '../shared/limits.js';
import { commitReason, openDatabase, openRoot } from './embedded-databases.js';
import {
  encodeRecordKey,
  assertOnePlace,
  RecordStoreFault,
  type RecordChange,
  type RecordChanges,
  type RecordKey,
  type RecordStore,
} from './record-store.js';

/** Appended to a prefix, sorts after every key with that prefix: this byte never occurs in UTF-8. */
const AFTER_UTF8 = Buffer.from([0xff]);

export class EmbeddedRecords implements RecordStore {
  readonly kind = 'embedded';
  readonly #root: RootDatabase;
  readonly #databases: Readonly<Record<RecordKey['space'], Database<Buffer, Buffer>>>;
  /** Keys of changed records, by position (an eight-byte number). */
  readonly #changes: Database<Buffer, Buffer>;

  /** Opens the folder, creating it for its owner alone when it does not exist. Throws when it cannot be used. */
  constructor(path: string) {
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
    return attempt(() => this.#committed(key.space).getBinary(bytes));
  }

  async readMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    return attempt(() => {
      const database = this.#committed('records');
      return keys.map((key) => database.getBinary(encodeRecordKey({ space: 'records', key })));
    });
  }

  async listKeys(prefix: string, after: string, countMax: number): Promise<string[]> {
    return attempt(() => {
      const start = Buffer.from(after === '' ? prefix : after);
      const end = Buffer.concat([Buffer.from(prefix), AFTER_UTF8]);
      // One more than asked for, because the range includes its start key.
      const range = this.#committed('records').getKeys({ start, end, limit: countMax + 1 });
      const keys = Array.from(range, (key) => key.toString());
      return keys.filter((key) => key !== after).slice(0, countMax);
    });
  }

  async swap(changes: readonly RecordChange[]): Promise<boolean> {
    assertOnePlace(changes);
    const keyed = changes.map((change) => ({ ...change, bytes: encodeRecordKey(change) }));
    return attempt(async () => {
      const isDone = await this.#root.transaction(() => {
        const holds = keyed.every(({ space, bytes, expected }) =>
          isSame(this.#databases[space].getBinary(bytes), expected),
        );
        if (!holds) return false;
        for (const { space, bytes, value, isTold = false } of keyed) {
          if (value === undefined) this.#databases[space].removeSync(bytes);
          else this.#databases[space].putSync(bytes, value);
          if (isTold) this.#tell(bytes);
        }
        return true;
      });
      // The commit is already visible to every process; this waits until it is on disk.
      if (isDone) await this.#root.flushed;
      return isDone;
    });
  }

  async readChanges(position: string): Promise<RecordChanges> {
    return attempt(() => {
      this.#changes.resetReadTxn();
      const last = this.#lastPosition();
      const known = position === '' ? -1 : Number(position);
      // Each position has one entry, so the log goes back `recordChangesKept` positions.
      const isUnknown = !(known >= 0 && known <= last) || last - known > limits.recordChangesKept;
      if (isUnknown || known === last) return { position: String(last), keys: isUnknown ? 'unknown' : [] };
      const range = this.#changes.getRange({ start: positionKey(known + 1), end: positionKey(last + 1) });
      const keys = Array.from(range, ({ value }) => value.toString());
      return { position: String(last), keys };
    });
  }

  async ping(): Promise<boolean> {
    try {
      this.#committed('records').getBinary(AFTER_UTF8);
      return true;
    } catch {
      return false;
    }
  }

  /** Has a timeout: after a full disk LMDB never closes, because it waits for a write that it has abandoned. Commits are on disk. */
  async close(): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    const isLate = new Promise<void>((resolve) => (late = setTimeout(resolve, limits.embeddedCloseMsMax)));
    await Promise.race([this.#root.close(), isLate]);
    clearTimeout(late);
  }

  /** Appends a key to the log of changes; must run within a transaction. */
  #tell(key: Buffer): void {
    const position = this.#lastPosition() + 1;
    this.#changes.putSync(positionKey(position), key);
    if (position > limits.recordChangesKept) this.#changes.removeSync(positionKey(position - limits.recordChangesKept));
  }

  #lastPosition(): number {
    for (const key of this.#changes.getKeys({ reverse: true, limit: 1 })) return Number(key.readBigUInt64BE());
    return 0;
  }

  /** By default lmdb reuses a read snapshot for a while; resetting it makes commits of other processes visible. */
  #committed(space: RecordKey['space']): Database<Buffer, Buffer> {
    const database = this.#databases[space];
    database.resetReadTxn();
    return database;
  }
}

async function attempt<Answer>(action: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await action();
  } catch (error) {
    throw new RecordStoreFault('the embedded store failed', { cause: await commitReason(error) });
  }
}

function isSame(stored: Buffer | undefined, expected: Buffer | undefined): boolean {
  return stored === undefined || expected === undefined ? stored === expected : stored.equals(expected);
}

function positionKey(position: number): Buffer {
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(position));
  return key;
}
