// Whether there is room for another request in flight: in its session, in its subject's share and in the total. Hot path.
import { fullRequestShare } from '../../shared/full-share.js';
import { limits } from '../../shared/limits.js';
import { refusals } from '../../shared/refusals.js';
import { rpcErrors } from '../../shared/rpc-errors.js';
import { answerError, refuse } from '../exchange/answers.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Session } from './session.js';
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';

/** Whether another request may be in flight; if not, it has been refused. */
export function hasRoom(session: Session, exchange: Exchange, id: IdSpan): boolean {
  const { inFlight, account, identity } = session;
  const isLease = identity.era === 'modern';
  if (inFlight.isFull && !isLease) {
    answerError(exchange, id, rpcErrors.sessionRequestsFull);
    return false;
  }
  const refusal =
    fullRequestShare(account) ?? (isLease && isLeaseFull(session) ? refusals.leaseRequestsFull : undefined);
  if (refusal !== undefined) refuse(exchange, refusal);
  return refusal === undefined;
}

/** A lease may hold only a multiple of its subject's free room, so that a busy lease always leaves room for the others. */
function isLeaseFull({ inFlight, account }: Session): boolean {
  return inFlight.isFull || inFlight.count >= limits.leaseShareOfFree * account.requests.room;
}
