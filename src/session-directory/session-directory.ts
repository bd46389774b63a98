// Where the sessions of a gateway are written down, so that a process that does not know one can go on with it. What cannot be
// written costs durability and nothing else; what cannot be read is told apart from what is not there. Cold.
import type { SealedRead, SealedSessions } from '../store/sealed-sessions.js';
import { BoundedCounts } from '../shared/bounded-counts.js';
import { FairQueue } from '../shared/fair-queue.js';
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { RepeatedLog } from '../shared/repeated-log.js';
import { seal, sessionKeys, unseal, type SessionOwner } from './seal.js';
import { decodeSessionRecord, encodeSessionRecord, type SessionRecord } from './session-record.js';

export interface SessionDirectoryOptions {
  readonly idleTimeoutMs: number;
  /** Whether records are there when the whole gateway is gone: its sessions end with it otherwise. */
  readonly outlivesGateway: boolean;
  /** Whether an id can be one of a session, of this process or another: what cannot is looked for nowhere. */
  isPossibleId(sessionId: string): boolean;
  readonly logger: Logger;
}

export interface FoundSession {
  readonly record: SessionRecord;
  /** What the next write is held against. */
  readonly version: number;
  /** Somebody has changed it while it was being read. */
  readonly isStale: boolean;
}

/** `unknown`: there is none for this owner. `failed`: the directory cannot say. `full`: too many are being looked for. */
export type LookUp = FoundSession | 'unknown' | 'ended' | 'failed' | 'full';

/** `overtaken`: somebody else has written since. */
export type WriteOutcome = 'written' | 'overtaken' | 'failed';

/** Of the idle timeout: for so long after the last renewal a record is kept, which may come late by a part of it. */
const LIFE_FACTOR = 1.5;

interface ReadUnderWay {
  readonly name: string;
  isStale: boolean;
}

export class SessionDirectory {
  readonly #sessions: SealedSessions;
  readonly #options: SessionDirectoryOptions;
  readonly #log = new RepeatedLog();
  /** Look-ups that wait for their turn, by subject. */
  readonly #waiting = new FairQueue<() => void>({
    itemsMax: limits.sessionLookUpsWaitingMax,
    itemsPerKeyMax: limits.sessionLookUpsWaitingPerSubjectMax,
  });
  /** By subject. */
  readonly #writesUnderWay = new BoundedCounts({
    totalMax: limits.sessionWritesMax,
    perKeyMax: limits.sessionWritesPerSubjectMax,
  });
  /** By the keys of sessions that are here. */
  readonly #watchers = new Map<string, () => void>();
  /** Keys of sessions that are over while their records may still be there. */
  readonly #ending = new Set<string>();
  /** Where others can change what is being read. */
  readonly #reads = new Set<ReadUnderWay>();
  #isRetired = false;
  #lookUpsUnderWay = 0;
  #failedCount = 0;

  constructor(sessions: SealedSessions, options: SessionDirectoryOptions) {
    this.#sessions = sessions;
    this.#options = options;
    sessions.onChanged = (key) => this.#onChanged(key);
  }

  /** Whether other machines may change what is written here. */
  get isShared(): boolean {
    return this.#sessions.isShared;
  }

  /** Where others can: what is called when they do, until `unwatch`. */
  watch(sessionId: string, onChanged: () => void): void {
    if (this.isShared) this.#watchers.set(nameOf(sessionKeys(sessionId).place), onChanged);
  }

  unwatch(sessionId: string): void {
    if (this.isShared) this.#watchers.delete(nameOf(sessionKeys(sessionId).place));
  }

  #onChanged(key: Buffer | undefined): void {
    const name = key && nameOf(key);
    for (const read of this.#reads) if (name === undefined || read.name === name) read.isStale = true;
    if (name !== undefined) this.#watchers.get(name)?.();
    else for (const onChanged of this.#watchers.values()) onChanged();
  }

  /** The sessions of this process are its successor's from now on. */
  retire(): void {
    this.#isRetired = true;
  }

  get isRetired(): boolean {
    return this.#isRetired;
  }

  get outlivesGateway(): boolean {
    return this.#options.outlivesGateway;
  }

  /** What could not be written or read so far. */
  get failedCount(): number {
    return this.#failedCount;
  }

  get idleTimeoutMs(): number {
    return this.#options.idleTimeoutMs;
  }

  /** Answers without a promise where the place of the records does. Never throws or rejects. */
  find(sessionId: string, owner: SessionOwner): LookUp | Promise<LookUp> {
    if (!this.#options.isPossibleId(sessionId)) return 'unknown';
    if (this.#lookUpsUnderWay < limits.sessionLookUpsMax) return this.#lookUp(sessionId, owner);
    return new Promise((resolve) => {
      const begin = (): void => void resolve(this.#lookUp(sessionId, owner));
      const place = this.#waiting.add(owner.subject, begin);
      if (typeof place === 'string') resolve('full');
    });
  }

  /** @param version of what is there now; 0 for nothing. */
  async write(sessionId: string, owner: SessionOwner, record: SessionRecord, version: number): Promise<WriteOutcome> {
    if (!this.#writesUnderWay.tryAdd(owner.subject)) return this.#failed('too many writes are in progress');
    try {
      const bytes = encodeSessionRecord(record);
      if (bytes.length > limits.sessionRecordBytesMax) return this.#failed('the record of a session is too long');
      const keys = sessionKeys(sessionId);
      const sealed = { version: version + 1, bytes: seal(keys, owner, bytes) };
      return (await this.#sessions.write(keys.place, sealed, this.#lifeMs)) ? 'written' : 'overtaken';
    } catch (error) {
      return this.#failed(reasonOf(error));
    } finally {
      this.#writesUnderWay.remove(owner.subject);
    }
  }

  /** It was used of late. @returns whether it is there; also when that cannot be told. */
  async renew(sessionId: string): Promise<boolean> {
    try {
      return await this.#sessions.renew(sessionKeys(sessionId).place, this.#lifeMs);
    } catch (error) {
      this.#failed(reasonOf(error));
      return true;
    }
  }

  /** The session is over, and about to be removed: nobody here finds it any more. */
  onEnding(sessionId: string): void {
    this.#ending.add(nameOf(sessionKeys(sessionId).place));
  }

  /** The session is over. @param wasShared whether another machine may have it still. Resolved when others can know; always. */
  async remove(sessionId: string, wasShared: boolean): Promise<void> {
    const key = sessionKeys(sessionId).place;
    this.#ending.add(nameOf(key));
    await this.#remove(key, wasShared, Infinity);
  }

  /**
   * The session has not been used here for the idle timeout and a round of renewals.
   * @param isRenewedElsewhere whether another machine was seen to use it: then it stays if that was within the idle timeout.
   */
  async removeIdle(sessionId: string, isRenewedElsewhere: boolean): Promise<'removed' | 'kept' | 'failed'> {
    return this.#remove(
      sessionKeys(sessionId).place,
      true,
      isRenewedElsewhere ? this.#lifeMs - this.idleTimeoutMs : Infinity,
    );
  }

  async #remove(key: Buffer, wasShared: boolean, leftMsMax: number): Promise<'removed' | 'kept' | 'failed'> {
    // Who has the session still must learn of its end, however late; otherwise the mark keeps out what is being written.
    const markMs = wasShared ? this.#lifeMs : Math.min(limits.sessionMarkMs, this.#lifeMs);
    try {
      return (await this.#sessions.remove(key, markMs, leftMsMax)) ? 'removed' : 'kept';
    } catch (error) {
      return this.#failed(reasonOf(error));
    } finally {
      this.#ending.delete(nameOf(key));
    }
  }

  async close(): Promise<void> {
    await this.#sessions.close();
  }

  #lookUp(sessionId: string, owner: SessionOwner): LookUp | Promise<LookUp> {
    const keys = sessionKeys(sessionId);
    const underWay: ReadUnderWay = { name: nameOf(keys.place), isStale: false };
    const open = (read: SealedRead): LookUp => {
      if (this.#ending.has(underWay.name)) return 'ended';
      if (typeof read !== 'object') return read ?? 'unknown';
      const bytes = unseal(keys, owner, read.bytes);
      if (bytes === undefined) return 'unknown';
      return { record: decodeSessionRecord(bytes), version: read.version, isStale: underWay.isStale };
    };
    let read: SealedRead | Promise<SealedRead>;
    try {
      read = this.#sessions.read(keys.place);
    } catch (error) {
      return this.#failed(reasonOf(error));
    }
    if (!(read instanceof Promise)) return open(read);
    this.#lookUpsUnderWay += 1;
    if (this.isShared) this.#reads.add(underWay);
    return read
      .then(open, (error: unknown) => this.#failed(reasonOf(error)))
      .finally(() => {
        this.#lookUpsUnderWay -= 1;
        this.#reads.delete(underWay);
        this.#waiting.take()?.();
      });
  }

  get #lifeMs(): number {
    return this.#options.idleTimeoutMs * LIFE_FACTOR;
  }

  #failed(reason: string): 'failed' {
    this.#failedCount += 1;
    const fields = { reason, failedCount: this.#failedCount };
    this.#log.warn(
      this.#options.logger,
      reason,
      fields,
      'the session directory fails: sessions may not survive this process',
    );
    return 'failed';
  }
}

/** As a key of maps. */
function nameOf(key: Buffer): string {
  return key.toString('latin1');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
