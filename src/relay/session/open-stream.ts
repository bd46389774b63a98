// The client's GET: the rest of a call's stream, or the stream of the session. Cold path.
import { refusals } from '../../shared/refusals.js';
import { refuse } from '../exchange/answers.js';
import type { Exchange } from '../exchange/exchange.js';
import { passStreamOpened } from './peer-notices.js';
import type { Session } from './session.js';
import { isSessionStream, parseEventId, type EventId } from '../stream/stream-keeper.js';

/** Answers the GET. The session must have applied the current config. */
export function openStream(session: Session, exchange: Exchange): void {
  const id = parseEventId(exchange.request.lastEventId);
  const outcome = id === undefined ? 'other' : resumeStream(session, exchange, id);
  if (outcome === 'gone') refuse(exchange, refusals.streamUnknown);
  // If an event stream brought no further event, clients would reconnect for ever; a 204 stops them.
  if (outcome === 'complete') exchange.respond(204, '', '');
  if (outcome !== 'other') return;
  const bound = session.tryOpenStream(exchange, id);
  if (bound === 'subjectMax') refuse(exchange, refusals.subjectSessionBytesFull);
  else if (bound === 'totalMax') refuse(exchange, refusals.sessionBytesFull);
  else passStreamOpened(session);
}

/**
 * Resumes the call's stream that is named by the id of the last event that the client received.
 * @returns `gone` when that stream is not kept any more; `complete` when the event is the answer, which nothing follows; `other` when
 *   the id names no stream of a call.
 */
function resumeStream(session: Session, exchange: Exchange, id: EventId): 'resumed' | 'gone' | 'complete' | 'other' {
  const keeper = session.streamKeeper;
  if (keeper === undefined || isSessionStream(id)) return 'other';
  const stream = keeper.find(id.stream);
  if (stream?.hasSaid(id.position) !== true) return 'gone';
  if (stream.isCompleteAt(id.position)) return 'complete';
  stream.attach(exchange, id.position);
  return 'resumed';
}
