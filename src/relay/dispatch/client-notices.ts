// A client's messages that are not requests: cancellations, progress, responses to backends' requests, changed roots, the status of its
// own tasks. Cold path.
import type { ClientMessage } from '../../protocol/json-rpc.js';
import { idKey } from '../../protocol/message-id.js';
import { limits } from '../../shared/limits.js';
import type { Refusal } from '../../shared/refusals.js';
import { backendTurns } from '../in-flight/turns.js';
import { cancelHere } from '../session/cancellation.js';
import type { Exchange } from '../exchange/exchange.js';
import { metadataFor } from '../exchange/passthrough.js';
import { passAnswered, passCancellation } from '../session/peer-notices.js';
import type { Session } from '../session/session.js';

const ROOTS_CHANGED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}');

/** Passes the message on to its receivers. The caller still answers the exchange. @returns the refusal to answer with, if any. */
export function onClientNotice(session: Session, exchange: Exchange, message: ClientMessage): Refusal | undefined {
  if (message.kind === 'response') return onResponse(session, exchange, message);
  switch (message.method) {
    case 'notifications/cancelled':
      onCancelled(session, exchange, message);
      break;
    case 'notifications/progress':
      session.backendRequests.onProgress(exchange, message);
      break;
    case 'notifications/tasks/status':
      session.backendRequests.onTaskStatus(exchange, message);
      break;
    case 'notifications/roots/list_changed':
      onRootsChanged(session, exchange);
      break;
    // Not passed on: each backend gets its own `initialized` from the gateway's handshake with it.
    case 'notifications/initialized':
      session.onInitialized(exchange.request);
      break;
    default:
    // Other notifications have no receiver.
  }
  return undefined;
}

function onResponse(session: Session, exchange: Exchange, message: ClientMessage): Refusal | undefined {
  const outcome = session.backendRequests.onAnswer(exchange.request, message);
  if (outcome !== 'asked-elsewhere') return outcome;
  passAnswered(session, idKey(exchange.request.body, message.idStart, message.idEnd));
  return undefined;
}

function onCancelled(session: Session, exchange: Exchange, message: ClientMessage): void {
  if (message.requestIdStart === -1 || cancelHere(session, exchange, message)) return;
  session.passBack(exchange.request);
  passCancellation(session, exchange.request);
}

function onRootsChanged(session: Session, exchange: Exchange): void {
  const { virtualHost } = session;
  if (virtualHost === undefined || !session.backendRequests.offersRoots) return;
  const { length } = exchange.request.body;
  // A large body is replaced: its memory would not be counted while it waits to be sent.
  const body = length < limits.countedFromBytes ? exchange.request.body : ROOTS_CHANGED;
  backendTurns.visitAll(session.identity.subject, virtualHost.backends.values(), {
    visit: (backend) => {
      const upstream = session.upstreams.open(backend.name);
      upstream?.tellRootsChanged(body, metadataFor(backend, exchange.request));
    },
    onNoRoom: () => undefined,
  });
}
