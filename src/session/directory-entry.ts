// One session's entry in the session directory: its record is written when `initialize` has its outcome, and again whenever its
// contents change, one write at a time. A process that finds that another process has written meanwhile takes over the other's changes
// and then writes its own. Cold path: a few times per session.
//
//   opening ── `initialize` has its outcome ──> writing ── done, or failed ──> resting ── something has changed ──> writing
//   opening ── made of what is written ──> resting ── another process has changed the record ──> reading ── done, or failed ──> resting
//   opening, resting, reading ── the session ends, or lives on elsewhere ──> over
//   writing ── the session ends, or lives on elsewhere ──> leaving ── done, or failed ──> over
//   over ── `initialize` has its outcome after the session has ended ──> leaving
//
// In any state, another process may have changed the record: it is read before the next request is served, and before the next write.
//
// Where several machines share the directory, the record lists the processes that have the session (its listeners). Each process makes
// sure that it is listed before it serves its first request: a process that ends the session waits until all of them have heard of it.
import type {
  LookUp,
  FoundSession,
  SessionDirectory,
  SessionWatcher,
  WriteOutcome,
} from './directory/session-directory.js';
import type { SessionRecord, UpstreamRecord } from './directory/session-record.js';
import type { DeadlineWheel } from '../fair/index.js';
import type { SessionIdentity } from './session-plan.js';

/** Time that an `initialize` waits for its session's record to be written. After that, it is answered without waiting longer. */
export const SESSION_WRITE_WAIT_MS_MAX = 1_000;
/** Processes that a record names as holders of the session, to be told of its end. Beyond that, the oldest is dropped when one is added. */
const SESSION_LISTENERS_MAX = 64;

/** The part of a session that its record covers. */
interface RecordedSession {
  readonly identity: SessionIdentity;
  /** The next request waits until changes by other processes have been read, and the record lists this process. */
  isStale: boolean;
  /** The current record. @param listeners processes that have the session. */
  record(listeners: readonly string[] | undefined): SessionRecord;
  /**
   * Takes over what another process has changed.
   * @param base the upstream sessions as both processes last knew them.
   * @param isChanged whether this process has changes of its own that are not written yet.
   */
  merge(theirs: SessionRecord, base: readonly UpstreamRecord[], isChanged: boolean): void;
}

/**
 * How many times in a row other processes may overtake a write, or a read, before the next change, renewal or request is waited for: a
 * stored record that cannot be read would overtake every write.
 */
const TRIES_MAX = 8;

interface EntryEvents {
  /** Another process has ended the session. */
  onEnded(): void;
  /** Another process that has the session has sent this notice (peer-notices.ts). */
  onPassed(bytes: Buffer): void;
}

type State = 'opening' | 'resting' | 'writing' | 'reading' | 'leaving' | 'over';

export class DirectoryEntry implements SessionWatcher {
  readonly #directory: SessionDirectory;
  readonly #session: RecordedSession;
  readonly #events: EntryEvents;
  /** Version of the record as last written or read; 0 before that. */
  #version: number;
  /** The upstream sessions in that record; kept only where other processes may change them. */
  #base: readonly UpstreamRecord[] = [];
  #state: State = 'opening';
  #triesLeft = TRIES_MAX;
  /** Whether the session has changed since the current or latest write began. */
  #isDirty = false;
  /** Whether another process has changed the record since it was read. */
  #isOutdated = false;
  /** Whether it is read next. */
  #isReadDue = false;
  #isEndedElsewhere = false;
  /** Called when the record has been removed, which waits for the write in progress. */
  #onRemoved: (() => void) | undefined;
  /** Those who wait until the session is up to date and the record lists this process, or that has failed. */
  #waiting: (() => void)[] = [];
  /** The processes that the record lists. */
  #listeners: readonly string[];
  /** Whether another process has, or had, the session too. */
  #wasShared: boolean;

  /**
   * @param begun the record that the session was made from; `undefined` for a new session.
   */
  constructor(
    directory: SessionDirectory,
    session: RecordedSession,
    events: EntryEvents,
    begun?: Pick<FoundSession, 'version' | 'isStale' | 'record'>,
  ) {
    this.#directory = directory;
    this.#session = session;
    this.#events = events;
    this.#version = begun?.version ?? 0;
    this.#setBase(begun?.record.upstreams ?? []);
    this.#listeners = begun?.record.listeners ?? [];
    if (begun !== undefined) this.#transition(['opening'], 'resting');
    this.#wasShared = begun !== undefined;
    directory.watch(session.identity.id, this);
    if (begun?.isStale === true) this.onChangedElsewhere();
    if (begun !== undefined && !this.isListed) session.isStale = true;
  }

  /** Whether the record lists this process; true where processes cannot be listed. */
  get isListed(): boolean {
    const { listener } = this.#directory;
    return listener === undefined || this.#listeners.includes(listener);
  }

  get #isOver(): boolean {
    return this.#state === 'leaving' || this.#state === 'over';
  }

  /** Whether the record is current: another process would continue the session as it is now. */
  get isWritten(): boolean {
    return this.#version > 0 && !this.#isDirty && this.#state !== 'writing' && this.#state !== 'leaving';
  }

  /** Whether another process could continue the session, perhaps from a slightly older state. */
  get isKnown(): boolean {
    return this.#version > 0;
  }

  /** Whether another process has, or had, the session, too. */
  get wasShared(): boolean {
    return this.#wasShared;
  }

  /** Whether other processes know this open upstream session, so that they can end or continue it. */
  knows(backendName: string, upstreamSessionId: string): boolean {
    if (!this.#directory.isShared) return true;
    return this.#base.some((each) => each.backendName === backendName && each.sessionId === upstreamSessionId);
  }

  /** Writes the first record. @param onSettled called once: when it is written, could not be written, or takes too long. */
  begin(deadlines: DeadlineWheel, onSettled: () => void): void {
    const deadline = deadlines.after(SESSION_WRITE_WAIT_MS_MAX, () => this.#endWaiting());
    this.#waiting.push(() => {
      deadline.cancel();
      onSettled();
    });
    this.#write();
  }

  /** Something that the record contains has changed. */
  onChanged(): void {
    if (this.#isOver || this.#state === 'opening') return;
    this.#isDirty = true;
    this.#triesLeft = TRIES_MAX;
    this.#goOn();
  }

  /** The session was used recently: renews its record. */
  renew(): void {
    if (this.#state !== 'resting') return;
    if (this.#version === 0) this.#isDirty = true;
    this.#triesLeft = TRIES_MAX;
    if (this.#isDirty) this.#goOn();
    else void this.#directory.renew(this.#session.identity.id).then((isThere) => isThere || this.#readAgain());
  }

  /**
   * Brings a stale session up to date with other processes, and lists this process in the record. Always resolves, also when that fails
   * or the session is over.
   */
  settle(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    // A read in progress says whether there is more to read: those who come meanwhile wait for that one, and for no more tries.
    if (this.#state !== 'reading') this.#isReadDue ||= this.#isOutdated;
    this.#isDirty ||= !this.isListed;
    if (this.#waiting.length === 0) this.#triesLeft = TRIES_MAX;
    const settled = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#goOn();
    return settled;
  }

  /** Lets go of the record: the session continues in another process, or in its record alone. */
  letGo(): void {
    if (!this.#isOver) this.#directory.unwatch(this.#session.identity.id);
    if (!this.#transition(['opening', 'resting', 'reading'], 'over')) this.#transition(['writing'], 'leaving');
    this.#endWaiting();
  }

  /** The session has ended. @returns a promise resolved when other machines know; `undefined` where there are none. */
  remove(): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    const wasBegun = this.#state !== 'opening';
    this.letGo();
    if (!wasBegun) return undefined;
    const removed = this.#state === 'leaving' ? this.#removeWritten() : this.#removeNow();
    return this.#directory.isShared ? removed : undefined;
  }

  /** Waits for the write in progress, which would bring the record back. */
  #removeWritten(): Promise<void> {
    this.#directory.onEnding(this.#session.identity.id);
    return new Promise((resolve) => (this.#onRemoved = resolve));
  }

  #removeNow(): Promise<void> {
    const { identity } = this.#session;
    const known = { version: this.#version, wasShared: this.#wasShared, listeners: this.#listeners };
    return this.#directory.remove(identity.id, identity, known);
  }

  /**
   * The session has been idle here for too long. If others may use it, the directory is asked whether they do.
   * @returns `over`: the session ends everywhere; `elsewhere`: another process continues it. A promise only when the directory is asked.
   */
  onIdle(): 'over' | Promise<'over' | 'elsewhere'> {
    if (!this.#directory.isShared || this.#version === 0 || this.#isOver) return 'over';
    return this.#askWhetherIdle();
  }

  async #askWhetherIdle(): Promise<'over' | 'elsewhere'> {
    const isRenewedElsewhere = this.#isOutdated;
    // A process that ends the session must know the upstream sessions that others have opened.
    if (isRenewedElsewhere) await this.settle();
    if (this.#isOver || this.#isOutdated) return 'elsewhere';
    const outcome = await this.#directory.removeIdle(this.#session.identity.id, isRenewedElsewhere);
    // If the directory cannot tell and no renewal by another process was seen, nobody else has the session.
    return outcome === 'removed' || (outcome === 'failed' && !isRenewedElsewhere) ? 'over' : 'elsewhere';
  }

  /** For `SessionDirectory`. */
  onChangedElsewhere(): void {
    this.#wasShared = true;
    this.#isOutdated = this.#session.isStale = true;
  }

  /** Whether other processes have the session, as far as is known. */
  get hasPeers(): boolean {
    return this.#listeners.some((each) => each !== this.#directory.listener);
  }

  /** Sends a notice to the other processes that have the session. */
  pass(bytes: Buffer): void {
    const { identity } = this.#session;
    this.#directory.pass(identity.id, identity, this.#listeners, bytes);
  }

  onPassed(sealed: Buffer): void {
    const { identity } = this.#session;
    const bytes = this.#directory.unsealPassed(identity.id, identity, sealed);
    if (bytes !== undefined) this.#events.onPassed(bytes);
  }

  onEndedElsewhere(): void {
    this.#isEndedElsewhere = true;
    this.onChangedElsewhere();
  }

  #endWaiting(): void {
    for (const onSettled of this.#waiting.splice(0)) onSettled();
  }

  #readAgain(): void {
    // Further requests wait for this read, too.
    this.#isOutdated = this.#session.isStale = true;
    this.#isReadDue = true;
    this.#goOn();
  }

  /** Takes the next step, if none is in progress. */
  #goOn(): void {
    if (this.#state !== 'resting') return;
    if (this.#isReadDue && this.#triesLeft > 0) return this.#read();
    if (this.#isDirty && this.#triesLeft > 0) this.#write();
    if (this.#state === 'resting' || (!this.#isOutdated && this.isListed)) this.#rest();
  }

  /** Nothing that requests wait for is done before the next change, renewal or request. */
  #rest(): void {
    this.#session.isStale = this.#isOutdated;
    this.#endWaiting();
  }

  #write(): void {
    const { identity } = this.#session;
    const record = this.#session.record(this.#listenersNow());
    if (!this.#transition(['opening', 'resting'], 'writing')) this.#transition(['over'], 'leaving');
    this.#isDirty = false;
    const write = this.#directory.write(identity.id, identity, record, this.#version);
    void write.then((outcome) => this.#onWritten(outcome, record));
  }

  /** The listeners for the next record, including this process; `undefined` if there are none. */
  #listenersNow(): readonly string[] | undefined {
    const { listener } = this.#directory;
    if (this.isListed || listener === undefined) return this.#listeners.length === 0 ? undefined : this.#listeners;
    return [...this.#listeners.slice(1 - SESSION_LISTENERS_MAX), listener];
  }

  #onWritten(outcome: WriteOutcome, { upstreams, listeners = [] }: SessionRecord): void {
    if (!this.#transition(['writing'], 'resting')) this.#transition(['leaving'], 'over');
    if (outcome === 'written') {
      this.#version += 1;
      this.#triesLeft = TRIES_MAX;
      this.#listeners = listeners;
      this.#setBase(upstreams);
    } else {
      this.#isDirty = true;
      this.#triesLeft -= 1;
    }
    if (this.#onRemoved !== undefined) void this.#removeNow().then(this.#onRemoved);
    // The successor of this process has written or ended the session: upstream sessions opened here are lost with this process.
    else if (outcome === 'overtaken' && this.#isSucceeded) this.letGo();
    // A failed write is tried again with the next change or renewal.
    else if (this.#isOver || outcome === 'failed') this.#rest();
    else if (outcome === 'overtaken' && this.#triesLeft > 0) this.#readAgain();
    else this.#goOn();
  }

  get #isSucceeded(): boolean {
    return this.#directory.isRetired && !this.#directory.isShared;
  }

  #read(): void {
    const { identity } = this.#session;
    this.#transition(['resting'], 'reading');
    this.#isReadDue = false;
    void Promise.resolve(this.#directory.find(identity.id, identity)).then((found) => {
      if (this.#state === 'reading') this.#onRead(this.#isEndedElsewhere ? 'ended' : found);
    });
  }

  #onRead(found: LookUp): void {
    if (found === 'ended') return this.#events.onEnded();
    if (found === 'unknown' && this.#isSucceeded) return this.letGo();
    // If the read has failed, the session continues in the state that this process knows.
    if (found === 'failed' || found === 'full') this.#isReadDue = false;
    else {
      this.#isOutdated = this.#isReadDue = found !== 'unknown' && found.isStale;
      if (this.#isReadDue) this.#triesLeft -= 1;
      // The directory has lost the record although the session lives.
      if (found === 'unknown') this.#isDirty = true;
      // Still reading, so that what is taken over does not count as a change to be written.
      this.#takeOver(found);
    }
    this.#transition(['reading'], 'resting');
    this.#goOn();
  }

  #takeOver(found: Exclude<LookUp, 'ended' | 'failed' | 'full'>): void {
    const version = found === 'unknown' ? 0 : found.version;
    if (version === this.#version) return;
    this.#version = version;
    if (found === 'unknown') return;
    this.#listeners = found.record.listeners ?? [];
    const isChanged = this.#isDirty;
    this.#session.merge(found.record, this.#base, isChanged);
    // Changes taken over need not be written again, but a record that does not list this process must be.
    this.#isDirty = isChanged || !this.isListed;
    this.#setBase(found.record.upstreams);
  }

  #setBase(upstreams: readonly UpstreamRecord[]): void {
    if (this.#directory.isShared) this.#base = upstreams;
  }

  /** The one writer of the state. */
  #transition(from: readonly State[], to: State): boolean {
    if (!from.includes(this.#state)) return false;
    this.#state = to;
    return true;
  }
}
