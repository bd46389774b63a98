// Messages between processes on different machines that have the same session: the client has cancelled a request that is not in flight
// here, has answered a question that another process asked, or has opened its stream here. Messages get no response, and no other process
// can read them. Cold path.
import { readClientMessage, type ClientMessage } from '../mcp/index.js';
import { CallerlessExchange, callerlessRequest, type Exchange } from '../exchange/index.js';
import type { Session } from './session.js';
import { KIB, limits } from '../shared/index.js';
import { idKey } from '../bytes/index.js';

/** Cancels a request here, or in the process where it is in flight. @param exchange that of the client's `notifications/cancelled`. */
export function cancelRequest(session: Session, exchange: Exchange, message: ClientMessage): void {
  if (message.requestIdStart === -1 || cancelHere(session, exchange, message)) return;
  session.forwardCancellation(exchange.request);
  const { body, passthroughHeaders, requestId } = exchange.request;
  if (body.length >= PEER_MESSAGE_BYTES_MAX) return;
  sendToPeers(session, { kind: 'cancelled', body: body.toString('latin1'), headers: passthroughHeaders, requestId });
}

/** Cancels a request here. @returns whether it is in flight here. If not, it may be among the messages that are still being parsed. */
function cancelHere(session: Session, exchange: Exchange, message: ClientMessage): boolean {
  const key = idKey(exchange.request.body, message.requestIdStart, message.requestIdEnd);
  const tryCancel = (): boolean => {
    const work = session.inFlight.find(key);
    work?.cancel?.(exchange, message);
    return work !== undefined;
  };
  if (tryCancel()) return true;
  // A larger body cannot be kept, because its memory is reused.
  if (exchange.request.body.length < limits.countedFromBytes) session.scansInProgress.deferCancellation(tryCancel);
  return false;
}

/** Bytes of a message to the other processes that have the session. A larger cancellation is not sent to them. */
const PEER_MESSAGE_BYTES_MAX = 32 * KIB;

interface CancellationMessage {
  readonly kind: 'cancelled';
  /** The client's own message as Latin-1, in which every byte survives JSON. */
  readonly body: string;
  readonly headers: readonly string[];
  readonly requestId: string;
}

/** Says that this process has got the client's answer to a question that another process had asked, and has sent it to the backend. */
interface AnsweredMessage {
  readonly kind: 'answered';
  /** The key of the id under which the client got the question. */
  readonly key: string;
}

type PeerMessage = CancellationMessage | AnsweredMessage | { readonly kind: 'stream-opened' };

export function sendToPeers({ entry }: Session, peerMessage: PeerMessage): void {
  if (entry === undefined) return;
  const bytes = Buffer.from(JSON.stringify(peerMessage));
  if (bytes.length <= PEER_MESSAGE_BYTES_MAX) entry.sendToPeers(bytes);
}

/** Takes a message of another process that has the session. @param bytes a `PeerMessage` as JSON; its seal has been verified. */
export function onPeerMessage(session: Session, bytes: Buffer): void {
  const peerMessage = JSON.parse(bytes.toString()) as PeerMessage;
  if (peerMessage.kind === 'stream-opened') return session.endStream(false);
  if (peerMessage.kind === 'answered') return session.backendRequests.onAnsweredElsewhere(peerMessage.key);
  // A worker that was replaced gets cancellations from its successor. Unknown kinds come from later versions.
  if (peerMessage.kind === 'cancelled' && !session.isRetired) cancelForPeer(session, peerMessage);
}

function cancelForPeer(session: Session, { body, headers, requestId }: CancellationMessage): void {
  const more = { requestId, passthroughHeaders: headers };
  const exchange = new CallerlessExchange(callerlessRequest(session.identity.id, Buffer.from(body, 'latin1'), more));
  const message = readClientMessage(exchange.request.body);
  if (typeof message === 'string' || message.kind === 'batch' || message.requestIdStart === -1) return;
  cancelHere(session, exchange, message);
}
