// Records of sessions on this machine, in an LMDB folder that all workers, or those of one slot, have open. Each value begins with its
// expiry time. Expired entries are removed a few at a time. Cold path: a few times per session.
import { randomBytes } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';
import { hasEmbeddedStore } from './check-embedded.js';
import { closeRoot, findCommitError, openRoot } from './embedded-databases.js';
import type { SealedRead, SealedSession, SealedSessions } from './sealed-sessions.js';

/** Interval between sweeps for expired records, which are never served. */
export const SESSION_SWEEP_MS = 10_000;

/** Pause after a failed commit, for example on a full disk. During the pause, all writes fail without an attempt. */
const SESSION_WRITE_PAUSE_MS = 1_000;
/** Shortest interval between commits: a commit of many changes costs little more than a commit of one change. */
export const SESSION_COMMIT_MS = 10;
/** Records that a sweep checks in one step, in about a millisecond. */
const SESSION_RECORDS_PER_STEP = 256;
/** Pause between steps. A sweep checks 5,000 records a second, so that a client that keeps opening sessions cannot fill the folder. */
const SWEEP_PAUSE_MS = 50;

const EXPIRY_BYTES = 8;
/** The version of the mark that stands in place of a removed record; versions of records begin at 1. */
const MARK_VERSION = 0;
const KEY_BYTES = 32;
const NO_BYTES = Buffer.alloc(0);

interface WaitingChange {
  /** Makes the change, within a transaction. @returns whether it was made. */
  readonly apply: () => boolean;
  readonly settle: (isMade: boolean) => void;
  readonly fail: (error: Error) => void;
}

export class EmbeddedSessions implements SealedSessions {
  readonly isMultiMachine = false;
  /** Never called here: each read sees what all processes have written. */
  onChanged: SealedSessions['onChanged'];
  readonly #path: string;
  readonly #isFlushed: boolean;
  #root!: RootDatabase;
  #sessions!: Database<Buffer, Buffer>;
  #sweepTimer: NodeJS.Timeout;
  /** Changes for the next commit. */
  #waitingChanges: WaitingChange[] = [];
  #committedAtMs = -Infinity;
  /** The key at which the next step of a sweep starts; random at first, so that processes start at different keys. */
  #sweepStartKey: Buffer = randomBytes(KEY_BYTES);
  /** Why the last write failed; further writes fail with it until `#pausedUntilMs`. */
  #failure = new Error('nothing was written yet');
  #pausedUntilMs = 0;
  #isClosed = false;

  constructor(path: string, isFlushed: boolean) {
    this.#path = path;
    this.#isFlushed = isFlushed;
    this.#open();
    this.#sweepTimer = this.#scheduleSweep(SESSION_SWEEP_MS);
  }

  #open(): void {
    this.#root = openRoot(this.#path, this.#isFlushed);
    const options = { encoding: 'binary', keyEncoding: 'binary', useVersions: true } as const;
    this.#sessions = this.#root.openDB({ name: 'sessions', ...options });
  }

  read(key: Buffer): SealedRead {
    // Without this, lmdb reuses a read snapshot for a while, which hides commits of other processes.
    this.#sessions.resetReadTxn();
    const entry = this.#sessions.getEntry(key);
    if (entry?.version === undefined) return undefined;
    if (isExpired(entry.value)) return undefined;
    if (entry.value.length === EXPIRY_BYTES) return 'ended';
    return { version: entry.version, bytes: entry.value.subarray(EXPIRY_BYTES) };
  }

  write(key: Buffer, { version, bytes }: SealedSession, lifeMs: number): Promise<boolean> {
    return this.#queueChange(() => {
      const before = this.#sessions.getEntry(key);
      const isNext = version > 1 ? before?.version === version - 1 : before === undefined || isExpired(before.value);
      if (isNext) this.#sessions.putSync(key, encodeValue(bytes, lifeMs), version);
      return isNext;
    });
  }

  renew(key: Buffer, lifeMs: number): Promise<boolean> {
    return this.#queueChange(() => {
      const present = this.read(key);
      if (typeof present !== 'object') return false;
      this.#sessions.putSync(key, encodeValue(present.bytes, lifeMs), present.version);
      return true;
    });
  }

  remove(key: Buffer, markMs: number): Promise<boolean> {
    return this.#queueChange(() => {
      this.#sessions.putSync(key, encodeValue(NO_BYTES, markMs), MARK_VERSION);
      return true;
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#sweepTimer);
    this.#isClosed = true;
    void this.#commit();
    await closeRoot(this.#root);
  }

  /** Queues a change. All changes of one turn of the event loop share a commit, at least `SESSION_COMMIT_MS` after the last one. */
  #queueChange(apply: () => boolean): Promise<boolean> {
    return new Promise((settle, fail) => {
      if (this.#waitingChanges.push({ apply, settle, fail }) > 1) return;
      const commit = (): void => void this.#commit();
      const waitMs = this.#committedAtMs + SESSION_COMMIT_MS - performance.now();
      if (waitMs > 0) setTimeout(commit, waitMs);
      else setImmediate(commit);
    });
  }

  /** Commits the waiting changes. Rejects them in the pause after a failure, because lmdb prints an error for each failed commit. */
  async #commit(): Promise<void> {
    const due = this.#waitingChanges;
    if (due.length === 0) return;
    this.#waitingChanges = [];
    this.#committedAtMs = performance.now();
    if (this.#committedAtMs >= this.#pausedUntilMs) {
      try {
        const applyAll = (): (boolean | Error)[] => due.map(outcomeOf);
        const outcomes = await (this.#isFlushed
          ? this.#root.transaction(applyAll)
          : this.#root.transactionSync(applyAll));
        for (const [at, { settle, fail }] of due.entries()) {
          const outcome = outcomes[at];
          if (outcome instanceof Error) fail(outcome);
          else settle(outcome === true);
        }
        return;
      } catch (error) {
        this.#failure = await findCommitError(error);
        this.#pausedUntilMs = performance.now() + SESSION_WRITE_PAUSE_MS;
      }
    }
    for (const { fail } of due) fail(this.#failure);
  }

  #scheduleSweep(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const isAtEnd = this.#sweepStep();
      if (!this.#isClosed) this.#sweepTimer = this.#scheduleSweep(isAtEnd ? SESSION_SWEEP_MS : SWEEP_PAUSE_MS);
    }, delayMs).unref();
  }

  /** Makes one step of a sweep. @returns whether the sweep has ended. */
  #sweepStep(): boolean {
    try {
      // A cleanup of temporary files may have removed the folder.
      if (!hasEmbeddedStore(this.#path)) this.#open();
      this.#sessions.resetReadTxn();
      const limit = SESSION_RECORDS_PER_STEP;
      const entries = [...this.#sessions.getRange({ start: this.#sweepStartKey, limit })];
      const last = entries.at(-1);
      const isAtEnd = entries.length < limit || last === undefined;
      this.#sweepStartKey = isAtEnd ? Buffer.alloc(KEY_BYTES) : last.key;
      const expired = entries.filter(({ value }) => isExpired(value));
      if (expired.length > 0) this.#queueChange(() => this.#removeExpired(expired)).catch(() => {});
      return isAtEnd;
    } catch {
      // The next read or write reports the failure.
      return true;
    }
  }

  /** Removes those of the records that are still expired: some may have been renewed since the sweep read them. */
  #removeExpired(entries: readonly { readonly key: Buffer }[]): boolean {
    for (const { key } of entries) {
      const value = this.#sessions.get(key);
      if (value !== undefined && isExpired(value)) this.#sessions.removeSync(key);
    }
    return true;
  }
}

/** Makes a change. @returns its error if it throws: the other changes of the transaction are still made. */
function outcomeOf({ apply }: WaitingChange): boolean | Error {
  try {
    return apply();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Whether a value has expired. One that is too short for an expiry time is no record, and counts as expired. */
function isExpired(value: Buffer): boolean {
  return value.length < EXPIRY_BYTES || value.readDoubleBE() <= Date.now();
}

/** The value to store: the time of expiry, then the bytes. The time is wall-clock time, because a record may outlive processes. */
function encodeValue(bytes: Buffer, lifeMs: number): Buffer {
  const value = Buffer.allocUnsafe(EXPIRY_BYTES + bytes.length);
  value.writeDoubleBE(Date.now() + lifeMs);
  bytes.copy(value, EXPIRY_BYTES);
  return value;
}
