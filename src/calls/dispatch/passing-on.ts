// Requests in a lease for backends that keep sessions are served by one process, the lease's owner: directly, too, the client would have
// one session there. Another process passes them on, for as long as the owner has not told it that the backend keeps none: the owner
// tells it what it knows when any request comes, and of a call's backend once that is opened for it. The other process opens no session
// to find out, as it would have to end that at once: for some servers, no client ever does so.
import type { CompiledBackend } from '../../user-config/index.js';
import { refuseMessage } from '../../exchange/index.js';
import type { ServedRequest } from '../era-rules.js';

/**
 * Passes the request on if the lease has another owner and any of these backends may keep a session.
 * @param serve serves it here; called later if the owner has no process.
 * @returns whether it was passed on.
 */
export function tryPassOn(
  { session, exchange, message }: ServedRequest,
  backends: Iterable<CompiledBackend>,
  serve: () => void,
): boolean {
  const { passOn } = session;
  const { onSessionless } = exchange;
  if (passOn === undefined && onSessionless === undefined) return false;
  const upstreams = [...backends].map((backend) => session.upstreams.of(backend));
  if (passOn === undefined) {
    for (const { isSessionless, url } of upstreams) if (isSessionless) onSessionless?.(url);
    return false;
  }
  const owners = upstreams.filter(({ isSessionless }) => !isSessionless);
  if (owners.length === 0) return false;
  const { subject } = session.identity;
  const virtualHost = session.virtualHost!;
  exchange.onSessionless = (url) => {
    for (const upstream of owners) if (upstream.url === url) upstream.endpoint.isSessionless = true;
  };
  passOn({ subject, virtualHost }, exchange, (refusal) => {
    if (refusal !== undefined) return refuseMessage(exchange, refusal, message);
    session.passOn = undefined;
    serve();
    session.passOn = passOn;
  });
  return true;
}
