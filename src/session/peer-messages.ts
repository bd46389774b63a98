// Messages to the processes on other machines that have the same session: the client has cancelled a request that is not in flight here,
// has answered here what a backend asked there, or has opened its stream here, which replaces the one that it had there. Messages get
// no response, and no other process can read them. Cold path.
import { readClientMessage, type ClientMessage } from '../mcp/index.js';
import { NO_MIRROR, CallerlessExchange, type Exchange } from '../exchange/index.js';
import type { Session } from './session.js';
import { KIB, limits } from '../shared/index.js';
import { idKey } from '../bytes/index.js';

/** Cancels a request here, or in the process where it is in flight. @param exchange that of the client's `notifications/cancelled`. */
export function cancelRequest(session: Session, exchange: Exchange, message: ClientMessage): void {
  if (message.requestIdStart === -1 || cancelHere(session, exchange, message)) return;
  session.passBack(exchange.request);
  const { body, passthroughHeaders, requestId } = exchange.request;
  if (body.length >= SESSION_NOTICE_BYTES_MAX) return;
  sendToPeers(session, { kind: 'cancelled', body: body.toString('latin1'), headers: passthroughHeaders, requestId });
}

/** @returns whether the request is in flight here. If not, it may still turn up among the messages that are being read. */
function cancelHere(session: Session, exchange: Exchange, message: ClientMessage): boolean {
  const key = idKey(exchange.request.body, message.requestIdStart, message.requestIdEnd);
  const tryCancel = (): boolean => {
    const work = session.inFlight.find(key);
    work?.cancel(exchange, message);
    return work !== undefined;
  };
  if (tryCancel()) return true;
  // The memory of a larger body is reused, so it could not be read later.
  if (exchange.request.body.length < limits.countedFromBytes) session.readings.wait(tryCancel);
  return false;
}

/** Bytes of a message to the other processes that have the session. A larger cancellation is not passed on. */
const SESSION_NOTICE_BYTES_MAX = 32 * KIB;

interface CancellationMessage {
  readonly kind: 'cancelled';
  /** The client's own message as Latin-1: one character per byte, so that JSON preserves every byte. */
  readonly body: string;
  /** The passthrough headers of the client's HTTP request. */
  readonly headers: readonly string[];
  readonly requestId: string;
}

interface AnsweredMessage {
  readonly kind: 'answered';
  /** The key of the id under which the client was asked. */
  readonly key: string;
}

type PeerMessage = CancellationMessage | AnsweredMessage | { readonly kind: 'stream-opened' };

/** The client has answered a request that another process sent it, and the answer has gone to the backend. */
export function tellPeersAnswered(session: Session, key: string): void {
  sendToPeers(session, { kind: 'answered', key });
}

/** The client has opened its session stream here. */
export function tellPeersStreamOpened(session: Session): void {
  sendToPeers(session, { kind: 'stream-opened' });
}

function sendToPeers({ entry }: Session, peerMessage: PeerMessage): void {
  if (entry === undefined) return;
  const bytes = Buffer.from(JSON.stringify(peerMessage));
  if (bytes.length <= SESSION_NOTICE_BYTES_MAX) entry.pass(bytes);
}

/** @param bytes a `PeerMessage` as JSON, from another process that has the session; its seal has been verified. */
export function onPeerMessage(session: Session, bytes: Buffer): void {
  const peerMessage = JSON.parse(bytes.toString()) as PeerMessage;
  if (peerMessage.kind === 'stream-opened') return session.endStream(false);
  if (peerMessage.kind === 'answered') return session.backendRequests.onAnsweredElsewhere(peerMessage.key);
  // A worker that was replaced gets cancellations from its successor. Unknown kinds come from later versions.
  if (peerMessage.kind === 'cancelled' && !session.isRetired) cancel(session, peerMessage);
}

function cancel(session: Session, { body, headers, requestId }: CancellationMessage): void {
  const exchange = new CallerlessExchange({
    method: 'POST',
    sessionId: session.identity.id,
    lastEventId: '',
    requestId,
    traceparent: '',
    tracestate: '',
    acceptedTypes: 'json',
    passthroughHeaders: headers,
    mirror: NO_MIRROR,
    body: Buffer.from(body, 'latin1'),
  });
  const message = readClientMessage(exchange.request.body);
  if (typeof message === 'string' || message.kind === 'batch' || message.requestIdStart === -1) return;
  cancelHere(session, exchange, message);
}
