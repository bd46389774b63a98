// The servers and compositions in memory, shared by every part of one control plane. Callers that need the latest state
// call `sync` first.
import type { RecordStore } from '../../store/index.js';
import { CompositionDirectory } from '../compositions/composition-directory.js';
import { ServerDirectory } from './server-directory.js';
import { RecordMirror } from '../mirror/record-mirror.js';

export class Directory {
  readonly servers = new ServerDirectory();
  readonly compositions = new CompositionDirectory();
  readonly #mirror: RecordMirror;

  constructor(records: RecordStore) {
    this.#mirror = new RecordMirror(records, [this.servers, this.compositions]);
  }

  /** Resolves when everything that was stored before this call is known. */
  async sync(): Promise<void> {
    await this.#mirror.sync();
  }
}
