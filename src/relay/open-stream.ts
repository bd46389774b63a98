// The client's GET: the rest of a call's stream, or the stream of the session. Cold.
import { refusals } from '../shared/refusals.js';
import { refuse } from './answers.js';
import type { Exchange } from './exchange.js';
import type { Session } from './session.js';
import { parseEventId } from './stream-keeper.js';

/** The session obeys the config of this moment already. */
export function openStream(session: Session, exchange: Exchange): void {
  const id = parseEventId(exchange.request.lastEventId);
  const outcome = id === undefined ? 'other' : session.resumeStream(exchange, id);
  if (outcome === 'gone') refuse(exchange, refusals.streamUnknown);
  // An event stream without another event would have clients come again, for ever; this is what stops them.
  if (outcome === 'complete') exchange.respond(204, '', '');
  if (outcome !== 'other') return;
  const bound = session.tryOpenStream(exchange, id);
  if (bound === 'subjectMax') refuse(exchange, refusals.subjectSessionBytesFull);
  else if (bound === 'totalMax') refuse(exchange, refusals.sessionBytesFull);
}
