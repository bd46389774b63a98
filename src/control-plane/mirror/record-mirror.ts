// What a control plane keeps in memory of the records, brought up to date from the log of changes: asking for what it
// knows costs one question to the store, however many records there are. What it missed too much of it reads anew.
import { walkRecords } from '../../store/record-walk.js';
import type { RecordStore } from '../../store/record-store.js';
import { FreshRuns } from './fresh-runs.js';

/** Records with one prefix, in the form in which they are needed. */
export interface Mirrored {
  /** With its slash. */
  readonly prefix: string;
  readonly keys: () => Iterable<string>;
  /** @param value `undefined` when there is no such record any more. */
  put(key: string, value: Buffer | undefined): void;
}

export class RecordMirror {
  readonly #records: RecordStore;
  readonly #mirrored: readonly Mirrored[];
  readonly #runs = new FreshRuns(() => this.#catchUp());
  #position = '';

  constructor(records: RecordStore, mirrored: readonly Mirrored[]) {
    this.#records = records;
    this.#mirrored = mirrored;
  }

  /** Resolved when everything that was stored before this call is known. */
  async sync(): Promise<void> {
    await this.#runs.run('');
  }

  async #catchUp(): Promise<void> {
    // Asked before anything is read: what changes meanwhile is told the next time.
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
