// What a session is made of: which one it is, which never changes, and what it shares with the others of its relay.
import type { AnswerOptions } from '../../config/dataplane-options.js';
import type { Era } from '../../protocol/protocol-versions.js';
import type { ClientIntroduction } from '../../upstream/session/client-introduction.js';
import type { ExchangeRequest } from '../exchange/exchange.js';
import type { SlowRequests } from '../in-flight/slow-requests.js';

export interface SessionIdentity {
  readonly id: string;
  readonly subject: string;
  readonly virtualHostId: string;
  /** The version of MCP that it was opened with. */
  readonly protocolVersion: string;
  /** Of the requests that are served in it: a modern one is a lease, of which no client knows. */
  readonly era: Era;
  readonly introduction: ClientIntroduction;
}

/** What the sessions of a relay share, beside what their upstream sessions do. */
export interface SessionMeans {
  readonly slow: SlowRequests;
  readonly answers: AnswerOptions;
  /** Given a cancellation of what is not in flight here: it may be, in the process that this one has replaced. */
  readonly passBack?: ((identity: SessionIdentity, request: ExchangeRequest) => void) | undefined;
}
