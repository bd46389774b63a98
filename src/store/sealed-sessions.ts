// What the gateway asks of a place where records of sessions are kept, whichever it is. Keys are hashes and values sealed:
// the place can read neither. Records may be lost, and then so are sessions whose process is gone; nothing waits for a disk.

export interface SealedSession {
  /** Counted up by each write: what a later write is held against. */
  readonly version: number;
  readonly bytes: Buffer;
}

/** `ended`: there was one, and it was removed a while ago at most. */
export type SealedRead = SealedSession | 'ended' | undefined;

/** The processes of several machines that have a session, and what they tell each other. Sessions are named by the keys of their records. */
export interface SessionPeers {
  /** Names this process to the others; `undefined` while it cannot hear them. */
  readonly listener: string | undefined;
  /**
   * Tells these processes that the session has ended. Those that are there no more are not waited for.
   * @returns how many did not say in time that they have heard it. Rejects when they could not be told.
   */
  tellEnded(key: Buffer, listeners: readonly string[]): Promise<number>;
  /** Called when another process has ended a session that this one may have; when it returns, this one is said to have heard it. */
  onEnded: ((key: Buffer) => void) | undefined;
  /** Passes something on to these processes; what becomes of it nobody hears. Rejects as above. */
  pass(key: Buffer, listeners: readonly string[], sealed: Buffer): Promise<void>;
  onPassed: ((key: Buffer, sealed: Buffer) => void) | undefined;
}

export interface KnownVersion {
  readonly version: number;
  readonly laterMarkMs: number;
}

export interface SealedSessions {
  /** Whether other machines write here, too: then `onChanged` tells what they do. */
  readonly isShared: boolean;
  /** Where they do. */
  readonly peers?: SessionPeers;
  /** Without a promise when it can be told at once. Throws or rejects when it cannot be told. */
  read(key: Buffer): SealedRead | Promise<SealedRead>;
  /**
   * Writes version 1 where nothing is, nor was of late, or a later one over its predecessor alone.
   * @param lifeMs for so long it is kept, unless it is renewed.
   * @returns false when something else is there, or nothing where something should be. Rejects when it could not be written.
   */
  write(key: Buffer, session: SealedSession, lifeMs: number): Promise<boolean>;
  /** It is kept for so long from now on. @returns false when there is nothing. Rejects as above. */
  renew(key: Buffer, lifeMs: number): Promise<boolean>;
  /**
   * @param markMs for so long it is told that there was one, and nothing is written over that.
   * @param leftMsMax unless that is `Infinity`, it stays when it is kept for longer than this from now on: somebody has renewed it.
   * @param known where others write, too: what is there when it has another version is the answer, and is told of for so long.
   * @returns false when it stays, or had been removed before. Rejects as above.
   */
  remove(key: Buffer, markMs: number, leftMsMax: number, known?: KnownVersion): Promise<boolean | SealedSession>;
  /** Called with the key of each record that somebody else has changed since it was read or written here, or with nothing for all of them. */
  onChanged: ((key: Buffer | undefined) => void) | undefined;
  close(): Promise<void>;
}
