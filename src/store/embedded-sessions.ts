// Records of sessions that outlive the gateway inside the machine: an LMDB folder that all workers open side by side. Each value begins with the time
// at which it expires; what expired and nobody has asked for is swept, some entries at a time. Cold: a few times a session.
import { randomBytes } from 'node:crypto';
import type { Database, RootDatabase } from 'lmdb';
import { limits } from '../shared/limits.js';
import { commitReason, openRoot } from './embedded-databases.js';
import type { SealedRead, SealedSession, SealedSessions } from './sealed-sessions.js';

const EXPIRY_BYTES = 8;
/** Of the mark of what was removed, which is an expiry alone: the first of records is 1. */
const MARK_VERSION = 0;
const KEY_BYTES = 32;
const NOTHING = Buffer.alloc(0);

export class EmbeddedSessions implements SealedSessions {
  readonly isShared = false;
  /** Every read looks at what all processes have written: nothing has to be told. */
  onChanged: SealedSessions['onChanged'];
  readonly #root: RootDatabase;
  readonly #sessions: Database<Buffer, Buffer>;
  readonly #sweepTimer: NodeJS.Timeout;
  /** Where the next sweep goes on; each process begins elsewhere. */
  #sweepFrom: Buffer = randomBytes(KEY_BYTES);
  /** Why the last write failed, and until when the others do so at once. */
  #failure = new Error('nothing was written yet');
  #pausedUntilMs = 0;

  /** Opens the folder, and makes it, for its owner alone, when it is not there. Throws when it cannot be used. */
  constructor(path: string) {
    this.#root = openRoot(path);
    this.#sessions = this.#root.openDB({
      name: 'sessions',
      encoding: 'binary',
      keyEncoding: 'binary',
      useVersions: true,
    });
    this.#sweepTimer = setInterval(() => this.#sweep(), limits.sessionRecordSweepMs).unref();
  }

  read(key: Buffer): SealedRead {
    // Left alone, lmdb reads from one snapshot for a while; this way what another process committed is seen.
    this.#sessions.resetReadTxn();
    const entry = this.#sessions.getEntry(key);
    if (entry?.version === undefined) return undefined;
    if (entry.value.readDoubleBE() <= Date.now()) return undefined;
    if (entry.value.length === EXPIRY_BYTES) return 'ended';
    return { version: entry.version, bytes: entry.value.subarray(EXPIRY_BYTES) };
  }

  async write(key: Buffer, { version, bytes }: SealedSession, lifeMs: number): Promise<boolean> {
    const value = valueOf(bytes, lifeMs);
    if (version > 1) return this.#commit(() => this.#sessions.put(key, value, version, version - 1));
    const putNew = (): void => void this.#sessions.put(key, value, version);
    if (await this.#commit(() => this.#sessions.ifNoExists(key, putNew))) return true;
    // What has expired may be there still.
    if (this.read(key) !== undefined) return false;
    const { version: expired } = this.#sessions.getEntry(key) ?? {};
    return this.#commit(() => this.#sessions.put(key, value, version, expired));
  }

  async renew(key: Buffer, lifeMs: number): Promise<boolean> {
    const present = this.read(key);
    if (typeof present !== 'object') return false;
    const { version, bytes } = present;
    // Who has written meanwhile has put its end off, too.
    await this.#commit(() => this.#sessions.put(key, valueOf(bytes, lifeMs), version, version));
    return true;
  }

  /** Nobody but its process renews it: what life it has left does not count. */
  async remove(key: Buffer, markMs: number): Promise<boolean> {
    return this.#commit(() => this.#sessions.put(key, valueOf(NOTHING, markMs), MARK_VERSION));
  }

  /** What was committed is in the file: nobody waits for the disk. */
  async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    let late: NodeJS.Timeout | undefined;
    const isLate = new Promise<void>((resolve) => (late = setTimeout(resolve, limits.embeddedCloseMsMax)));
    await Promise.race([this.#root.close(), isLate]);
    clearTimeout(late);
  }

  /** lmdb writes lines of its own to standard error about each commit that a full disk does not take. */
  async #commit<Answer>(write: () => Promise<Answer>): Promise<Answer> {
    if (performance.now() < this.#pausedUntilMs) throw this.#failure;
    try {
      return await write();
    } catch (error) {
      this.#failure = await commitReason(error);
      this.#pausedUntilMs = performance.now() + limits.sessionWritePauseMs;
      throw this.#failure;
    }
  }

  #sweep(): void {
    try {
      this.#sessions.resetReadTxn();
      const limit = limits.sessionRecordsPerSweep;
      const entries = [...this.#sessions.getRange({ start: this.#sweepFrom, limit })];
      const last = entries.at(-1);
      this.#sweepFrom = entries.length < limit || last === undefined ? Buffer.alloc(KEY_BYTES) : last.key;
      const expired = entries.filter(({ value }) => value.readDoubleBE() <= Date.now());
      if (expired.length > 0) this.#commit(() => this.#removeExpired(expired.map(({ key }) => key))).catch(() => {});
    } catch {
      // Whoever reads or writes next says so.
    }
  }

  /** Somebody may have put one's end off since. */
  async #removeExpired(keys: readonly Buffer[]): Promise<void> {
    await this.#root.transaction(() => {
      for (const key of keys) {
        const value = this.#sessions.get(key);
        if (value !== undefined && value.readDoubleBE() <= Date.now()) this.#sessions.removeSync(key);
      }
    });
  }
}

/** The time is the wall clock's: a record may outlive processes. */
function valueOf(bytes: Buffer, lifeMs: number): Buffer {
  const value = Buffer.allocUnsafe(EXPIRY_BYTES + bytes.length);
  value.writeDoubleBE(Date.now() + lifeMs);
  bytes.copy(value, EXPIRY_BYTES);
  return value;
}
