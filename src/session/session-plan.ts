// What a session is made from: its identity, which never changes, and what it shares with the other sessions of its relay.
import type { AnswerOptions } from '../config/index.js';
import type { Era } from '../mcp/index.js';
import type { ClientIntroduction } from '../upstream/index.js';
import type { Refusal } from '../shared/index.js';
import type { Caller, Exchange, ExchangeRequest } from '../exchange/index.js';
import type { SlowRequests } from '../streams/index.js';

export interface SessionIdentity {
  readonly id: string;
  readonly subject: string;
  readonly virtualHostId: string;
  /** The version of MCP that it was opened with. */
  readonly protocolVersion: string;
  /** The era of the requests that are served in it. A modern session is a lease, whose id no client knows. */
  readonly era: Era;
  readonly introduction: ClientIntroduction;
}

/**
 * Passes a request on to the process that must serve it.
 * @param onGone called when there is no answer from there, with the refusal; without one when nothing was sent because no such process runs.
 */
export type PassOn = (caller: Caller, exchange: Exchange, onGone: (refusal: Refusal | undefined) => void) => void;

/** What the sessions of a relay share, apart from what their upstream sessions share. */
export interface SessionMeans {
  readonly slow: SlowRequests;
  readonly answers: AnswerOptions;
  /** Called with a cancellation of a request that is not in flight here: the process that this one replaced may have it. */
  readonly passBack?: ((identity: SessionIdentity, request: ExchangeRequest) => void) | undefined;
}
