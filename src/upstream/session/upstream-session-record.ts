// Plain data about an open upstream session, for the code that uses it and for the session's record.
import type { ExperimentalCapability } from '../../protocol/capabilities.js';
import type { Era } from '../../protocol/protocol-versions.js';

/** What is written down of an open upstream session, and all that is needed to go on with it elsewhere. */
export interface UpstreamSessionRecord {
  /** How the backend is spoken to: in a session, or without one. */
  readonly era: Era;
  /** The backend's session id; `''` when it gave none (C09), and in the modern era. */
  readonly sessionId: string;
  /** The version that the backend answered (decisions 2.4). */
  readonly protocolVersion: string;
  /** What the backend declared, as bits of `capability`. */
  readonly capabilities: number;
  /** What else it declared that has methods of its own; `undefined` for nothing. */
  readonly experimental: readonly ExperimentalCapability[] | undefined;
  /** Told to the client with the session's `initialize`; `undefined` where another process opened it. */
  readonly instructions: string | undefined;
}

/** Where the words weigh that a backend says of itself: a session's memory. */
export interface WordMemory {
  /** @returns their weight, to be dropped with them; `undefined` when there is no room for them. */
  tryKeepText(text: string): number | undefined;
  drop(bytes: number): void;
}
