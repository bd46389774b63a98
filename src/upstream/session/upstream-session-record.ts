// Plain data about an open upstream session, for the code that uses it and for the session's record.
import type { ExtraCapability, Era } from '../../mcp/index.js';

/** What is stored about an open upstream session: all that another process needs to continue it. */
export interface UpstreamSessionRecord {
  /** Whether the backend is spoken to in a session or without one. */
  readonly era: Era;
  /** The backend's session id; `''` when it gave none (C09), and in the modern era. */
  readonly sessionId: string;
  /** The cookies that it has set for the session, as they are sent; absent for none. */
  readonly cookies?: string | undefined;
  /** The version with which the backend answered (decisions 2.4). */
  readonly protocolVersion: string;
  /** The capabilities that the backend declared, as bits of `capability`. */
  readonly capabilities: number;
  /** The experimental capabilities and extensions that it declared; `undefined` for none. */
  readonly named: readonly ExtraCapability[] | undefined;
  /** Passed to the client with the session's `initialize`; `undefined` where another process opened the session. */
  readonly instructions: string | undefined;
}

/** The memory that texts from a backend count against: that of a session. */
export interface TextMemory {
  /** @returns the counted bytes, to be passed to `drop` later; `undefined` when there is no room for the text. */
  tryKeepText(text: string): number | undefined;
  drop(bytes: number): void;
}

/** The same in bytes, for what waits or is incomplete: a part of the subject's share of session memory. */
export interface SessionShare {
  hasRoomFor(bytes: number): boolean;
  keep(bytes: number): void;
  drop(bytes: number): void;
}
