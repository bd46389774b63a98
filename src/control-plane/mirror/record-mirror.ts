// The control plane's copy of the records in memory, updated from the change log: bringing it up to date costs one
// request to the store, however many records there are. If it has missed too many changes, it reads all records again.
import { walkRecords, type RecordStore } from '../../store/index.js';
import { FreshRuns } from './fresh-runs.js';
import type { NamedMirror } from './named-mirror.js';

type Mirrored = Pick<NamedMirror<never>, 'prefix' | 'keys' | 'put'>;

export class RecordMirror {
  readonly #records: RecordStore;
  readonly #mirrored: readonly Mirrored[];
  readonly #runs = new FreshRuns(() => this.#catchUp());
  #position = '';

  constructor(records: RecordStore, mirrored: readonly Mirrored[]) {
    this.#records = records;
    this.#mirrored = mirrored;
  }

  /** Resolves when everything that was stored before this call is known. */
  async sync(): Promise<void> {
    await this.#runs.run('');
  }

  async #catchUp(): Promise<void> {
    // The position is read before the records: changes made meanwhile are reported the next time.
    const { position, keys } = await this.#records.readChanges(this.#position);
    if (keys === 'unknown') await this.#readAll();
    else if (keys.length > 0) await this.#readSome([...new Set(keys)]);
    this.#position = position;
  }

  async #readSome(changed: readonly string[]): Promise<void> {
    const keys = changed.filter((key) => this.#mirrored.some(({ prefix }) => key.startsWith(prefix)));
    const values = await this.#records.readMany(keys);
    for (const [index, key] of keys.entries()) {
      this.#mirrored.find(({ prefix }) => key.startsWith(prefix))?.put(key, values[index]);
    }
  }

  async #readAll(): Promise<void> {
    for (const mirrored of this.#mirrored) {
      const gone = new Set(mirrored.keys());
      for await (const records of walkRecords(this.#records, mirrored.prefix)) {
        for (const { key, value } of records) {
          gone.delete(key);
          mirrored.put(key, value);
        }
      }
      for (const key of gone) mirrored.put(key, undefined);
    }
  }
}
