// Requests in a lease for backends that keep sessions are served by one process, the lease's owner: directly, too, the client would have
// one session there. Another process passes them on, for as long as it does not know that the backend keeps none. Meanwhile it finds out.
import type { ClientMessage } from '../../protocol/json-rpc.js';
import type { CompiledBackend } from '../../user-config/compiled-config.js';
import type { Exchange } from '../exchange/exchange.js';
import { metadataFor } from '../exchange/passthrough.js';
import { refuseMessage } from '../exchange/refused-message.js';
import { backendTurns } from '../in-flight/turns.js';
import type { Session } from '../session/session.js';

/**
 * Passes the request on if the lease has another owner and any of these backends may keep a session.
 * @param serve serves it here; called later if the owner has no process.
 * @returns whether it was passed on.
 */
export function tryPassOn(
  session: Session,
  backends: Iterable<CompiledBackend>,
  exchange: Exchange,
  message: ClientMessage,
  serve: () => void,
): boolean {
  const { passOn } = session;
  if (passOn === undefined) return false;
  const owners = [...backends].filter((backend) => !session.upstream(backend).isSessionless);
  if (owners.length === 0) return false;
  const { subject } = session.identity;
  const virtualHost = session.virtualHost!;
  const { request } = exchange;
  backendTurns.visitAll(subject, owners.values(), {
    visit: (backend) => {
      if (session.hasConfig(virtualHost)) findOut(session, backend, request);
    },
    onNoRoom: () => undefined,
  });
  passOn({ subject, virtualHost }, exchange, (refusal) => {
    if (refusal !== undefined) return refuseMessage(exchange, refusal, message);
    session.passOn = undefined;
    serve();
    session.passOn = passOn;
  });
  return true;
}

/** Opens the backend for later requests, and leaves it again if it keeps a session, which must be the owner's. */
function findOut(session: Session, backend: CompiledBackend, request: Exchange['request']): void {
  const upstream = session.upstream(backend);
  if (!upstream.isUntold) return;
  const metadata = metadataFor(backend, request);
  upstream.whenOpen(metadata, (fault) => {
    if (fault === undefined && !upstream.isSessionless) upstream.leave(metadata);
  });
}
