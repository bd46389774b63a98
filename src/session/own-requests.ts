// Requests of the gateway's own to one backend, in an open upstream session: the log level, subscriptions that a new upstream session
// lacks, and a ping that shows whether the backend still knows the session. Cold path.
import { capability } from '../mcp/index.js';
import type { RequestMetadata, UpstreamFault } from '../http-client/index.js';
import type { RequestHandler, UpstreamSession } from '../upstream/index.js';

/**
 * Time for a backend to set its log level, or to answer a ping of the gateway. After that, the client is answered all the same; the session
 * is kept.
 */
export const OWN_REQUEST_MS_MAX = 5_000;

/** Whether the backend must be sent the level once; a backend without sessions gets it with each request. */
export function needsLogLevel(upstream: UpstreamSession): boolean {
  return upstream.declares(capability.logging) && !upstream.isModern;
}

/** The members of params in the form that `sendOwnRequest` takes. */
export function membersOf(params: Buffer): string {
  return params.toString().slice(1, -1);
}

/**
 * Sends a request whose result is ignored. If the backend answers that it does not know the session, the session is lost.
 * @param members of its params, as JSON without the braces.
 * @param done called once, whatever the outcome, with the fault if there is no answer.
 */
export function sendOwnRequest(
  upstream: UpstreamSession,
  method: string,
  members: string,
  metadata: RequestMetadata,
  done: (fault?: UpstreamFault) => void = () => undefined,
  msMax: number = OWN_REQUEST_MS_MAX,
): void {
  const id = upstream.context.ownIds.next();
  const message = upstream.ownRequest(id, method, members);
  const sentIn = upstream.record;
  const handler: RequestHandler = {
    onAnswer: () => done(),
    onMessage: (bytes, received) => upstream.answerWithoutClient(bytes, received, metadata),
    onFault: (fault) => {
      // The request is not sent again: a reopened upstream session gets it anyway.
      upstream.tryRecover(fault, sentIn);
      done(fault);
    },
  };
  upstream.request(message, { bytes: id, start: 0, end: id.length }, metadata, msMax, false, handler);
}

/** The statuses of servers; those of proxies say nothing about a session, nor does 429. */
const REFUSING_STATUS = /^(?:4(?!29)..|500)$/;

/**
 * Asks with a ping after a refusal that does not say why. A client with a session can begin another one, but that of a lease cannot: for it,
 * an upstream session in which even the ping is refused is lost.
 */
export function askAfterRefusal(upstream: UpstreamSession, { kind }: UpstreamFault, metadata: RequestMetadata): void {
  if (kind !== 'http-status' || upstream.era !== 'modern' || !upstream.needsDelete) return;
  const asked = upstream.record;
  sendOwnRequest(upstream, 'ping', '', metadata, (fault) => {
    if (fault?.kind === 'http-status' && REFUSING_STATUS.test(fault.detail ?? '')) upstream.markLost(asked);
  });
}
