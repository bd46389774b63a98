// The end of an upstream session that another process opened and nobody goes on with.
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import { sessionHeaders } from './handshake.js';
import type { UpstreamContext } from '../upstream-context.js';
import type { UpstreamSessionRecord } from './upstream-session-record.js';

/** Tells a backend of the end of a session that nobody goes on with, as it is not in the config any more. */
export function endElsewhere(
  { notices, options }: UpstreamContext,
  subject: string,
  target: UpstreamTarget,
  { sessionId, protocolVersion }: Pick<UpstreamSessionRecord, 'sessionId' | 'protocolVersion'>,
): void {
  if (sessionId === '' || (options.mode === 'tls-only' && !target.origin.startsWith('https:'))) return;
  notices.send(subject, target, 'DELETE', sessionHeaders(sessionId, protocolVersion), undefined);
}
