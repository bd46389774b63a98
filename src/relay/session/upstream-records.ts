// Upstream sessions as they are written into a session's record, and read from it. Cold path.
import { eraOfVersion } from '../../protocol/protocol-versions.js';
import type { UpstreamRecord } from '../../session-directory/session-record.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { UpstreamSessionRecord } from '../../upstream/session/upstream-session-record.js';

/** `undefined` unless it is open and another process could continue it: one over HTTP+SSE is bound to the process with its stream. */
export function upstreamRecordOf({ record, backend }: UpstreamSession): UpstreamRecord | undefined {
  const { name, target, transport } = backend;
  if (record === undefined || transport === 'SSE') return undefined;
  const { sessionId, protocolVersion, capabilities } = record;
  const named = record.named?.map(({ name: each, isExtension }) => ({ name: each, isExtension }));
  const { origin, path } = target;
  return { backendName: name, origin, path, sessionId, protocolVersion, capabilities, named };
}

/** Lacks what the client is told only once, at `initialize`: instructions, and the values of experimental capabilities and extensions. */
export function restored({ sessionId, protocolVersion, capabilities, named }: UpstreamRecord): UpstreamSessionRecord {
  const era = eraOfVersion(protocolVersion);
  const valueless = named?.map((each) => ({ ...each, value: '{}' }));
  return { era, sessionId, protocolVersion, capabilities, named: valueless, instructions: undefined };
}
