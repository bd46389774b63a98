// Answers the client's GET with the rest of a call's stream (named by `last-event-id`), or with the session stream. Cold path.
import { encodeEventAfter, eventHeadText, idKey } from '../bytes/index.js';
import { rpcErrors } from '../shared/index.js';
import type { IdSpan } from '../upstream/index.js';
import { errorMessage, refuse, type Exchange } from '../exchange/index.js';
import { sendToPeers } from './peer-messages.js';
import type { Session } from './session.js';
import { UnsolicitedMessages } from './unsolicited-messages.js';
import { FINAL_ID, isSessionStream, parseEventId, type EventId } from '../streams/index.js';

/** Answers the client's GET. @param session has applied the current config. */
export function openStream(session: Session, exchange: Exchange): void {
  const id = parseEventId(exchange.request.lastEventId);
  const outcome = id === undefined ? 'other' : resumeStream(session, exchange, id);
  // Nothing follows the event, so a client that got a stream would reconnect endlessly; a 204 stops it.
  if (outcome === 'complete') exchange.respond(204, '', '');
  if (outcome !== 'other') return;
  // Events that another process sent on its session stream are not kept here: the client receives only later ones.
  const isOwn = id !== undefined && id.stream === session.streamKeeper?.sessionStreamNumber;
  const unsolicited = session.startListening();
  if (!(unsolicited instanceof UnsolicitedMessages)) return refuse(exchange, unsolicited);
  unsolicited.open(exchange, isOwn ? id.position : undefined);
  sendToPeers(session, { kind: 'stream-opened' });
}

/**
 * Resumes the call's stream after the event that the client received last. If that stream is not kept any more, its call is answered with
 * an error: 404 would tell the client that its session is over.
 * @returns `complete` when nothing follows the event; `other` when the id names no stream of a call.
 */
function resumeStream(session: Session, exchange: Exchange, id: EventId): 'done' | 'complete' | 'other' {
  const keeper = session.streamKeeper;
  if (keeper === undefined || isSessionStream(id)) return 'other';
  if (id.stream === 0) return 'complete';
  const stream = keeper.find(id.stream);
  if (stream?.hasEmitted(id.position) === true) {
    if (stream.isCompleteAt(id.position)) return 'complete';
    stream.attach(exchange, id.position);
    return 'done';
  }
  const { request } = id;
  // If the call is in flight on another stream, its answer is not lost.
  if (request === undefined || session.inFlight.find(idKey(request.bytes, request.start, request.end))) return 'other';
  answerLost(exchange, request);
  return 'done';
}

/** Answers the call with an error: its answer was not kept. A client that reconnects with the event's id gets a 204, which stops it. */
function answerLost(exchange: Exchange, request: IdSpan): void {
  if (exchange.isAborted) return exchange.reset();
  exchange.openStream();
  exchange.end(
    encodeEventAfter(`id: ${FINAL_ID}\n${eventHeadText}`, errorMessage(request, rpcErrors.answerNotRetained)),
  );
}
