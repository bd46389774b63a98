// A client no longer wants an answer: the request that it means is looked for in the session, as it is in this process. Cold.
import type { ClientMessage } from '../../protocol/json-rpc.js';
import { idKey } from '../../protocol/message-id.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Session } from './session.js';

/**
 * @param exchange that of the notice which says so.
 * @returns whether the request is in flight here. It may still turn out to be, when what is being read has been.
 */
export function cancelHere(session: Session, exchange: Exchange, message: ClientMessage): boolean {
  const key = idKey(exchange.request.body, message.requestIdStart, message.requestIdEnd);
  const tryIt = (): boolean => {
    const work = session.inFlight.find(key);
    work?.cancel(exchange, message);
    return work !== undefined;
  };
  if (tryIt()) return true;
  session.readings.wait(tryIt);
  return false;
}
