// A client no longer wants an answer: the request is looked up among those in flight in the session in this process. Cold path.
import type { ClientMessage } from '../../protocol/json-rpc.js';
import { idKey } from '../../protocol/message-id.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Session } from './session.js';

/**
 * @param exchange of the cancellation notification.
 * @returns whether the request is in flight here. If not, it may still turn up among the messages that are being read.
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
