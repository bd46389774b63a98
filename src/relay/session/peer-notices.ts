// What a process tells those on other machines that have the same session: that the client has cancelled what is not in flight here, has
// answered here what a backend had asked there, or has opened its stream here, which takes the place of the one that it has had
// there. Nobody answers, and nobody else can read it. Cold.
import { readClientMessage } from '../../protocol/json-rpc.js';
import { limits } from '../../shared/limits.js';
import { cancelHere } from './cancellation.js';
import { NO_MIRROR, type ExchangeRequest } from '../exchange/exchange.js';
import type { Session } from './session.js';
import { UnheardExchange } from '../exchange/unheard-exchange.js';

interface CancellationNotice {
  readonly kind: 'cancelled';
  /** The client's own message: Latin-1 gives each byte a character, so that JSON brings all of them back. */
  readonly body: string;
  /** What backends are told of its HTTP request. */
  readonly headers: readonly string[];
  readonly requestId: string;
}

interface AnsweredNotice {
  readonly kind: 'answered';
  /** Of the id under which the client was asked. */
  readonly key: string;
}

type PeerNotice = CancellationNotice | AnsweredNotice | { readonly kind: 'stream-opened' };

/** The client has cancelled what is not in flight here. */
export function passCancellation(session: Session, { body, passthroughHeaders, requestId }: ExchangeRequest): void {
  if (body.length >= limits.sessionNoticeBytesMax) return;
  pass(session, { kind: 'cancelled', body: body.toString('latin1'), headers: passthroughHeaders, requestId });
}

/** The client has answered what another process has asked it, and the backend has the answer. */
export function passAnswered(session: Session, key: string): void {
  pass(session, { kind: 'answered', key });
}

/** The client listens here. */
export function passStreamOpened(session: Session): void {
  pass(session, { kind: 'stream-opened' });
}

function pass({ entry }: Session, notice: PeerNotice): void {
  if (entry?.hasPeers !== true) return;
  const bytes = Buffer.from(JSON.stringify(notice));
  if (bytes.length <= limits.sessionNoticeBytesMax) entry.pass(bytes);
}

/** @param bytes as another process of this session has passed them on: the seal has vouched for them. */
export function onPassed(session: Session, bytes: Buffer): void {
  const notice = JSON.parse(bytes.toString()) as PeerNotice;
  if (notice.kind === 'stream-opened') return session.endStream(false);
  if (notice.kind === 'answered') return session.backendRequests.onAnsweredElsewhere(notice.key);
  // What is cancelled in a worker that was replaced its successor tells it itself. Other kinds are those of later versions.
  if (notice.kind === 'cancelled' && !session.isRetired) cancel(session, notice);
}

function cancel(session: Session, { body, headers, requestId }: CancellationNotice): void {
  const exchange = new UnheardExchange({
    method: 'POST',
    sessionId: session.identity.id,
    lastEventId: '',
    requestId,
    traceparent: '',
    tracestate: '',
    answerForms: 'json',
    passthroughHeaders: headers,
    mirror: NO_MIRROR,
    body: Buffer.from(body, 'latin1'),
  });
  const message = readClientMessage(exchange.request.body);
  if (typeof message === 'string' || message.kind === 'batch' || message.requestIdStart === -1) return;
  cancelHere(session, exchange, message);
}
