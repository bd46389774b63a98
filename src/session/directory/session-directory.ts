// Stores sealed records of sessions, so that another process can continue a session that it did not open. A failed write costs durability
// and nothing else; a failed read is reported as a failure, never as a missing session. Cold path.
import type { KnownVersion, SealedRead, SealedSession, SealedSessions } from '../../store/index.js';
import { Quota, FairQueue } from '../../fair/index.js';
import { limits, type Logger, RepeatedLog } from '../../shared/index.js';
import {
  sealRecord,
  sessionKeys,
  unsealRecord,
  type OwnedSession,
  decodeSessionRecord,
  encodeSessionRecord,
  type SessionRecord,
} from './session-record.js';

/**
 * Ended sessions whose records could not be removed because the session directory was unreachable; this process ignores such records, and
 * removes them later. Beyond that, the oldest is forgotten.
 */
export const SESSION_REMOVALS_KEPT = 10_000;
/** Messages to other processes (peer-messages.ts) that a worker has in flight. Beyond that, further ones are dropped. */
const PEER_MESSAGES_UNDER_WAY_MAX = 1_024;
/** Such messages for the sessions of one subject. Beyond that, further ones are dropped. */
export const PEER_MESSAGES_UNDER_WAY_PER_SUBJECT_MAX = 64;
/** Look-ups of unknown sessions that a worker has in progress at once. Beyond that, further ones wait. */
export const SESSION_LOOK_UPS_MAX = 256;
/**
 * How long the store keeps the mark of a removed session that no other process is known to have had. Other marks, and those of sessions that
 * ended idle, are kept for 1.5 times `--session-idle-timeout`.
 */
export const SESSION_MARK_MS = 60_000;

interface SessionDirectoryOptions {
  readonly idleTimeoutMs: number;
  /** Whether records survive the end of the whole gateway; otherwise its sessions end with it. */
  readonly outlivesGateway: boolean;
  /** Whether the id has the form of session ids. Other ids are not looked up. */
  isPossibleId(sessionId: string): boolean;
  readonly logger: Logger;
}

export interface FoundSession {
  readonly record: SessionRecord;
  readonly version: number;
  /** Whether the record was, or may have been, changed while it was being read. */
  readonly isStale: boolean;
}

/** What a look-up found. `unknown`: this owner has no such session. `failed`: the directory cannot say. `full`: too many look-ups wait. */
export type LookUp = FoundSession | 'unknown' | 'ended' | 'failed' | 'full';

/** How a write ended. `overtaken`: another process has written since. */
export type WriteOutcome = 'written' | 'overtaken' | 'failed';

/** For how many idle timeouts a record is kept after its last renewal: more than one, because renewals may be late. */
const RECORD_LIFE_FACTOR = 1.5;

interface ReadUnderWay {
  readonly name: string;
  isStale: boolean;
  isEnded: boolean;
}

/** Receives what other processes do to a session that this process has, too. */
export interface SessionWatcher {
  onChangedElsewhere(): void;
  onEndedElsewhere(): void;
  /** Called when another process that has the session has sent a message; `unsealRecord` opens it. */
  onPeerMessage(sealed: Buffer): void;
}

/** What the process that ends a session knows of its record. */
export interface RecordState {
  readonly version: number;
  readonly hasHadPeers: boolean;
  readonly listeners: readonly string[];
}

interface Removal {
  readonly session: OwnedSession;
  readonly known: RecordState;
}

export class SessionDirectory {
  readonly #sessions: SealedSessions;
  readonly #options: SessionDirectoryOptions;
  readonly #log = new RepeatedLog();
  readonly #waitingLookUps = new FairQueue<() => void>();
  readonly #writesUnderWay = new Quota();
  readonly #peerMessagesUnderWay = new Quota(PEER_MESSAGES_UNDER_WAY_MAX, PEER_MESSAGES_UNDER_WAY_PER_SUBJECT_MAX);
  readonly #watchers = new Map<string, SessionWatcher>();
  /** Sessions that have ended but whose records may still exist. */
  readonly #endingNames = new Set<string>();
  readonly #failedRemovals = new Map<string, Removal>();
  #isRemovingAgain = false;
  /** Reads in progress; empty unless other machines can change records. */
  readonly #reads = new Set<ReadUnderWay>();
  /** Whether the sessions of this process are left to its successor. Set by `Sessions`. */
  isRetired = false;
  #lookUpsUnderWay = 0;
  #failedCount = 0;
  #unacknowledgedCount = 0;

  constructor(sessions: SealedSessions, options: SessionDirectoryOptions) {
    this.#sessions = sessions;
    this.#options = options;
    sessions.onChanged = (key) => this.#onChanged(key);
    const { peers } = sessions;
    if (peers === undefined) return;
    peers.onEnded = (key) => {
      const name = nameOf(key);
      for (const read of this.#reads) if (read.name === name) read.isEnded = true;
      this.#watchers.get(name)?.onEndedElsewhere();
    };
    peers.onReceived = (key, sealed) => this.#watchers.get(nameOf(key))?.onPeerMessage(sealed);
  }

  /** Whether other machines may change the records written here. */
  get isMultiMachine(): boolean {
    return this.#sessions.isMultiMachine;
  }

  /** The name by which other processes reach this one; `undefined` if they cannot. */
  get listener(): string | undefined {
    return this.#sessions.peers?.listener;
  }

  /** Calls the watcher when another machine changes or ends the session, until `unwatch`. */
  watch(sessionId: string, watcher: SessionWatcher): void {
    if (this.isMultiMachine) this.#watchers.set(nameOf(recordKey(sessionId)), watcher);
  }

  unwatch(sessionId: string): void {
    if (this.isMultiMachine) this.#watchers.delete(nameOf(recordKey(sessionId)));
  }

  #onChanged(key: Buffer | undefined): void {
    const name = key && nameOf(key);
    for (const read of this.#reads) if (name === undefined || read.name === name) read.isStale = true;
    if (name !== undefined) return this.#watchers.get(name)?.onChangedElsewhere();
    for (const watcher of this.#watchers.values()) watcher.onChangedElsewhere();
    // A change without a key also means that the store is reachable again: failed removals are tried again.
    void this.#removeAgain();
  }

  get outlivesGateway(): boolean {
    return this.#options.outlivesGateway;
  }

  /** How many writes, reads and other operations have failed so far. */
  get failedCount(): number {
    return this.#failedCount;
  }

  /** Looks up a session's record; synchronously if the store can. Never throws or rejects. */
  find(session: OwnedSession): LookUp | Promise<LookUp> {
    if (!this.#options.isPossibleId(session.id)) return 'unknown';
    if (this.#lookUpsUnderWay < SESSION_LOOK_UPS_MAX) return this.#lookUp(session);
    return new Promise((resolve) => {
      const begin = (): void => void resolve(this.#lookUp(session));
      const queued = this.#waitingLookUps.add(session.subject, begin);
      if (typeof queued === 'string') resolve('full');
    });
  }

  /** Writes a record. @param version of the record that is there now; 0 if there is none. */
  async write(session: OwnedSession, record: SessionRecord, version: number): Promise<WriteOutcome> {
    if (!this.#writesUnderWay.tryTake(session.subject)) return this.#noteFailure('too many writes are in progress');
    try {
      const bytes = encodeSessionRecord(record);
      if (bytes.length > limits.sessionRecordBytesMax) return this.#noteFailure('the record of a session is too long');
      const sealed = { version: version + 1, bytes: sealRecord(session, bytes) };
      return (await this.#sessions.write(recordKey(session.id), sealed, this.#lifeMs)) ? 'written' : 'overtaken';
    } catch (error) {
      return this.#noteFailure(reasonOf(error));
    } finally {
      this.#writesUnderWay.give(session.subject);
    }
  }

  /** Renews a record, because the session was used recently. @returns whether the record exists; true if the store fails. */
  async renew(sessionId: string): Promise<boolean> {
    try {
      return await this.#sessions.renew(recordKey(sessionId), this.#lifeMs);
    } catch (error) {
      this.#noteFailure(reasonOf(error));
      return true;
    }
  }

  /**
   * Removes the record of a session that has ended; from now on, `find` returns `ended`. Always resolves: when the other processes that
   * have the session know of its end, or after a timeout.
   * @param known resolves when no write is in progress that would bring the record back.
   */
  async remove(session: OwnedSession, known: RecordState | Promise<RecordState>): Promise<void> {
    const name = nameOf(recordKey(session.id));
    this.#endingNames.add(name);
    const removal = { session, known: await known };
    if (!(await this.#tryRemove(removal))) return this.#keepFailedRemoval(name, removal);
    this.#endingNames.delete(name);
    if (this.#failedRemovals.size > 0) void this.#removeAgain();
  }

  async #tryRemove({ session, known }: Removal): Promise<boolean> {
    const key = recordKey(session.id);
    const there = { version: known.version, laterMarkMs: this.#lifeMs };
    const removed = await this.#removeFromStore(key, known.hasHadPeers, Infinity, there);
    if (removed === 'failed') return false;
    if (this.#sessions.peers === undefined) return true;
    const bytes = typeof removed === 'object' ? unsealRecord(session, removed.bytes) : undefined;
    await this.#notifyEnded(key, bytes === undefined ? known.listeners : (decodeSessionRecord(bytes).listeners ?? []));
    return true;
  }

  /** Keeps a removal that the store did not accept: it is retried later, and until then this process does not find the session. */
  #keepFailedRemoval(name: string, removal: Removal): void {
    this.#failedRemovals.set(name, removal);
    if (this.#failedRemovals.size <= SESSION_REMOVALS_KEPT) return;
    for (const oldest of this.#failedRemovals.keys()) return this.#forgetFailedRemoval(oldest);
  }

  #forgetFailedRemoval(name: string): void {
    this.#failedRemovals.delete(name);
    this.#endingNames.delete(name);
  }

  /** Retries failed removals one after the other, until one fails. */
  async #removeAgain(): Promise<void> {
    if (this.#isRemovingAgain) return;
    this.#isRemovingAgain = true;
    for (const [name, removal] of this.#failedRemovals) {
      if (!(await this.#tryRemove(removal))) break;
      this.#forgetFailedRemoval(name);
    }
    this.#isRemovingAgain = false;
  }

  async #notifyEnded(key: Buffer, listeners: readonly string[]): Promise<void> {
    const { peers } = this.#sessions;
    if (peers === undefined) return;
    const others = listeners.filter((each) => each !== peers.listener);
    if (others.length === 0) return;
    try {
      const unheardCount = await peers.tellEnded(key, others);
      if (unheardCount === 0) return;
      this.#unacknowledgedCount += unheardCount;
      const fields = { unheardCount: this.#unacknowledgedCount };
      const words =
        'another process did not confirm that it knows of the end of a session: it may still accept a request for it';
      this.#log.warn(this.#options.logger, words, fields, words);
    } catch (error) {
      this.#noteFailure(reasonOf(error));
    }
  }

  /** Sends data to the other processes that have the session; no other process can read the data. */
  sendToPeers(session: OwnedSession, listeners: readonly string[], bytes: Buffer): void {
    const { peers } = this.#sessions;
    if (peers === undefined) return;
    const others = listeners.filter((each) => each !== peers.listener);
    if (others.length === 0 || !this.#peerMessagesUnderWay.tryTake(session.subject)) return;
    peers
      .send(recordKey(session.id), others, sealRecord(session, bytes))
      .catch((error: unknown) => this.#noteFailure(reasonOf(error)))
      .finally(() => this.#peerMessagesUnderWay.give(session.subject));
  }

  /**
   * Removes a session that has been idle here for the idle timeout and a round of renewals.
   * @param wasChangedElsewhere whether another machine was seen to use the session, which is kept if that was within the idle timeout.
   */
  async removeIdle(sessionId: string, wasChangedElsewhere: boolean): Promise<'removed' | 'kept' | 'failed'> {
    const leftMsMax = wasChangedElsewhere ? this.#lifeMs - this.#options.idleTimeoutMs : Infinity;
    const removed = await this.#removeFromStore(recordKey(sessionId), true, leftMsMax);
    return removed === 'failed' ? removed : removed === false ? 'kept' : 'removed';
  }

  async #removeFromStore(
    key: Buffer,
    hasHadPeers: boolean,
    leftMsMax: number,
    known?: KnownVersion,
  ): Promise<boolean | SealedSession | 'failed'> {
    // If other processes had the session, the mark tells them of its end, however late they look. Otherwise the mark only stops writes that
    // are in progress.
    const markMs = hasHadPeers ? this.#lifeMs : Math.min(SESSION_MARK_MS, this.#lifeMs);
    try {
      return await this.#sessions.remove(key, markMs, leftMsMax, known);
    } catch (error) {
      return this.#noteFailure(reasonOf(error));
    }
  }

  async close(): Promise<void> {
    await this.#sessions.close();
  }

  #lookUp(session: OwnedSession): LookUp | Promise<LookUp> {
    const key = recordKey(session.id);
    const underWay: ReadUnderWay = { name: nameOf(key), isStale: false, isEnded: false };
    // Checked before the store is read, so that an ended session is not found even while the store fails.
    if (this.#endingNames.has(underWay.name)) return 'ended';
    const open = (read: SealedRead): LookUp => {
      if (underWay.isEnded || this.#endingNames.has(underWay.name)) return 'ended';
      if (typeof read !== 'object') return read ?? 'unknown';
      const bytes = unsealRecord(session, read.bytes);
      if (bytes === undefined) return 'unknown';
      return { record: decodeSessionRecord(bytes), version: read.version, isStale: underWay.isStale };
    };
    let read: SealedRead | Promise<SealedRead>;
    try {
      read = this.#sessions.read(key);
    } catch (error) {
      return this.#noteFailure(reasonOf(error));
    }
    if (!(read instanceof Promise)) return open(read);
    this.#lookUpsUnderWay += 1;
    if (this.isMultiMachine) this.#reads.add(underWay);
    return read
      .then(open, (error: unknown) => this.#noteFailure(reasonOf(error)))
      .finally(() => {
        this.#lookUpsUnderWay -= 1;
        this.#reads.delete(underWay);
        this.#beginWaiting();
      });
  }

  /** Begins waiting look-ups up to the limit. One would not do: if its session has ended, it reads nothing, and so begins no other. */
  #beginWaiting(): void {
    while (this.#lookUpsUnderWay < SESSION_LOOK_UPS_MAX) {
      const begin = this.#waitingLookUps.take();
      if (begin === undefined) return;
      begin();
    }
  }

  get #lifeMs(): number {
    return this.#options.idleTimeoutMs * RECORD_LIFE_FACTOR;
  }

  #noteFailure(reason: string): 'failed' {
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

function recordKey(sessionId: string): Buffer {
  return sessionKeys(sessionId).record;
}

function nameOf(key: Buffer): string {
  return key.toString('latin1');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
