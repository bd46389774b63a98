// A store for records of sessions. It understands neither keys, which are hashes, nor values, which are sealed. When a record is lost, and
// the process that holds the session has ended, the session is lost.

export interface SealedSession {
  /** The version, which each write increments. */
  readonly version: number;
  readonly bytes: Buffer;
}

/** The record as found; `ended` when it was removed not long ago; `undefined` if there is none. */
export type SealedRead = SealedSession | 'ended' | undefined;

/** Messages to processes on other machines that have the same session. `key` is always the key of the session's record. */
export interface SessionPeers {
  /** The name by which other processes reach this one; `undefined` while it cannot receive messages. */
  readonly listener: string | undefined;
  /**
   * Tells the processes in `listeners` that the session has ended.
   * @returns how many existing processes did not acknowledge in time. Rejects when the message could not be sent.
   */
  tellEnded(key: Buffer, listeners: readonly string[]): Promise<number>;
  /** Called when another process has ended a session. That process gets an acknowledgement when this returns. */
  onEnded: ((key: Buffer) => void) | undefined;
  /** Sends sealed data about the session, without acknowledgement. Rejects when it could not be sent. */
  send(key: Buffer, listeners: readonly string[], sealed: Buffer): Promise<void>;
  onReceived: ((key: Buffer, sealed: Buffer) => void) | undefined;
}

/** The version that the remover of a record knows, and for how many ms the mark stays if the record has another version. */
export interface KnownVersion {
  readonly version: number;
  readonly laterMarkMs: number;
}

export interface SealedSessions {
  /** Whether other machines write to this store. */
  readonly isMultiMachine: boolean;
  /** The messages to other processes; present if `isMultiMachine`. */
  readonly peers?: SessionPeers;
  /** Reads a record. Throws or rejects when it cannot be read. */
  read(key: Buffer): SealedRead | Promise<SealedRead>;
  /**
   * Writes version 1 only where there is neither a record nor a mark, and a later version only over the version before it.
   * @returns whether the record was written. Rejects when the store has failed.
   */
  write(key: Buffer, session: SealedSession, lifeMs: number): Promise<boolean>;
  /** Renews a record's life. @returns whether there is a record. Rejects when the store has failed. */
  renew(key: Buffer, lifeMs: number): Promise<boolean>;
  /**
   * Removes the record, and leaves a mark for `markMs`, over which nothing is written.
   * @param leftMsMax unless `Infinity`, a record with more life left stays, because another process has renewed it.
   * @param known if given, a record of another version is returned, and its mark is kept for `laterMarkMs`.
   * @returns false when the record stays, or had been removed before; otherwise true, or the record of another version. Rejects when the
   * store has failed. If not `isMultiMachine`, it always removes.
   */
  remove(key: Buffer, markMs: number, leftMsMax: number, known?: KnownVersion): Promise<boolean | SealedSession>;
  /** Called when another process has changed a record that this one read or wrote; with `undefined` when any record may have changed. */
  onChanged: ((key: Buffer | undefined) => void) | undefined;
  close(): Promise<void>;
}
