// The end of an upstream session that another process opened and that nobody continues.
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import { sessionHeaders } from './handshake.js';
import type { UpstreamContext } from '../upstream-context.js';
import type { UpstreamSessionRecord } from './upstream-session-record.js';

/** Tells a backend that a session has ended, because the backend is no longer in the config and nobody continues the session. */
export function endElsewhere(
  { notices, options }: UpstreamContext,
  subject: string,
  target: UpstreamTarget,
  { sessionId, protocolVersion }: Pick<UpstreamSessionRecord, 'sessionId' | 'protocolVersion'>,
): void {
  if (sessionId === '' || (options.mode === 'tls-only' && !target.origin.startsWith('https:'))) return;
  notices.send(subject, target, 'DELETE', sessionHeaders(sessionId, protocolVersion), undefined);
}
