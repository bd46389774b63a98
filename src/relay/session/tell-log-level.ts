// Tells one backend the level of logging that the client has set (log-level.ts): when it is set, and whenever an upstream session is
// opened. Cold path.
import { capability } from '../../protocol/capabilities.js';
import { limits } from '../../shared/limits.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';
import type { RequestHandler } from '../../upstream/rpc/rpc-request.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';

/** Whether the backend must be sent the level once; a backend without sessions gets it with each request. */
export function isTold(upstream: UpstreamSession): boolean {
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
  const body = Buffer.concat([HEAD, id, METHOD, params, TAIL]);
  const sentIn = upstream.record;
  const handler: RequestHandler = {
    onAnswer: done,
    onMessage: (bytes, received) => upstream.answer(bytes, received, metadata),
    onFault: (fault) => {
      // The level is sent again when the upstream session is reopened.
      upstream.tryMarkLost(fault, sentIn);
      done();
    },
  };
  upstream.request({ body }, { bytes: id, start: 0, end: id.length }, metadata, limits.logLevelMsMax, false, handler);
}

const HEAD = Buffer.from('{"jsonrpc":"2.0","id":');
const METHOD = Buffer.from(',"method":"logging/setLevel","params":');
const TAIL = Buffer.from('}');
