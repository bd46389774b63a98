// Records of the sessions of one slot, for as long as the gateway runs: in files of a folder that the slot's workers have to
// themselves. A few bytes that are read and written where they lie cost a fraction of what a file of its own takes for each, or a
// database with a thread of its own, and nobody ever waits for a lock. Cold: a few times a session.
import { join } from 'node:path';
import { limits } from '../shared/limits.js';
import { makeDirectory } from '../shared/make-directory.js';
import { RecordCells, type RecordPlace } from './record-cells.js';
import type { SealedSession, SealedSessions } from './sealed-sessions.js';

/** A page; what many backends or subscriptions take; and the longest record there is, with its seal. What is not written takes no room. */
const CELL_BYTES = [4_096, 32_768, limits.sessionRecordBytesMax + 4_096] as const;

/**
 * Two workers share the folder while one replaces the other, and a session is used by one of them: by its successor once that
 * has read it. Their writes are held against each other by what the files say just before, which is enough for that.
 */
export class FileSessions implements SealedSessions {
  readonly isShared = false;
  /** Every read looks at the files: nothing has to be told. */
  onChanged: SealedSessions['onChanged'] = undefined;
  readonly #folder: string;
  readonly #sizes: readonly RecordCells[];
  readonly #tidyTimer: NodeJS.Timeout;

  /** Opens the folder, and makes it, for its owner alone, when it is not there. Throws when it cannot be used. */
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
    // Whoever reads in between finds both, and takes the later.
    before?.cells.setExpiry(before, 0);
    return true;
  }

  async renew(key: Buffer, lifeMs: number): Promise<boolean> {
    const place = this.#find(key);
    place?.cells.setExpiry(place, Date.now() + lifeMs);
    return place !== undefined;
  }

  /** Nobody else has it: no mark is needed, and what life it has left does not count. */
  async remove(key: Buffer): Promise<boolean> {
    const place = this.#find(key);
    place?.cells.setExpiry(place, 0);
    return place !== undefined;
  }

  async close(): Promise<void> {
    clearInterval(this.#tidyTimer);
    for (const cells of this.#sizes) cells.close();
  }

  /** The latest record of that key; none is left beside it. */
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
      // Somebody may have tidied the temporary directory.
      this.#makeFolder();
    } catch {
      // Whoever reads or writes next says so.
    }
  }

  #makeFolder(): void {
    makeDirectory(this.#folder);
  }
}
