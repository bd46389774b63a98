// What one session has in the directory: its record is written when `initialize` has its outcome, and again whenever what is
// in it has changed, one write at a time. Who finds that another process has written meanwhile takes over what that one has
// changed, and writes its own changes behind it. Cold: a few times a session.
//
//   unbegun ── `initialize` has its outcome ──> writing ── done, or failed ──> resting ── something has changed ──> writing
//   unbegun ── made of what is written ──> resting
//   unbegun, resting ── the session ends, or lives on elsewhere ──> over
//   writing ── the same ──> leaving ── done, or failed ──> over ── `initialize` has its outcome all the same ──> leaving
//
// Whatever the state, another process may have changed what is written: then it is read, and nothing is written until that
// is here.
//
// Where several machines share it, the record names the processes that have the session, and each sees to it that it is one of them
// before it serves the first request: who ends the session waits until all of them have heard of it.
import type {
  FoundSession,
  LookUp,
  SessionDirectory,
  WriteOutcome,
} from '../../session-directory/session-directory.js';
import type { SessionRecord, UpstreamRecord } from '../../session-directory/session-record.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { SessionIdentity } from './session-plan.js';

/** A session, as far as it is written down. */
export interface RecordedSession {
  readonly identity: SessionIdentity;
  /** The next request waits until it is known what another process has changed, and others know that this one has the session. */
  isStale: boolean;
  /** As it is now. @param listeners processes that have the session. */
  record(listeners: readonly string[] | undefined): SessionRecord;
  /**
   * Takes over what another process has changed.
   * @param base upstream sessions as both knew them.
   * @param isChanged whether something has changed here, too.
   */
  merge(theirs: SessionRecord, base: readonly UpstreamRecord[], isChanged: boolean): void;
}

/** While others change what is read, it is read anew: so often at most before the session goes on with what it knows. */
const READS_MAX = 3;
/**
 * Others are first so often in a row at most before the next change, or renewal, is waited for: what is there may be nothing that can be
 * read, and then every write would find it again.
 */
const OVERTAKEN_MAX = 8;
/** So often at most a request waits for a write behind what was read. */
const WRITES_MAX = 3;

export interface EntryEvents {
  /** Another process has ended the session. */
  onEnded(): void;
  /** Another process that has the session has passed this on. */
  onPassed(bytes: Buffer): void;
}

type State = 'unbegun' | 'resting' | 'writing' | 'leaving' | 'over';

export class DirectoryEntry {
  readonly #directory: SessionDirectory;
  readonly #session: RecordedSession;
  readonly #events: EntryEvents;
  /** Of the record as last written or read; 0 before. */
  #version: number;
  /** Its upstream sessions, where others may change them. */
  #base: readonly UpstreamRecord[] = [];
  #state: State = 'unbegun';
  /** Since it was last written, changed or renewed. */
  #overtakenCount = 0;
  /** Changed since the write that is under way, or last, began. */
  #isDirty = false;
  /** Called when it is removed, once what is being written is. */
  #onRemoved: (() => void) | undefined;
  #onBegun: (() => void) | undefined;
  /** Another process has changed it since it was read. */
  #isOutdated = false;
  #isEndedElsewhere = false;
  #refreshing: Promise<void> | undefined;
  #settling: Promise<void> | undefined;
  /** Who waits for the write that is under way, or next. */
  #onWrite: ((outcome: WriteOutcome) => void)[] = [];
  /** As the record has them. */
  #listeners: readonly string[];
  /** Whether another machine has, or had, the session, too. */
  #wasShared: boolean;

  /**
   * @param begun what the session was made of, unless it is new.
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
    if (begun !== undefined) this.#transition('unbegun', 'resting');
    this.#wasShared = begun !== undefined;
    directory.watch(session.identity.id, {
      onChanged: () => this.#onChangedElsewhere(),
      onEnded: () => this.#onEndedElsewhere(),
      onPassed: (sealed) => this.#onPassed(sealed),
    });
    if (begun?.isStale === true) this.#onChangedElsewhere();
    if (begun !== undefined && !this.isListed) session.isStale = true;
  }

  /** Whether the record names this process, as far as it can. */
  get isListed(): boolean {
    const { listener } = this.#directory;
    return listener === undefined || this.#listeners.includes(listener);
  }

  get #isOver(): boolean {
    return this.#state === 'leaving' || this.#state === 'over';
  }

  get #isWriting(): boolean {
    return this.#state === 'writing' || this.#state === 'leaving';
  }

  /** Whether another process would go on with the session as it is now. */
  get isWritten(): boolean {
    return this.#version > 0 && !this.#isDirty && !this.#isWriting;
  }

  /** Whether another process could go on with the session, be it as it was a moment ago. */
  get isKnown(): boolean {
    return this.#version > 0;
  }

  /** Whether another process has, or had, the session, too. */
  get wasShared(): boolean {
    return this.#wasShared;
  }

  /** Whether others know of this open upstream session: they end it, or go on with it. */
  knows(backendName: string, upstreamSessionId: string): boolean {
    if (!this.#directory.isShared) return true;
    return this.#base.some((each) => each.backendName === backendName && each.sessionId === upstreamSessionId);
  }

  /** There is a session to be kept. @param onSettled called once: when it is written, could not be, or takes too long. */
  begin(deadlines: DeadlineWheel, onSettled: () => void): void {
    const deadline = deadlines.after(limits.sessionWriteWaitMsMax, () => this.#endBeginning());
    this.#onBegun = () => {
      deadline.cancel();
      onSettled();
    };
    this.#write();
  }

  /** Something has changed that is in the record. */
  onChanged(): void {
    if (this.#isOver || this.#state === 'unbegun') return;
    this.#isDirty = true;
    this.#overtakenCount = 0;
    this.#writeIfDirty();
  }

  /** The session was used of late. */
  renew(): void {
    if (this.#state !== 'resting') return;
    if (this.#version === 0) this.#isDirty = true;
    this.#overtakenCount = 0;
    if (this.#isDirty) this.#writeIfDirty();
    else void this.#directory.renew(this.#session.identity.id).then((isThere) => isThere || void this.refresh());
  }

  /** Reads what is written now: another process has changed it. Resolved when the session is as it, or over; always. */
  refresh(): Promise<void> {
    return (this.#refreshing ??= this.#refresh());
  }

  /**
   * The session is stale. Resolved when it is as other processes have left it and they know that this one has it, or when that could
   * not be had, or when it is over; always.
   */
  settle(): Promise<void> {
    return (this.#settling ??= this.#settle());
  }

  async #settle(): Promise<void> {
    for (let writesLeft = WRITES_MAX; writesLeft > 0; writesLeft -= 1) {
      if (this.#isOutdated) await this.refresh();
      if (this.#isOver || this.isListed || (await this.#written()) === 'failed') break;
    }
    this.#session.isStale = this.#isOutdated;
    this.#settling = undefined;
  }

  #written(): Promise<WriteOutcome> {
    return new Promise((resolve) => {
      this.#onWrite.push(resolve);
      if (this.#isWriting) return;
      this.#isDirty = true;
      this.#writeIfDirty();
    });
  }

  /** The session lives on elsewhere, or in its record alone. */
  letGo(): void {
    if (!this.#isOver) this.#directory.unwatch(this.#session.identity.id);
    if (!this.#transition('resting', 'over') && !this.#transition('unbegun', 'over'))
      this.#transition('writing', 'leaving');
    this.#endWaiting('failed');
  }

  /** The session has ended. @returns when other machines know, where there may be any. */
  remove(): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    const wasBegun = this.#state !== 'unbegun';
    this.letGo();
    if (!wasBegun) return undefined;
    const removed = this.#isWriting ? this.#removeWritten() : this.#removeNow();
    return this.#directory.isShared ? removed : undefined;
  }

  /** What is being written would come back. */
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
   * The session has idled here for too long. Where others may use it, the place is asked whether they do.
   * @returns `over`: it ends, here and everywhere; `elsewhere`: another process goes on with it. Without a promise where that is known.
   */
  onIdle(): 'over' | Promise<'over' | 'elsewhere'> {
    if (!this.#directory.isShared || this.#version === 0 || this.#isOver) return 'over';
    return this.#askWhetherIdle();
  }

  async #askWhetherIdle(): Promise<'over' | 'elsewhere'> {
    const isRenewedElsewhere = this.#isOutdated;
    // Who ends it must know the upstream sessions that others have opened.
    if (isRenewedElsewhere) await this.refresh();
    if (this.#isOver || this.#isOutdated) return 'elsewhere';
    const outcome = await this.#directory.removeIdle(this.#session.identity.id, isRenewedElsewhere);
    // Of a place that cannot say nothing else was heard than that nobody has it.
    return outcome === 'removed' || (outcome === 'failed' && !isRenewedElsewhere) ? 'over' : 'elsewhere';
  }

  #onChangedElsewhere(): void {
    this.#wasShared = true;
    this.#isOutdated = this.#session.isStale = true;
  }

  /** Whether there are others that have the session, for all that is known. */
  get hasPeers(): boolean {
    return this.#listeners.some((each) => each !== this.#directory.listener);
  }

  /** Passes something on to them. */
  pass(bytes: Buffer): void {
    const { identity } = this.#session;
    this.#directory.pass(identity.id, identity, this.#listeners, bytes);
  }

  #onPassed(sealed: Buffer): void {
    const { identity } = this.#session;
    const bytes = this.#directory.unsealPassed(identity.id, identity, sealed);
    if (bytes !== undefined) this.#events.onPassed(bytes);
  }

  #onEndedElsewhere(): void {
    this.#isEndedElsewhere = true;
    this.#onChangedElsewhere();
  }

  #endBeginning(): void {
    const onBegun = this.#onBegun;
    this.#onBegun = undefined;
    onBegun?.();
  }

  #endWaiting(outcome: WriteOutcome): void {
    for (const onWrite of this.#onWrite.splice(0)) onWrite(outcome);
  }

  #writeIfDirty(): void {
    if (this.#isDirty && !this.#isOver && !this.#isWriting && this.#refreshing === undefined) this.#write();
  }

  #write(): void {
    const { identity } = this.#session;
    const record = this.#session.record(this.#listenersNow());
    if (!this.#transition('resting', 'writing') && !this.#transition('unbegun', 'writing'))
      this.#transition('over', 'leaving');
    this.#isDirty = false;
    const write = this.#directory.write(identity.id, identity, record, this.#version);
    void write.then((outcome) => this.#onWritten(outcome, record));
  }

  /** This process among them; `undefined` where there are none. */
  #listenersNow(): readonly string[] | undefined {
    const { listener } = this.#directory;
    if (this.isListed || listener === undefined) return this.#listeners.length === 0 ? undefined : this.#listeners;
    return [...this.#listeners.slice(1 - limits.sessionListenersMax), listener];
  }

  #onWritten(outcome: WriteOutcome, { upstreams, listeners = [] }: SessionRecord): void {
    if (!this.#transition('writing', 'resting')) this.#transition('leaving', 'over');
    if (outcome === 'written') {
      this.#version += 1;
      this.#overtakenCount = 0;
      this.#listeners = listeners;
      this.#setBase(upstreams);
    } else {
      this.#isDirty = true;
      if (outcome === 'overtaken') this.#overtakenCount += 1;
    }
    if (this.#onRemoved !== undefined) void this.#removeNow().then(this.#onRemoved);
    // It is its successor's, who has written it or ended it: what was opened here is lost with this process.
    else if (outcome === 'overtaken' && this.#directory.isRetired && !this.#directory.isShared) this.letGo();
    else if (outcome === 'written') this.#writeIfDirty();
    else if (outcome === 'overtaken' && this.#overtakenCount < OVERTAKEN_MAX) void this.refresh();
    // What failed is tried again with the next change, or renewal.
    this.#endWaiting(outcome);
    this.#endBeginning();
  }

  async #refresh(): Promise<void> {
    const { identity } = this.#session;
    // Further requests wait behind the first.
    this.#isOutdated = this.#session.isStale = true;
    let found: LookUp;
    let readsLeft = READS_MAX;
    do {
      found = await this.#directory.find(identity.id, identity);
      readsLeft -= 1;
    } while (typeof found === 'object' && found.isStale && readsLeft > 0);
    if (!this.#isOver) this.#onFound(this.#isEndedElsewhere ? 'ended' : found);
    if (this.#settling === undefined) this.#session.isStale = this.#isOutdated;
    this.#refreshing = undefined;
    this.#writeIfDirty();
  }

  #onFound(found: LookUp): void {
    if (found === 'ended') {
      this.#events.onEnded();
    } else if (found === 'failed' || found === 'full') {
      // The session goes on as it is known here.
    } else {
      this.#isOutdated = found !== 'unknown' && found.isStale;
      if (found === 'unknown' && this.#directory.isRetired && !this.#directory.isShared) return this.letGo();
      // The place has lost it although the session lives.
      if (found === 'unknown') this.#isDirty = true;
      this.#takeOver(found);
    }
  }

  #takeOver(found: Exclude<LookUp, 'ended' | 'failed' | 'full'>): void {
    const version = found === 'unknown' ? 0 : found.version;
    if (version === this.#version) return;
    this.#version = version;
    if (found === 'unknown') return;
    this.#listeners = found.record.listeners ?? [];
    const isChanged = this.#isDirty;
    this.#session.merge(found.record, this.#base, isChanged);
    // What was taken over need not be written, unless its writer knows nothing of listeners.
    this.#isDirty = isChanged || !this.isListed;
    this.#setBase(found.record.upstreams);
  }

  #setBase(upstreams: readonly UpstreamRecord[]): void {
    if (this.#directory.isShared) this.#base = upstreams;
  }

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
