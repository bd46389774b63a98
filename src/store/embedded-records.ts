// The record store inside the machine: two databases of the LMDB folder that the dataplane reads, too. LMDB has one
// writer at a time over all processes, and that is all a swap needs.
import type { Database, RootDatabase } from 'lmdb';
import { openDatabase, openRoot } from './embedded-databases.js';
import { encodeRecordKey } from './record-key.js';
import {
  RecordStoreFault,
  type RecordChange,
  type RecordKey,
  type RecordStore,
  type StoredRecord,
} from './record-store.js';

/** Follows every key with the same prefix: it is never part of UTF-8. */
const AFTER_UTF8 = Buffer.from([0xff]);

export class EmbeddedRecords implements RecordStore {
  readonly kind = 'embedded';
  readonly #root: RootDatabase;
  readonly #databases: Readonly<Record<RecordKey['space'], Database<Buffer, Buffer>>>;

  /** Opens the folder, and makes it, for its owner alone, when it is not there. Throws when it cannot be used. */
  constructor(path: string) {
    this.#root = openRoot(path);
    this.#databases = {
      records: openDatabase(this.#root, 'records'),
      'user-configs': openDatabase(this.#root, 'user-configs'),
    };
  }

  async read(key: RecordKey): Promise<Buffer | undefined> {
    const bytes = encodeRecordKey(key);
    return attempt(() => this.#committed(key.space).getBinary(bytes));
  }

  async list(prefix: string): Promise<StoredRecord[]> {
    const start = Buffer.from(prefix);
    return attempt(() => {
      const range = this.#committed('records').getRange({ start, end: Buffer.concat([start, AFTER_UTF8]) });
      return Array.from(range, ({ key, value }) => ({ key: key.toString(), value }));
    });
  }

  async swap(changes: readonly RecordChange[]): Promise<boolean> {
    const keyed = changes.map((change) => ({ ...change, bytes: encodeRecordKey(change) }));
    return attempt(async () => {
      const isDone = await this.#root.transaction(() => {
        const holds = keyed.every(({ space, bytes, expected }) =>
          isSame(this.#databases[space].getBinary(bytes), expected),
        );
        if (!holds) return false;
        for (const { space, bytes, value } of keyed) {
          if (value === undefined) this.#databases[space].removeSync(bytes);
          else this.#databases[space].putSync(bytes, value);
        }
        return true;
      });
      // The commit is visible to every process by now; this waits until it is on the disk.
      if (isDone) await this.#root.flushed;
      return isDone;
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

  async close(): Promise<void> {
    await this.#root.close();
  }

  /** Left alone, lmdb reads from one snapshot for a while; this way what another process committed is seen. */
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
    throw new RecordStoreFault('the embedded store failed', { cause: error });
  }
}

function isSame(stored: Buffer | undefined, expected: Buffer | undefined): boolean {
  return stored === undefined || expected === undefined ? stored === expected : stored.equals(expected);
}
