// Whether there is room for one more request in flight, in its session and in the shares of its subject and of all. Hot.
import { fullRequestShare } from '../shared/full-share.js';
import { rpcCodes } from '../shared/refusals.js';
import { answerError, refuse } from './answers.js';
import type { Exchange } from './exchange.js';
import type { Session } from './session.js';
import type { IdSpan } from '../upstream/rpc-request.js';

const SESSION_FULL = { code: rpcCodes.refused, message: 'Too many requests in flight in this session' };

/** Whether one more request may be in flight; it is refused otherwise. */
export function hasRoom(session: Session, exchange: Exchange, id: IdSpan): boolean {
  if (session.inFlight.isFull) {
    answerError(exchange, id, SESSION_FULL);
    return false;
  }
  const refusal = fullRequestShare(session.account);
  if (refusal !== undefined) refuse(exchange, refusal);
  return refusal === undefined;
}
