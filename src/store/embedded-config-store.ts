// User configs in the embedded store, while a dataplane may have it open: LMDB has one writer at a time across all processes, and the next
// read in any process sees what was committed. Cold path.
import { isUtf8 } from 'node:buffer';
import type { Database, RootDatabase } from 'lmdb';
import { limits } from '../shared/limits.js';
import { damageInWords, findObviousDamage, isEmbeddedThere } from './check-embedded.js';
import { ConfigStoreFault, subjectKey, type ConfigStore } from './config-store.js';
import { commitReason, openDatabase, openRoot } from './embedded-databases.js';

export class EmbeddedConfigStore implements ConfigStore {
  readonly place: string;
  readonly #root: RootDatabase;
  readonly #values: Database<Buffer, Buffer>;

  private constructor(path: string) {
    this.place = `the embedded store in ${path}`;
    this.#root = openRoot(path);
    this.#values = openDatabase(this.#root, 'user-configs');
  }

  static async open(path: string, isMade: boolean): Promise<EmbeddedConfigStore | undefined> {
    if (!isMade && !isEmbeddedThere(path)) return undefined;
    const open = (): EmbeddedConfigStore => {
      const damage = findObviousDamage(path);
      if (damage !== undefined) throw new ConfigStoreFault(damageInWords(path, damage));
      return new EmbeddedConfigStore(path);
    };
    return attempt(`the embedded store in ${path} cannot be opened`, open, OTHER_PLACE);
  }

  async read(subject: string): Promise<Buffer | undefined> {
    return attempt(`${this.place} cannot be read`, () => {
      this.#values.resetReadTxn();
      return this.#values.getBinary(subjectKey(subject));
    });
  }

  async swap(subject: string, expected: Buffer | undefined, value: Buffer | undefined): Promise<boolean> {
    const key = subjectKey(subject);
    return attempt(`${this.place} could not store the change`, async () => {
      const isDone = await this.#root.transaction(() => {
        const stored = this.#values.getBinary(key);
        const isExpected = expected === undefined ? stored === undefined : stored?.equals(expected) === true;
        if (!isExpected) return false;
        if (value === undefined) this.#values.removeSync(key);
        else this.#values.putSync(key, value);
        return true;
      });
      // The commit is already visible to every process; this waits until it is on disk.
      if (isDone) await this.#root.flushed;
      return isDone;
    });
  }

  async *subjects(): AsyncGenerator<readonly string[]> {
    let last: Buffer | undefined;
    for (;;) {
      const found = await attempt(`${this.place} cannot be read`, () => this.#keysFrom(last));
      // The range includes its start key.
      const keys = found.filter((key) => last === undefined || !key.equals(last));
      if (keys.length === 0) return;
      last = keys.at(-1) ?? last;
      yield keys.filter((key) => isUtf8(key)).map((key) => key.toString());
    }
  }

  /** In byte order. */
  #keysFrom(start: Buffer | undefined): Buffer[] {
    this.#values.resetReadTxn();
    const range = { limit: limits.recordsAtOnceMax + 1, ...(start !== undefined && { start }) };
    return Array.from(this.#values.getKeys(range), (key) => Buffer.from(key));
  }

  /** Has a timeout: after a full disk LMDB never closes, because it waits for a write that it has abandoned. Commits are on disk. */
  async close(): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    const isLate = new Promise<void>((resolve) => (late = setTimeout(resolve, limits.embeddedCloseMsMax)));
    await Promise.race([this.#root.close(), isLate]);
    clearTimeout(late);
  }
}

const OTHER_PLACE = 'give --store-path a directory that this user may write';
const TRY_AGAIN = 'make sure that this user may write there and that the disk is not full, and try again';

/** @param remedy what to do if it fails. */
async function attempt<Answer>(
  words: string,
  action: () => Answer | Promise<Answer>,
  remedy = TRY_AGAIN,
): Promise<Answer> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ConfigStoreFault) throw error;
    const cause = await commitReason(error);
    throw new ConfigStoreFault(`${words}: ${cause.message}; ${remedy}`, { cause });
  }
}
