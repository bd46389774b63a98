// Records of the sessions of one slot, for as long as the gateway runs: a file each, in a folder that the slot's workers have
// to themselves. A file that is written and closed in one go costs a fraction of what a database takes for the same with a
// thread of its own, and nobody ever waits for a lock. Files of sessions that ended are kept for the next ones: to make one costs
// several times as much where many were removed of late (ext4 looks for an inode that was not). What expired and nobody has asked for is swept, some files at a time.
// Cold: a few times a session.
import {
  closeSync,
  existsSync,
  mkdirSync,
  opendirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
  type Dir,
} from 'node:fs';
import { join } from 'node:path';
import { limits } from '../shared/limits.js';
import type { SealedSession, SealedSessions } from './sealed-sessions.js';

/** Before what is sealed: when it expires, on the wall clock; its version, and its length, behind which may be what was there before. */
const EXPIRY_BYTES = 8;
const LENGTH_AT = EXPIRY_BYTES + 4;
const HEAD_BYTES = LENGTH_AT + 4;
const FILE_MODE = 0o600;
/** Begins the names of files that no session has. */
const SPARE = 'spare.';

/**
 * Two workers share the folder while one replaces the other, and a session is used by one of them: by its successor once that
 * has read it. Their writes are held against each other by what the file says just before, which is enough for that.
 */
export class FileSessions implements SealedSessions {
  readonly isShared = false;
  /** Every read looks at the file: nothing has to be told. */
  onChanged: SealedSessions['onChanged'] = undefined;
  readonly #folder: string;
  readonly #sweepTimer: NodeJS.Timeout;
  #swept: Dir | undefined;
  /** Files for the next sessions. */
  readonly #spare: string[] = [];
  #sparesMade = 0;
  readonly #expiry = Buffer.alloc(EXPIRY_BYTES);

  /** Opens the folder, and makes it, for its owner alone, when it is not there. Throws when it cannot be used. */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#sweepTimer = setInterval(() => this.#sweep(), limits.sessionRecordSweepMs).unref();
  }

  read(key: Buffer): SealedSession | undefined {
    const bytes = tryRead(this.#path(key));
    if (bytes === undefined || bytes.length < HEAD_BYTES || bytes.readDoubleBE() <= Date.now()) return undefined;
    const end = HEAD_BYTES + bytes.readUInt32BE(LENGTH_AT);
    if (bytes.length < end) return undefined;
    return { version: bytes.readUInt32BE(EXPIRY_BYTES), bytes: bytes.subarray(HEAD_BYTES, end) };
  }

  async write(key: Buffer, { version, bytes }: SealedSession, lifeMs: number): Promise<boolean> {
    const content = contentOf(version, bytes, lifeMs);
    const path = this.#path(key);
    if (version === 1) {
      if (this.#tryMake(path, content)) return true;
      // What has expired may be there still.
      if (this.read(key) !== undefined) return false;
    } else if (this.read(key)?.version !== version - 1) {
      return false;
    }
    this.#replace(path, content);
    return true;
  }

  async renew(key: Buffer, lifeMs: number): Promise<boolean> {
    const file = tryOpen(this.#path(key), 'r+');
    if (file === undefined) return false;
    try {
      if (this.#readExpiry(file) <= Date.now()) return false;
      this.#expiry.writeDoubleBE(Date.now() + lifeMs);
      writeSync(file, this.#expiry, 0, EXPIRY_BYTES, 0);
      return true;
    } finally {
      closeSync(file);
    }
  }

  /** Nobody else has it: no mark is needed, and what life it has left does not count. */
  async remove(key: Buffer): Promise<boolean> {
    const path = this.#path(key);
    if (this.#spare.length >= limits.sessionFilesKeptMax) return tryRemove(path);
    this.#sparesMade += 1;
    const spare = join(this.#folder, `${SPARE}${process.pid}.${this.#sparesMade}`);
    if (!tryRename(path, spare)) return false;
    this.#spare.push(spare);
    return true;
  }

  async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    this.#endSweep();
  }

  #path(key: Buffer): string {
    return join(this.#folder, key.toString('hex'));
  }

  /** @returns false when the file is there. */
  #tryMake(path: string, content: Buffer): boolean {
    const spare = existsSync(path) ? undefined : this.#spare.pop();
    if (spare !== undefined && tryWriteInto(spare, content)) {
      renameSync(spare, path);
      return true;
    }
    try {
      writeNew(path, content);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    // Somebody has tidied the temporary directory.
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    writeNew(path, content);
    return true;
  }

  /** In one step: whoever reads finds the old one or the new one. */
  #replace(path: string, content: Buffer): void {
    const prepared = `${path}.${process.pid}`;
    tryRemove(prepared);
    writeNew(prepared, content);
    renameSync(prepared, path);
  }

  #sweep(): void {
    try {
      this.#swept ??= opendirSync(this.#folder);
      for (let count = 0; count < limits.sessionRecordsPerSweep; count += 1) {
        const entry = this.#swept.readSync();
        if (entry === null) return this.#endSweep();
        this.#removeExpired(join(this.#folder, entry.name));
      }
    } catch {
      // Whoever reads or writes next says so.
      this.#endSweep();
    }
  }

  #endSweep(): void {
    this.#swept?.closeSync();
    this.#swept = undefined;
  }

  #removeExpired(path: string): void {
    const file = tryOpen(path, 'r');
    if (file === undefined) return;
    const expiresAtMs = this.#readExpiry(file);
    closeSync(file);
    // One whose writer was killed in the middle has no head, or a name that nobody looks for.
    const isOfUse = this.#spare.length > 0 && path.startsWith(join(this.#folder, `${SPARE}${process.pid}.`));
    const isUnfinished = expiresAtMs === 0 || path.includes('.', this.#folder.length);
    if (isOfUse) return;
    const isLeft = isUnfinished && statSync(path).mtimeMs < Date.now() - limits.sessionRecordSweepMs;
    if (isLeft || (!isUnfinished && expiresAtMs <= Date.now())) tryRemove(path);
  }

  /** @returns 0 where there is none. */
  #readExpiry(file: number): number {
    return readSync(file, this.#expiry, 0, EXPIRY_BYTES, 0) === EXPIRY_BYTES ? this.#expiry.readDoubleBE() : 0;
  }
}

function contentOf(version: number, bytes: Buffer, lifeMs: number): Buffer {
  const content = Buffer.allocUnsafe(HEAD_BYTES + bytes.length);
  content.writeDoubleBE(Date.now() + lifeMs);
  content.writeUInt32BE(version, EXPIRY_BYTES);
  content.writeUInt32BE(bytes.length, LENGTH_AT);
  bytes.copy(content, HEAD_BYTES);
  return content;
}

/** Nothing is left behind of what does not fit. */
function writeNew(path: string, content: Buffer): void {
  const file = openSync(path, 'wx', FILE_MODE);
  try {
    if (writeSync(file, content) < content.length) throw new Error('no room for the record of a session');
  } catch (error) {
    tryRemove(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

/** @returns false when it is not there any more. */
function tryWriteInto(path: string, content: Buffer): boolean {
  const file = tryOpen(path, 'r+');
  if (file === undefined) return false;
  try {
    if (writeSync(file, content, 0, content.length, 0) === content.length) return true;
    throw new Error('no room for the record of a session');
  } catch (error) {
    tryRemove(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

function tryRename(from: string, to: string): boolean {
  return (
    unlessAbsent(() => {
      renameSync(from, to);
      return true;
    }) ?? false
  );
}

function tryRead(path: string): Buffer | undefined {
  return unlessAbsent(() => readFileSync(path));
}

function tryOpen(path: string, flags: 'r' | 'r+'): number | undefined {
  return unlessAbsent(() => openSync(path, flags));
}

/** @returns false when it is not there. */
function tryRemove(path: string): boolean {
  return (
    unlessAbsent(() => {
      unlinkSync(path);
      return true;
    }) ?? false
  );
}

function unlessAbsent<Answer>(act: () => Answer): Answer | undefined {
  try {
    return act();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
