// Where the sessions of a gateway are written down, so that a process that does not know one can go on with it. What cannot be
// written costs durability and nothing else; what cannot be read is told apart from what is not there. Cold.
import type { SealedRead, SealedSession, SealedSessions } from '../store/sealed-sessions.js';
import { BoundedCounts } from '../shared/bounded-counts.js';
import { FairQueue } from '../shared/fair-queue.js';
import { limits } from '../shared/limits.js';
import type { Logger } from '../shared/logger.js';
import { RepeatedLog } from '../shared/repeated-log.js';
import { seal, sessionKeys, unseal, type SessionKeys, type SessionOwner } from './seal.js';
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
  isEnded: boolean;
}

/** What of a session that is here others do to it. */
export interface SessionWatcher {
  /** What is written down of it has changed, or may have. */
  onChanged(): void;
  /** It has ended. */
  onEnded(): void;
  /** What another process that has it passes on: for `unsealPassed`. */
  onPassed(sealed: Buffer): void;
}

/** What a process knows of the record of a session that it ends. */
export interface KnownRecord {
  readonly version: number;
  /** Whether another machine may have the session still. */
  readonly wasShared: boolean;
  /** As it says; none where nobody shares it. */
  readonly listeners: readonly string[];
}

interface Unremoved {
  readonly keys: SessionKeys;
  readonly owner: SessionOwner;
  readonly known: KnownRecord;
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
  /** The same: what is being passed on. */
  readonly #passesUnderWay = new BoundedCounts({
    totalMax: limits.sessionNoticesUnderWayMax,
    perKeyMax: limits.sessionNoticesUnderWayPerSubjectMax,
  });
  /** By the keys of sessions that are here. */
  readonly #watchers = new Map<string, SessionWatcher>();
  /** Keys of sessions that are over while their records may still be there. */
  readonly #ending = new Set<string>();
  /** Of these, those that the place did not take. */
  readonly #unremoved = new Map<string, Unremoved>();
  #isRemovingAgain = false;
  /** Where others can change what is being read. */
  readonly #reads = new Set<ReadUnderWay>();
  #isRetired = false;
  #lookUpsUnderWay = 0;
  #failedCount = 0;
  #unheardCount = 0;

  constructor(sessions: SealedSessions, options: SessionDirectoryOptions) {
    this.#sessions = sessions;
    this.#options = options;
    sessions.onChanged = (key) => this.#onChanged(key);
    const { peers } = sessions;
    if (peers === undefined) return;
    peers.onEnded = (key) => this.#onEnded(nameOf(key));
    peers.onPassed = (key, sealed) => this.#watchers.get(nameOf(key))?.onPassed(sealed);
  }

  /** Whether other machines may change what is written here. */
  get isShared(): boolean {
    return this.#sessions.isShared;
  }

  /** What names this process to them in the records of its sessions; `undefined` where nobody could tell it anything. */
  get listener(): string | undefined {
    return this.#sessions.peers?.listener;
  }

  /** Where others can: what is told when they do, until `unwatch`. */
  watch(sessionId: string, watcher: SessionWatcher): void {
    if (this.isShared) this.#watchers.set(nameOf(sessionKeys(sessionId).place), watcher);
  }

  unwatch(sessionId: string): void {
    if (this.isShared) this.#watchers.delete(nameOf(sessionKeys(sessionId).place));
  }

  #onChanged(key: Buffer | undefined): void {
    const name = key && nameOf(key);
    for (const read of this.#reads) if (name === undefined || read.name === name) read.isStale = true;
    if (name !== undefined) return this.#watchers.get(name)?.onChanged();
    for (const watcher of this.#watchers.values()) watcher.onChanged();
    // So it is told when the place is back.
    void this.#removeAgain();
  }

  #onEnded(name: string): void {
    for (const read of this.#reads) if (read.name === name) read.isEnded = true;
    this.#watchers.get(name)?.onEnded();
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

  /** Processes that did not say in time that they have heard of the end of a session. */
  get unheardCount(): number {
    return this.#unheardCount;
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

  /** The session is over. Resolved when the processes that have it know, or did not say so in time; always. */
  async remove(sessionId: string, owner: SessionOwner, known: KnownRecord): Promise<void> {
    const keys = sessionKeys(sessionId);
    const name = nameOf(keys.place);
    this.#ending.add(name);
    if (!(await this.#tryRemove({ keys, owner, known }))) return this.#keepUnremoved(name, { keys, owner, known });
    this.#ending.delete(name);
    if (this.#unremoved.size > 0) void this.#removeAgain();
  }

  /** @returns whether its record is gone, and those who have it know. */
  async #tryRemove({ keys, owner, known }: Unremoved): Promise<boolean> {
    const removed = await this.#remove(keys.place, known.wasShared, Infinity, known.version);
    if (removed === 'failed') return false;
    const bytes = typeof removed === 'object' ? unseal(keys, owner, removed.bytes) : undefined;
    await this.#tell(keys.place, bytes === undefined ? known.listeners : (decodeSessionRecord(bytes).listeners ?? []));
    return true;
  }

  /** The place does not take it: it is removed when that can be, and until then nobody here finds it. */
  #keepUnremoved(name: string, unremoved: Unremoved): void {
    if (this.#unremoved.size >= limits.sessionRemovalsKept) {
      const [oldest = ''] = this.#unremoved.keys();
      this.#unremoved.delete(oldest);
      this.#ending.delete(oldest);
    }
    this.#unremoved.set(name, unremoved);
  }

  /** One after the other, as long as the place takes them. */
  async #removeAgain(): Promise<void> {
    if (this.#isRemovingAgain) return;
    this.#isRemovingAgain = true;
    for (const [name, unremoved] of this.#unremoved) {
      if (!(await this.#tryRemove(unremoved))) break;
      this.#unremoved.delete(name);
      this.#ending.delete(name);
    }
    this.#isRemovingAgain = false;
  }

  async #tell(key: Buffer, listeners: readonly string[]): Promise<void> {
    const { peers } = this.#sessions;
    const others = listeners.filter((each) => each !== peers?.listener);
    if (peers === undefined || others.length === 0) return;
    try {
      const unheardCount = await peers.tellEnded(key, others);
      if (unheardCount > 0) this.#onUnheard(unheardCount);
    } catch (error) {
      this.#failed(reasonOf(error));
    }
  }

  /** Passes something on to the other processes that have the session, which no one else can read. */
  pass(sessionId: string, owner: SessionOwner, listeners: readonly string[], bytes: Buffer): void {
    const { peers } = this.#sessions;
    const others = listeners.filter((each) => each !== peers?.listener);
    if (peers === undefined || others.length === 0) return;
    if (!this.#passesUnderWay.tryAdd(owner.subject)) return;
    const keys = sessionKeys(sessionId);
    peers
      .pass(keys.place, others, seal(keys, owner, bytes))
      .catch((error: unknown) => this.#failed(reasonOf(error)))
      .finally(() => this.#passesUnderWay.remove(owner.subject));
  }

  unsealPassed(sessionId: string, owner: SessionOwner, sealed: Buffer): Buffer | undefined {
    return unseal(sessionKeys(sessionId), owner, sealed);
  }

  #onUnheard(count: number): void {
    this.#unheardCount += count;
    const fields = { unheardCount: this.#unheardCount };
    const words = 'a process did not say that it has heard of the end of a session: it may serve it once more';
    this.#log.warn(this.#options.logger, words, fields, words);
  }

  /**
   * The session has not been used here for the idle timeout and a round of renewals.
   * @param isRenewedElsewhere whether another machine was seen to use it: then it stays if that was within the idle timeout.
   */
  async removeIdle(sessionId: string, isRenewedElsewhere: boolean): Promise<'removed' | 'kept' | 'failed'> {
    const leftMsMax = isRenewedElsewhere ? this.#lifeMs - this.idleTimeoutMs : Infinity;
    const outcome = await this.#remove(sessionKeys(sessionId).place, true, leftMsMax);
    return typeof outcome === 'object' ? 'removed' : outcome;
  }

  async #remove(
    key: Buffer,
    wasShared: boolean,
    leftMsMax: number,
    version?: number,
  ): Promise<'removed' | 'kept' | 'failed' | SealedSession> {
    // Who has the session still must learn of its end, however late; otherwise the mark keeps out what is being written.
    const markMs = wasShared ? this.#lifeMs : Math.min(limits.sessionMarkMs, this.#lifeMs);
    const known = version === undefined ? undefined : { version, laterMarkMs: this.#lifeMs };
    try {
      const removed = await this.#sessions.remove(key, markMs, leftMsMax, known);
      return typeof removed === 'object' ? removed : removed ? 'removed' : 'kept';
    } catch (error) {
      return this.#failed(reasonOf(error));
    }
  }

  async close(): Promise<void> {
    await this.#sessions.close();
  }

  #lookUp(sessionId: string, owner: SessionOwner): LookUp | Promise<LookUp> {
    const keys = sessionKeys(sessionId);
    const underWay: ReadUnderWay = { name: nameOf(keys.place), isStale: false, isEnded: false };
    // Also while nothing can be read.
    if (this.#ending.has(underWay.name)) return 'ended';
    const open = (read: SealedRead): LookUp => {
      if (underWay.isEnded || this.#ending.has(underWay.name)) return 'ended';
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
