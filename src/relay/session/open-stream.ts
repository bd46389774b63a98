// The client's GET: the rest of a call's stream, or the stream of the session. Cold.
import { refusals } from '../../shared/refusals.js';
import { refuse } from '../exchange/answers.js';
import type { Exchange } from '../exchange/exchange.js';
import { passStreamOpened } from './peer-notices.js';
import type { Session } from './session.js';
import { isSessionStream, parseEventId, type EventId } from '../stream/stream-keeper.js';

/** The session obeys the config of this moment already. */
export function openStream(session: Session, exchange: Exchange): void {
  const id = parseEventId(exchange.request.lastEventId);
  const outcome = id === undefined ? 'other' : resumeStream(session, exchange, id);
  if (outcome === 'gone') refuse(exchange, refusals.streamUnknown);
  // An event stream without another event would have clients come again, for ever; this is what stops them.
  if (outcome === 'complete') exchange.respond(204, '', '');
  if (outcome !== 'other') return;
  const bound = session.tryOpenStream(exchange, id);
  if (bound === 'subjectMax') refuse(exchange, refusals.subjectSessionBytesFull);
  else if (bound === 'totalMax') refuse(exchange, refusals.sessionBytesFull);
  else passStreamOpened(session);
}

/**
 * The client's GET with the id of the last event that it got.
 * @returns `gone` when that names a stream of a call that is not kept; `complete` when nothing follows that event, which is
 *   the answer; `other` when it names none.
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
