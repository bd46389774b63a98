// What one session has in the directory: its record is written when `initialize` has its outcome, and again whenever what is
// in it has changed, one write at a time. Who finds that another process has written meanwhile takes over what that one has
// changed, and writes its own changes behind it. Cold: a few times a session.
//
//   unwritten ──initialize has its outcome──> writing ──done──> written ──change, or not written at last──> writing
//   writing ──another was first──> reading ──> writing, or written
//   written ──another has changed it──> stale ──the next request──> reading
//   any ──the session ends──> over
import type { LookUp, SessionDirectory, WriteOutcome } from '../session-directory/session-directory.js';
import type { SessionRecord, UpstreamRecord } from '../session-directory/session-record.js';
import type { DeadlineWheel } from '../shared/deadline-wheel.js';
import { limits } from '../shared/limits.js';
import type { SessionIdentity } from './session-plan.js';

/** A session, as far as it is written down. */
export interface RecordedSession {
  readonly identity: SessionIdentity;
  /** Another process has changed the record: the next request waits until that is known. */
  isStale: boolean;
  /** As it is now. */
  record(): SessionRecord;
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

export class DirectoryEntry {
  readonly #directory: SessionDirectory;
  readonly #session: RecordedSession;
  readonly #onEnded: () => void;
  /** Of the record as last written or read; 0 before. */
  #version: number;
  /** Its upstream sessions, where others may change them. */
  #base: readonly UpstreamRecord[] = [];
  #isBegun: boolean;
  #isWriting = false;
  /** Since it was last written, changed or renewed. */
  #overtakenCount = 0;
  /** Changed since the write that is under way, or last, began. */
  #isDirty = false;
  #isOver = false;
  #isRemoved = false;
  #onSettled: (() => void) | undefined;
  #refreshing: Promise<void> | undefined;
  /** Whether another machine has, or had, the session, too. */
  #wasShared: boolean;

  /**
   * @param onEnded called when another process has ended the session.
   * @param begun what the session was made of, unless it is new.
   */
  constructor(
    directory: SessionDirectory,
    session: RecordedSession,
    onEnded: () => void,
    begun?: { readonly version: number; readonly isStale: boolean; readonly upstreams: readonly UpstreamRecord[] },
  ) {
    this.#directory = directory;
    this.#session = session;
    this.#onEnded = onEnded;
    this.#version = begun?.version ?? 0;
    this.#setBase(begun?.upstreams ?? []);
    this.#isBegun = begun !== undefined;
    this.#wasShared = begun !== undefined;
    directory.watch(session.identity.id, () => this.#onChangedElsewhere());
    if (begun?.isStale === true) this.#onChangedElsewhere();
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
    const deadline = deadlines.after(limits.sessionWriteWaitMsMax, () => this.#settle());
    this.#onSettled = () => {
      deadline.cancel();
      onSettled();
    };
    this.#isBegun = true;
    this.#write();
  }

  /** Something has changed that is in the record. */
  onChanged(): void {
    if (this.#isOver || !this.#isBegun) return;
    this.#isDirty = true;
    this.#overtakenCount = 0;
    this.#writeIfDirty();
  }

  /** The session was used of late. */
  renew(): void {
    if (this.#isOver || !this.#isBegun || this.#isWriting) return;
    if (this.#version === 0) this.#isDirty = true;
    this.#overtakenCount = 0;
    if (this.#isDirty) this.#writeIfDirty();
    else void this.#directory.renew(this.#session.identity.id).then((isThere) => isThere || void this.refresh());
  }

  /** Reads what is written now: another process has changed it. Resolved when the session is as it, or over; always. */
  refresh(): Promise<void> {
    return (this.#refreshing ??= this.#refresh());
  }

  /** The session lives on elsewhere, or in its record alone. */
  letGo(): void {
    if (!this.#isOver) this.#directory.unwatch(this.#session.identity.id);
    this.#isOver = true;
  }

  /** The session has ended. @returns when other machines can know, where there may be any. */
  remove(): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    this.letGo();
    const { id } = this.#session.identity;
    // What is being written would come back.
    if (this.#isWriting) this.#directory.onEnding(id);
    if (this.#isWriting) this.#isRemoved = true;
    if (this.#isWriting || !this.#isBegun) return undefined;
    const removed = this.#directory.remove(id, this.#wasShared);
    return this.#directory.isShared ? removed : undefined;
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
    const isRenewedElsewhere = this.#session.isStale;
    // Who ends it must know the upstream sessions that others have opened.
    if (isRenewedElsewhere) await this.refresh();
    if (this.#isOver || this.#session.isStale) return 'elsewhere';
    const outcome = await this.#directory.removeIdle(this.#session.identity.id, isRenewedElsewhere);
    // Of a place that cannot say nothing else was heard than that nobody has it.
    return outcome === 'removed' || (outcome === 'failed' && !isRenewedElsewhere) ? 'over' : 'elsewhere';
  }

  #onChangedElsewhere(): void {
    this.#wasShared = true;
    this.#session.isStale = true;
  }

  #settle(): void {
    const onSettled = this.#onSettled;
    this.#onSettled = undefined;
    onSettled?.();
  }

  #writeIfDirty(): void {
    if (this.#isDirty && !this.#isOver && !this.#isWriting && this.#refreshing === undefined) this.#write();
  }

  #write(): void {
    const { identity } = this.#session;
    const record = this.#session.record();
    this.#isWriting = true;
    this.#isDirty = false;
    const write = this.#directory.write(identity.id, identity, record, this.#version);
    void write.then((outcome) => this.#onWritten(outcome, record));
  }

  #onWritten(outcome: WriteOutcome, { upstreams }: SessionRecord): void {
    this.#isWriting = false;
    if (outcome === 'written') {
      this.#version += 1;
      this.#overtakenCount = 0;
      this.#setBase(upstreams);
    } else {
      this.#isDirty = true;
      if (outcome === 'overtaken') this.#overtakenCount += 1;
    }
    if (this.#isRemoved) void this.#directory.remove(this.#session.identity.id, this.#wasShared);
    // It is its successor's, who has written it or ended it: what was opened here is lost with this process.
    else if (outcome === 'overtaken' && this.#directory.isRetired && !this.#directory.isShared) this.letGo();
    else if (outcome === 'written') this.#writeIfDirty();
    else if (outcome === 'overtaken' && this.#overtakenCount < OVERTAKEN_MAX) void this.refresh();
    // What failed is tried again with the next change, or renewal.
    this.#settle();
  }

  async #refresh(): Promise<void> {
    const { identity } = this.#session;
    // Further requests wait behind the first.
    this.#session.isStale = true;
    let found: LookUp;
    let readsLeft = READS_MAX;
    do {
      found = await this.#directory.find(identity.id, identity);
      readsLeft -= 1;
    } while (typeof found === 'object' && found.isStale && readsLeft > 0);
    if (!this.#isOver) this.#onFound(found);
    this.#refreshing = undefined;
    this.#writeIfDirty();
  }

  #onFound(found: LookUp): void {
    if (found === 'ended') {
      this.#onEnded();
    } else if (found === 'failed' || found === 'full') {
      // The session goes on as it is known here.
    } else {
      this.#session.isStale = found !== 'unknown' && found.isStale;
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
    const isChanged = this.#isDirty;
    this.#session.merge(found.record, this.#base, isChanged);
    // What was taken over need not be written.
    this.#isDirty = isChanged;
    this.#setBase(found.record.upstreams);
  }

  #setBase(upstreams: readonly UpstreamRecord[]): void {
    if (this.#directory.isShared) this.#base = upstreams;
  }
}
