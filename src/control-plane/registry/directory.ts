// The servers and compositions in memory, shared by all parts of one control plane. They follow the store's change log, so
// that an update costs one request however many records there are. If too many changes were missed, all records are read.
import { CoalescedRuns } from '../../fair/index.js';
import { walkRecords, type RecordStore } from '../../store/index.js';
import { CompositionDirectory } from '../compositions/composition-directory.js';
import { ServerDirectory } from './server-directory.js';

export class Directory {
  readonly servers = new ServerDirectory();
  readonly compositions = new CompositionDirectory();
  readonly #mirrors = [this.servers, this.compositions];
  readonly #records: RecordStore;
  readonly #syncRuns = new CoalescedRuns(() => this.#catchUp());
  #position = '';

  constructor(records: RecordStore) {
    this.#records = records;
  }

  /** Resolves when both directories contain everything that was stored before this call. */
  async sync(): Promise<void> {
    await this.#syncRuns.run('');
  }

  async #catchUp(): Promise<void> {
    // The position is read before the records, so that changes made meanwhile are reported the next time.
    const { position, keys } = await this.#records.readChanges(this.#position);
    if (keys === 'unknown') await this.#readAll();
    else if (keys.length > 0) {
      const changed = [...new Set(keys)].filter((key) => this.#mirrors.some(({ prefix }) => key.startsWith(prefix)));
      const values = await this.#records.readMany(changed);
      for (const [index, key] of changed.entries()) {
        this.#mirrors.find(({ prefix }) => key.startsWith(prefix))?.put(key, values[index]);
      }
    }
    this.#position = position;
  }

  async #readAll(): Promise<void> {
    for (const mirror of this.#mirrors) {
      const gone = new Set(mirror.keys());
      for await (const records of walkRecords(this.#records, mirror.prefix)) {
        for (const { key, value } of records) {
          gone.delete(key);
          mirror.put(key, value);
        }
      }
      for (const key of gone) mirror.put(key, undefined);
    }
  }
}
