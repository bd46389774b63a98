// What the gateway needs from any store for records of sessions. Keys are hashes and values are sealed: the store can read neither. Records
// may be lost, and with them the sessions whose process is gone.

/** The record of a session, sealed. */
export interface SealedSession {
  /** Incremented by each write; a later write states the version that it replaces. */
  readonly version: number;
  readonly bytes: Buffer;
}

/** `ended` when the record was removed not long ago; `undefined` when there is none. */
export type SealedRead = SealedSession | 'ended' | undefined;

/** Messages to the processes on other machines that have the same session. A session is named by the key of its record. */
export interface SessionPeers {
  /** This process's name for the others; `undefined` while it cannot receive messages. */
  readonly listener: string | undefined;
  /**
   * Tells these processes that the session has ended. Does not wait for processes that no longer exist.
   * @returns how many did not acknowledge in time. Rejects when the message could not be sent.
   */
  tellEnded(key: Buffer, listeners: readonly string[]): Promise<number>;
  /** Called when another process has ended a session that this one may have; its return counts as this process's acknowledgement. */
  onEnded: ((key: Buffer) => void) | undefined;
  /** Sends sealed data to these processes, without acknowledgement. Rejects as above. */
  pass(key: Buffer, listeners: readonly string[], sealed: Buffer): Promise<void>;
  onPassed: ((key: Buffer, sealed: Buffer) => void) | undefined;
}

/** The version of a record that its remover knows, and how long the mark of another version is kept. */
export interface KnownVersion {
  readonly version: number;
  readonly laterMarkMs: number;
}

export interface SealedSessions {
  /** Whether other machines write to this store, too; if so, `onChanged` reports their changes. */
  readonly isShared: boolean;
  /** Present if `isShared`. */
  readonly peers?: SessionPeers;
  /** Returns without a promise when the answer is available at once. Throws or rejects when the record cannot be read. */
  read(key: Buffer): SealedRead | Promise<SealedRead>;
  /**
   * Writes version 1 where there is neither a record nor the mark of a recent one, or a later version only over its predecessor.
   * @param lifeMs how long the record is kept, unless it is renewed.
   * @returns false when the record found is not the predecessor, or is missing. Rejects when it could not be written.
   */
  write(key: Buffer, session: SealedSession, lifeMs: number): Promise<boolean>;
  /** Keeps the record for `lifeMs` from now on. @returns false when there is none. Rejects as above. */
  renew(key: Buffer, lifeMs: number): Promise<boolean>;
  /**
   * Removes the record, and leaves a mark that it has ended.
   * @param markMs how long the mark is kept; nothing is written over it.
   * @param leftMsMax unless `Infinity`, a record with more life left than this stays, because another process has renewed it.
   * @param known if given, a record of another version is returned, and its mark is kept for `laterMarkMs`.
   * @returns false when the record stays, or had been removed before. Rejects as above.
   */
  remove(key: Buffer, markMs: number, leftMsMax: number, known?: KnownVersion): Promise<boolean | SealedSession>;
  /** Called with the key of a record that others have changed since this process read or wrote it; `undefined` for all records. */
  onChanged: ((key: Buffer | undefined) => void) | undefined;
  close(): Promise<void>;
}
