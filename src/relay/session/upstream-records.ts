// Upstream sessions as they are written into a session's record, and read from it. Cold path.
import type { NamedCapability } from '../../protocol/capabilities.js';
import { eraOfVersion } from '../../protocol/protocol-versions.js';
import type { UpstreamRecord } from '../../session-directory/session-record.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { UpstreamSessionRecord } from '../../upstream/session/upstream-session-record.js';

/** `undefined` unless it is open and another process could continue it: one over HTTP+SSE is bound to the process with its stream. */
export function upstreamRecordOf({ record, backend }: UpstreamSession): UpstreamRecord | undefined {
  const { name, target, transport } = backend;
  if (record === undefined || transport === 'SSE') return undefined;
  const { sessionId, protocolVersion, capabilities } = record;
  const named = record.named ?? [];
  const experimental = namesOf(named.filter(({ isExtension }) => !isExtension));
  const extensions = namesOf(named.filter(({ isExtension }) => isExtension));
  const { origin, path } = target;
  return { backendName: name, origin, path, sessionId, protocolVersion, capabilities, experimental, extensions };
}

/** Lacks what the client is told only once, at `initialize`: instructions, and the values of experimental capabilities and extensions. */
export function restored({
  sessionId,
  protocolVersion,
  capabilities,
  experimental = [],
  extensions = [],
}: UpstreamRecord): UpstreamSessionRecord {
  const named: readonly NamedCapability[] = [
    ...experimental.map((name) => ({ name, value: '{}' })),
    ...extensions.map((name) => ({ name, value: '{}', isExtension: true as const })),
  ];
  const era = eraOfVersion(protocolVersion);
  return {
    era,
    sessionId,
    protocolVersion,
    capabilities,
    named: named.length === 0 ? undefined : named,
    instructions: undefined,
  };
}

/** `undefined` for none, which the record leaves out. */
function namesOf(named: readonly NamedCapability[]): readonly string[] | undefined {
  return named.length === 0 ? undefined : named.map(({ name }) => name);
}
