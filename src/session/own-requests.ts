// Requests of the gateway's own to one backend, in an open upstream session: the level of logging that the client has set (log-level.ts),
// which is sent when it is set and whenever an upstream session is opened, and a ping that shows whether the backend still knows the
// session; and the client's subscriptions, when a session is opened anew. Cold path.
import { capability } from '../mcp/index.js';
import { limits } from '../shared/index.js';
import type { OutgoingMessage, RequestMetadata } from '../http-client/index.js';
import type { RequestHandler, UpstreamSession, UpstreamContext } from '../upstream/index.js';

/**
 * Time for a backend to set its log level, or to answer a ping of the gateway. After that, the client is answered all the same; the session
 * is kept.
 */
export const OWN_REQUEST_MS_MAX = 5_000;

/** Whether the backend must be sent the level once; a backend without sessions gets it with each request. */
export function needsLogLevel(upstream: UpstreamSession): boolean {
  return upstream.declares(capability.logging) && !upstream.isModern;
}

/** Sends the level to one backend. @param done called once. */
export function sendLogLevel(
  context: UpstreamContext,
  upstream: UpstreamSession,
  params: Buffer,
  metadata: RequestMetadata,
  done: () => void,
): void {
  const id = context.ids.next();
  const members = params.toString().slice(1, -1);
  ask(upstream, upstream.ownRequest(id, 'logging/setLevel', members), id, metadata, done);
}

/** Pings the backend. If it answers that it does not know the session, the session is lost; any other outcome is ignored. */
export function probeSession(context: UpstreamContext, upstream: UpstreamSession, metadata: RequestMetadata): void {
  const id = context.ids.next();
  ask(upstream, upstream.ownRequest(id, 'ping'), id, metadata, () => undefined);
}

/** Repeats or ends a subscription; the answer is ignored. @param method `resources/subscribe` or `resources/unsubscribe`. */
export function sendSubscription(
  context: UpstreamContext,
  upstream: UpstreamSession,
  method: string,
  uri: string,
  metadata: RequestMetadata,
): void {
  const id = context.ids.next();
  const message = upstream.ownRequest(id, method, `"uri":${JSON.stringify(uri)}`);
  ask(upstream, message, id, metadata, () => undefined, limits.remoteAnswerMsMax);
}

function ask(
  upstream: UpstreamSession,
  message: OutgoingMessage,
  id: Buffer,
  metadata: RequestMetadata,
  done: () => void,
  msMax: number = OWN_REQUEST_MS_MAX,
): void {
  const sentIn = upstream.record;
  const handler: RequestHandler = {
    onAnswer: done,
    onMessage: (bytes, received) => upstream.answer(bytes, received, metadata),
    onFault: (fault) => {
      // Not sent again here: that happens when the upstream session is reopened.
      upstream.tryMarkLost(fault, sentIn);
      done();
    },
  };
  upstream.request(message, { bytes: id, start: 0, end: id.length }, metadata, msMax, false, handler);
}
