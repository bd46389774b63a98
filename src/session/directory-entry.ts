// Keeps one session's record in the session directory current: the record is written when `initialize` has its outcome, and again whenever
// its contents change, one write at a time. If another process has written meanwhile, this one takes over the changes before its next
// write. Cold path: a few times per session.
//
//   opening ── `initialize` has its outcome ──> writing ── done, or failed ──> resting ── something has changed ──> writing
//   opening ── restored from a record ──> resting ── another process has changed the record ──> reading ── done, or failed ──> resting
//   opening, resting, writing, reading ── the session ends, or lives on elsewhere ──> over
//
// When another process has changed the record, it is read before the next request is served, and before the next write. A failed write is
// repeated when the store is back, and with the next change or renewal.
//
// Where several machines share the directory, the record lists the processes that have the session (its listeners). Each process is listed
// before it serves its first request: a process that ends the session waits until all listeners know.
import type {
  RecordState,
  LookUp,
  FoundSession,
  SessionDirectory,
  SessionWatcher,
  WriteOutcome,
} from './directory/session-directory.js';
import { type SessionRecord, type UpstreamRecord, unsealRecord } from './directory/session-record.js';
import type { DeadlineWheel } from '../fair/index.js';
import type { SessionIdentity } from './session-upstreams.js';

/** How long `initialize` waits for the write of its session's record. After that, the client gets the answer all the same. */
export const SESSION_WRITE_WAIT_MS_MAX = 1_000;
/** Listeners of one session in its record. Beyond that, the oldest is dropped when one is added. */
const SESSION_LISTENERS_MAX = 64;

interface RecordedSession {
  readonly identity: SessionIdentity;
  record(listeners: readonly string[] | undefined): SessionRecord;
  /**
   * Takes over what another process has changed.
   * @param base the upstream sessions as both processes last knew them.
   * @param isChanged whether this process has changes that are not written yet.
   */
  merge(theirs: SessionRecord, base: readonly UpstreamRecord[], isChanged: boolean): void;
}

/**
 * Reads and writes in a row that may be overtaken by other processes. After that, the entry waits for the next change, renewal or request:
 * writes to a record that cannot be opened would be overtaken for ever.
 */
const OVERTAKEN_TRIES_MAX = 8;

interface EntryEvents {
  onEnded(): void;
  onPeerMessage(bytes: Buffer): void;
}

type State = 'opening' | 'resting' | 'writing' | 'reading' | 'over';

export class DirectoryEntry implements SessionWatcher {
  readonly #directory: SessionDirectory;
  readonly #session: RecordedSession;
  readonly #events: EntryEvents;
  /** The version of the record as last written or read; 0 before that. */
  #version: number;
  /** The upstream sessions in the record as last written or read; empty where no other process can change them. */
  #baseUpstreams: readonly UpstreamRecord[] = [];
  #state: State = 'opening';
  #triesLeft = OVERTAKEN_TRIES_MAX;
  /** Whether the session has changed since the current or latest write began. */
  #isDirty = false;
  /** Whether another process has changed the record since it was read. */
  #isOutdated = false;
  /** Whether the next request must wait until changes by other processes have been read and the record lists this process. */
  isStale = false;
  /**
   * Whether the session was used since the last round of renewals; `quiet`: neither since then nor in the round before. Changed only here;
   * a caller that uses the session calls `onUsed`, unless this is `used` already.
   */
  recentUse: 'used' | 'unused' | 'quiet' = 'used';
  #writeUnderWay: Promise<void> | undefined;
  /** Called once the session is up to date and the record lists this process, or once that has failed. */
  #settledCallbacks: (() => void)[] = [];
  #listeners: readonly string[];
  /** Whether another process has, or had, the session too. */
  hasHadPeers: boolean;

  /** @param adopted the record that the session was created from, if another process opened it. */
  constructor(
    directory: SessionDirectory,
    session: RecordedSession,
    events: EntryEvents,
    adopted?: Pick<FoundSession, 'version' | 'isStale' | 'record'>,
  ) {
    this.#directory = directory;
    this.#session = session;
    this.#events = events;
    this.#version = adopted?.version ?? 0;
    this.#setBaseUpstreams(adopted?.record.upstreams ?? []);
    this.#listeners = adopted?.record.listeners ?? [];
    if (adopted !== undefined) this.#transition(['opening'], 'resting');
    this.hasHadPeers = adopted !== undefined;
    directory.watch(session.identity.id, this);
    if (adopted?.isStale === true) this.onChangedElsewhere();
    this.isStale ||= adopted !== undefined && !this.isListed;
  }

  /** Whether the record lists this process. True where processes cannot be listed. */
  get isListed(): boolean {
    const { listener } = this.#directory;
    return listener === undefined || this.#listeners.includes(listener);
  }

  /** Whether another process would continue the session as it is now. */
  get isRecordCurrent(): boolean {
    return this.#version > 0 && !this.#isDirty && this.#state !== 'writing';
  }

  /** Whether another process could continue the session, perhaps from a slightly older state. */
  get hasRecord(): boolean {
    return this.#version > 0;
  }

  /** Whether other processes know this upstream session, so that they can end or continue it. */
  isRecorded(backendName: string, upstreamSessionId: string): boolean {
    if (!this.#directory.isMultiMachine) return true;
    return this.#baseUpstreams.some((each) => each.backendName === backendName && each.sessionId === upstreamSessionId);
  }

  /** Writes the first record. @param onSettled called once: when it is written, could not be written, or takes too long. */
  begin(deadlines: DeadlineWheel, onSettled: () => void): void {
    const deadline = deadlines.after(SESSION_WRITE_WAIT_MS_MAX, () => this.#callWaiting());
    this.#settledCallbacks.push(() => {
      deadline.cancel();
      onSettled();
    });
    this.#write();
  }

  onChanged(): void {
    if (this.#state === 'over' || this.#state === 'opening') return;
    this.#isDirty = true;
    this.#triesLeft = OVERTAKEN_TRIES_MAX;
    this.#startNext();
  }

  onUsed(): void {
    // A renewal tells other machines at once that the session is in use again. After that, the regular renewals do.
    if (this.recentUse === 'quiet') this.renew();
    this.recentUse = 'used';
  }

  onRenewalRound(isBusy: boolean): void {
    if (isBusy || this.recentUse === 'used') {
      this.renew();
      this.recentUse = 'unused';
    } else this.recentUse = 'quiet';
  }

  renew(): void {
    if (this.#state !== 'resting') return;
    if (this.#version === 0) this.#isDirty = true;
    this.#triesLeft = OVERTAKEN_TRIES_MAX;
    if (this.#isDirty) this.#startNext();
    else void this.#directory.renew(this.#session.identity.id).then((isThere) => isThere || this.#onRecordMissing());
  }

  /** Takes over other processes' changes, and lists this process in the record. Resolves also if that fails. */
  settle(): Promise<void> {
    if (this.#state === 'over') return Promise.resolve();
    this.#isDirty ||= !this.isListed;
    if (this.#settledCallbacks.length === 0) this.#triesLeft = OVERTAKEN_TRIES_MAX;
    const settled = new Promise<void>((resolve) => this.#settledCallbacks.push(resolve));
    this.#startNext();
    return settled;
  }

  /** Stops writing and watching the record: another process continues the session, or may do so. */
  detach(): void {
    if (this.#transition(['opening', 'resting', 'writing', 'reading'], 'over'))
      this.#directory.unwatch(this.#session.identity.id);
    this.#callWaiting();
  }

  /** Removes the record of an ended session. @returns resolved when other machines know of the end; `undefined` without other machines. */
  remove(): Promise<void> | undefined {
    const isWritten = this.#state !== 'opening' && this.#state !== 'over';
    this.detach();
    if (!isWritten) return undefined;
    const known = (): RecordState => ({
      version: this.#version,
      hasHadPeers: this.hasHadPeers,
      listeners: this.#listeners,
    });
    const removed = this.#directory.remove(this.#session.identity, this.#writeUnderWay?.then(known) ?? known());
    return this.#directory.isMultiMachine ? removed : undefined;
  }

  /**
   * Called when the session has been idle here for too long. Asks the directory whether other processes use it, if any can.
   * @returns `over`: the session ends everywhere; `elsewhere`: another process continues it.
   */
  onIdle(): 'over' | Promise<'over' | 'elsewhere'> {
    if (!this.#directory.isMultiMachine || this.#version === 0 || this.#state === 'over') return 'over';
    return this.#checkIdle();
  }

  async #checkIdle(): Promise<'over' | 'elsewhere'> {
    const wasChangedElsewhere = this.#isOutdated;
    // To end the session, this process must know the upstream sessions that others have opened.
    if (wasChangedElsewhere) await this.settle();
    if (this.#state === 'over' || this.#isOutdated) return 'elsewhere';
    const outcome = await this.#directory.removeIdle(this.#session.identity.id, wasChangedElsewhere);
    // If the directory fails, another process counts as having the session only if it was seen to change the record.
    return outcome === 'removed' || (outcome === 'failed' && !wasChangedElsewhere) ? 'over' : 'elsewhere';
  }

  onChangedElsewhere(): void {
    this.hasHadPeers = true;
    this.#isOutdated = this.isStale = true;
    // Also called when the store is reachable again: then a failed write is repeated.
    if (this.#isDirty) this.#startNext();
  }

  sendToPeers(bytes: Buffer): void {
    this.#directory.sendToPeers(this.#session.identity, this.#listeners, bytes);
  }

  onPeerMessage(sealed: Buffer): void {
    const bytes = unsealRecord(this.#session.identity, sealed);
    if (bytes !== undefined) this.#events.onPeerMessage(bytes);
  }

  onEndedElsewhere(): void {
    this.#events.onEnded();
  }

  #callWaiting(): void {
    for (const onSettled of this.#settledCallbacks.splice(0)) onSettled();
  }

  /** Called when a renewal has found no record. Requests wait until the record has been read or written again. */
  #onRecordMissing(): void {
    this.#isOutdated = this.isStale = true;
    void this.settle();
  }

  /** Starts the next read or write, if none is in progress. */
  #startNext(): void {
    if (this.#state !== 'resting') return;
    const isDue = this.#isDirty || this.#settledCallbacks.length > 0;
    if (this.#isOutdated && isDue && this.#triesLeft > 0) return this.#read();
    if (this.#isDirty && this.#triesLeft > 0) this.#write();
    if (this.#state === 'resting' || (!this.#isOutdated && this.isListed)) this.#rest();
  }

  /** Lets waiting requests go on: nothing is read or written before the next change, renewal or request. */
  #rest(): void {
    this.isStale = this.#isOutdated;
    this.#callWaiting();
  }

  #write(): void {
    const record = this.#session.record(this.#nextListeners());
    this.#transition(['opening', 'resting'], 'writing');
    this.#isDirty = false;
    const write = this.#directory.write(this.#session.identity, record, this.#version);
    this.#writeUnderWay = write.then((outcome) => this.#onWritten(outcome, record));
  }

  #nextListeners(): readonly string[] | undefined {
    const { listener } = this.#directory;
    if (this.isListed || listener === undefined) return this.#listeners.length === 0 ? undefined : this.#listeners;
    return [...this.#listeners.slice(1 - SESSION_LISTENERS_MAX), listener];
  }

  #onWritten(outcome: WriteOutcome, { upstreams, listeners = [] }: SessionRecord): void {
    this.#writeUnderWay = undefined;
    this.#transition(['writing'], 'resting');
    if (outcome === 'written') {
      this.#version += 1;
      this.#triesLeft = OVERTAKEN_TRIES_MAX;
      this.#listeners = listeners;
      this.#setBaseUpstreams(upstreams);
    } else {
      this.#isDirty = true;
      this.#triesLeft -= 1;
    }
    // The worker that replaced this one has written or ended the record since, without the upstream sessions opened here: they are lost.
    if (outcome === 'overtaken' && this.#hasSuccessor) return this.detach();
    if (outcome === 'overtaken' && this.#triesLeft > 0) this.#isOutdated = this.isStale = true;
    // A failed write is repeated at once only if the store has become reachable since it began.
    if (this.#state === 'over' || (outcome === 'failed' && !this.#isOutdated)) this.#rest();
    else this.#startNext();
  }

  get #hasSuccessor(): boolean {
    return this.#directory.isRetired && !this.#directory.isMultiMachine;
  }

  #read(): void {
    this.#transition(['resting'], 'reading');
    void Promise.resolve(this.#directory.find(this.#session.identity)).then((found) => {
      if (this.#state === 'reading') this.#onRead(found);
    });
  }

  #onRead(found: LookUp): void {
    if (found === 'ended') return this.#events.onEnded();
    if (found === 'unknown' && this.#hasSuccessor) return this.detach();
    const isRead = found !== 'failed' && found !== 'full';
    // The state is still `reading`, so that no write begins when the changes that are taken over are reported (`onChanged`).
    if (isRead) this.#takeOver(found);
    this.#transition(['reading'], 'resting');
    // If the read has failed, the session continues with the state known here.
    if (isRead) this.#startNext();
    else this.#rest();
  }

  #takeOver(found: Exclude<LookUp, 'ended' | 'failed' | 'full'>): void {
    this.#isOutdated = found !== 'unknown' && found.isStale;
    if (this.#isOutdated) this.#triesLeft -= 1;
    // The store has lost the record, although the session lives: the record is written again.
    if (found === 'unknown') this.#isDirty = true;
    const version = found === 'unknown' ? 0 : found.version;
    if (version === this.#version) return;
    this.#version = version;
    if (found === 'unknown') return;
    this.#listeners = found.record.listeners ?? [];
    const isChanged = this.#isDirty;
    this.#session.merge(found.record, this.#baseUpstreams, isChanged);
    // What was taken over need not be written again, but this process must be listed.
    this.#isDirty = isChanged || !this.isListed;
    this.#setBaseUpstreams(found.record.upstreams);
  }

  #setBaseUpstreams(upstreams: readonly UpstreamRecord[]): void {
    if (this.#directory.isMultiMachine) this.#baseUpstreams = upstreams;
  }

  #transition(from: readonly State[], to: State): boolean {
    if (!from.includes(this.#state)) return false;
    this.#state = to;
    return true;
  }
}
