// What one session has in the directory: its record is written when `initialize` has its outcome, and again whenever what is
// in it has changed, one write at a time. Cold: a few times a session.
//
//   unwritten ──initialize has its outcome──> writing ──done──> written ──change, or not written at last──> writing
//   any ──the session ends──> over
import type { SessionDirectory, WriteOutcome } from '../session-directory/session-directory.js';
import type { SessionRecord } from '../session-directory/session-record.js';
import type { DeadlineWheel } from '../shared/deadline-wheel.js';
import { limits } from '../shared/limits.js';
import type { SessionIdentity } from './session.js';

/** A session, as far as it is written down. */
export interface RecordedSession {
  readonly identity: SessionIdentity;
  /** As it is now. */
  record(): SessionRecord;
}

export class DirectoryEntry {
  readonly #directory: SessionDirectory;
  readonly #session: RecordedSession;
  /** Of the record as last written or read; 0 before. */
  #version: number;
  #isBegun: boolean;
  #isWriting = false;
  /** Changed since the write that is under way, or last, began. */
  #isDirty = false;
  #isOver = false;
  #isRemoved = false;
  #onSettled: (() => void) | undefined;

  /** @param version of the record that the session was made of; 0 for a new one. */
  constructor(directory: SessionDirectory, session: RecordedSession, version: number) {
    this.#directory = directory;
    this.#session = session;
    this.#version = version;
    this.#isBegun = version > 0;
  }

  /** Whether another process would go on with the session as it is now. */
  get isWritten(): boolean {
    return this.#version > 0 && !this.#isDirty && !this.#isWriting;
  }

  /** Whether another process could go on with the session, be it as it was a moment ago. */
  get isKnown(): boolean {
    return this.#version > 0;
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
    if (!this.#isWriting) this.#write();
  }

  /** The session was used of late. */
  renew(): void {
    if (this.#isOver || !this.#isBegun || this.#isWriting) return;
    if (this.#version === 0 || this.#isDirty) this.#write();
    else void this.#directory.renew(this.#session.identity.id).then((isThere) => isThere || this.#onMissing());
  }

  /** The session lives on elsewhere, or in its record alone. */
  letGo(): void {
    this.#isOver = true;
  }

  /** The session has ended. */
  remove(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // What is being written would come back.
    if (this.#isWriting) this.#isRemoved = true;
    else if (this.#isBegun) this.#directory.remove(this.#session.identity.id);
  }

  #settle(): void {
    const onSettled = this.#onSettled;
    this.#onSettled = undefined;
    onSettled?.();
  }

  #write(): void {
    const { identity } = this.#session;
    this.#isWriting = true;
    this.#isDirty = false;
    const write = this.#directory.write(identity.id, identity, this.#session.record(), this.#version);
    void write.then((outcome) => this.#onWritten(outcome));
  }

  #onWritten(outcome: WriteOutcome): void {
    this.#isWriting = false;
    if (outcome === 'written') this.#version += 1;
    else this.#isDirty = true;
    if (this.#isRemoved) this.#directory.remove(this.#session.identity.id);
    // What failed is tried again with the next change, or renewal.
    else if (outcome === 'written' && this.#isDirty && !this.#isOver) this.#write();
    else if (outcome === 'overtaken') this.#onMissing();
    this.#settle();
  }

  /** The record is gone although the session lives: it is written anew. */
  #onMissing(): void {
    if (this.#isOver || this.#isWriting) return;
    this.#version = 0;
    this.#write();
  }
}
