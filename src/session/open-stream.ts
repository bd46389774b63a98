// The client's GET: the rest of a call's stream (`last-event-id`), or the stream of the session. Cold path.
import { encodeEventAfter, eventHeadText, idKey } from '../bytes/index.js';
import { rpcErrors } from '../shared/index.js';
import type { IdSpan } from '../upstream/index.js';
import { errorMessage, refuse, type Exchange } from '../exchange/index.js';
import { tellPeersStreamOpened } from './peer-messages.js';
import type { Session } from './session.js';
import { UnsolicitedMessages } from './unsolicited-messages.js';
import { FINAL_ID, isSessionStream, parseEventId, type EventId } from '../streams/index.js';

/** Answers the GET. The session must have applied the current config. */
export function openStream(session: Session, exchange: Exchange): void {
  const id = parseEventId(exchange.request.lastEventId);
  const outcome = id === undefined ? 'other' : resumeStream(session, exchange, id);
  // If an event stream brought no further event, clients would reconnect for ever; a 204 stops them.
  if (outcome === 'complete') exchange.respond(204, '', '');
  if (outcome !== 'other') return;
  // Nothing is kept of a session stream in another process: its client receives what is sent from now on.
  const isOwn = id !== undefined && id.stream === session.streamKeeper?.sessionStreamNumber;
  const heard = session.hear();
  if (!(heard instanceof UnsolicitedMessages)) return refuse(exchange, heard);
  heard.open(exchange, isOwn ? id.position : undefined);
  tellPeersStreamOpened(session);
}

/**
 * Resumes the call's stream that is named by the id of the last event that the client received. If that stream is not kept any more, its
 * call is answered with an error: 404 would tell the client that its session is over.
 * @returns `complete` when nothing follows the event; `other` when the id names no stream of a call.
 */
function resumeStream(session: Session, exchange: Exchange, id: EventId): 'done' | 'complete' | 'other' {
  const keeper = session.streamKeeper;
  if (keeper === undefined || isSessionStream(id)) return 'other';
  if (id.stream === 0) return 'complete';
  const stream = keeper.find(id.stream);
  if (stream?.hasSaid(id.position) === true) {
    if (stream.isCompleteAt(id.position)) return 'complete';
    stream.attach(exchange, id.position);
    return 'done';
  }
  const { request } = id;
  // The call goes on elsewhere, so it is not lost: the id was never given to this client.
  if (request === undefined || session.inFlight.find(idKey(request.bytes, request.start, request.end))) return 'other';
  sayLost(exchange, request);
  return 'done';
}

/** The event's id stops clients that come again after an error, with the last id that they have. */
function sayLost(exchange: Exchange, request: IdSpan): void {
  if (exchange.isAborted) return exchange.reset();
  exchange.openStream();
  exchange.end(
    encodeEventAfter(`id: ${FINAL_ID}\n${eventHeadText}`, errorMessage(request, rpcErrors.answerNotRetained)),
  );
}
