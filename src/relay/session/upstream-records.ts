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
  const experimental = record.experimental?.map((each) => each.name);
  const { origin, path } = target;
  return { backendName: name, origin, path, sessionId, protocolVersion, capabilities, experimental };
}

/** Lacks what the client is told only once, at `initialize`: instructions, and the values of experimental capabilities. */
export function restored({
  sessionId,
  protocolVersion,
  capabilities,
  experimental,
}: UpstreamRecord): UpstreamSessionRecord {
  const names = experimental?.map((name) => ({ name, value: '{}' }));
  const era = eraOfVersion(protocolVersion);
  return { era, sessionId, protocolVersion, capabilities, experimental: names, instructions: undefined };
}
