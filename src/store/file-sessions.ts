// Records of the sessions of one slot, kept while the gateway runs, in files of a folder that only the slot's workers use. Reading and
// writing a few bytes in place costs a fraction of a file per record, or of a database with its own thread, and never waits for a lock.
// Cold path: a few times per session.
import { join } from 'node:path';
import { limits } from '../shared/limits.js';
import { makeDirectory } from '../shared/make-directory.js';
import { RecordCells, type RecordPlace } from './record-cells.js';
import type { SealedSession, SealedSessions } from './sealed-sessions.js';

/** Size classes: a page; many backends or subscriptions; the longest record, sealed. Unwritten cells take no disk space. */
const CELL_BYTES = [4_096, 32_768, limits.sessionRecordBytesMax + 4_096] as const;

/**
 * Two workers share the folder while one replaces the other, but each session is used by only one of them: by the successor once it has
 * read the session's record. Each write is therefore checked only against what the files say just before it, without a lock.
 */
export class FileSessions implements SealedSessions {
  readonly isShared = false;
  /** Never called: every read looks at the files. */
  onChanged: SealedSessions['onChanged'] = undefined;
  readonly #folder: string;
  readonly #sizes: readonly RecordCells[];
  readonly #tidyTimer: NodeJS.Timeout;

  /** Opens the folder, creating it for its owner alone when it does not exist. Throws when it cannot be used. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#makeFolder();
    this.#sizes = CELL_BYTES.map((bytes) => new RecordCells(join(folder, String(bytes)), bytes));
    this.#tidyTimer = setInterval(() => this.#tidy(), limits.sessionRecordSweepMs).unref();
  }

  read(key: Buffer): SealedSession | undefined {
    for (const cells of this.#sizes) cells.openOthers();
    const place = this.#find(key);
    const bytes = place?.cells.body(place);
    return place && bytes && { version: place.version, bytes };
  }

  async write(key: Buffer, { version, bytes }: SealedSession, lifeMs: number): Promise<boolean> {
    const cells = this.#sizes.find((each) => bytes.length <= each.cellBytes);
    if (cells === undefined) throw new Error('the record of a session is too long');
    const before = this.#find(key);
    if ((before?.version ?? 0) !== version - 1) return false;
    cells.put(key, version, bytes, Date.now() + lifeMs);
    // A reader in between finds both records, and takes the later one.
    before?.cells.setExpiry(before, 0);
    return true;
  }

  async renew(key: Buffer, lifeMs: number): Promise<boolean> {
    const place = this.#find(key);
    place?.cells.setExpiry(place, Date.now() + lifeMs);
    return place !== undefined;
  }

  /** No other process has the record, so it leaves no mark, and its remaining life does not matter. */
  async remove(key: Buffer): Promise<boolean> {
    const place = this.#find(key);
    place?.cells.setExpiry(place, 0);
    return place !== undefined;
  }

  async close(): Promise<void> {
    clearInterval(this.#tidyTimer);
    for (const cells of this.#sizes) cells.close();
  }

  /** The latest record of the key; frees any older ones. */
  #find(key: Buffer): RecordPlace | undefined {
    const places: RecordPlace[] = [];
    for (const cells of this.#sizes) cells.collect(key, places);
    let latest = places[0];
    for (const place of places) if (latest === undefined || place.version > latest.version) latest = place;
    if (places.length > 1) for (const place of places) if (place !== latest) place.cells.setExpiry(place, 0);
    return latest;
  }

  #tidy(): void {
    try {
      for (const cells of this.#sizes) cells.tidy();
      // A cleanup of the temporary directory may have removed the folder.
      this.#makeFolder();
    } catch {
      // The next read or write reports the failure.
    }
  }

  #makeFolder(): void {
    makeDirectory(this.#folder);
  }
}
