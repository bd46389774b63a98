// Whether there is room for another request in flight: in its session, in its subject's share and in the total. Hot path.
import { refusals, rpcErrors } from '../shared/index.js';
import { answerError, refuse, type Exchange } from '../exchange/index.js';
import type { Session } from './session.js';
import type { IdSpan } from '../upstream/index.js';

/**
 * Requests in flight of one lease, as a multiple of those that its subject may still begin, and busy leases with the same headers for
 * backends, as a multiple of the subject's leases that are not busy, unopened ones included; 3 leaves a quarter to others. Beyond that, 429
 * `lease-requests-full`, `subject-leases-full`.
 */
export const LEASE_SHARE_OF_FREE = 3;

/** Whether another request may be in flight; if not, it has been refused. */
export function tryAdmit(session: Session, exchange: Exchange, id: IdSpan): boolean {
  const { inFlight, account, identity } = session;
  const isLease = identity.era === 'modern';
  if (inFlight.isFull && !isLease) {
    answerError(exchange, id, rpcErrors.sessionRequestsFull);
    return false;
  }
  const refusal =
    account.refusalOfRequest() ?? (isLease && isLeaseFull(session) ? refusals.leaseRequestsFull : undefined);
  if (refusal !== undefined) refuse(exchange, refusal);
  return refusal === undefined;
}

/** A lease may hold only a multiple of its subject's free room, so that a busy lease always leaves room for the others. */
function isLeaseFull({ inFlight, account }: Session): boolean {
  return inFlight.isFull || inFlight.count >= LEASE_SHARE_OF_FREE * account.requests.room;
}
