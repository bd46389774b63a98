// Upstream sessions in a session's record, and how a process that continues the session takes them over. Cold path.
import { eraOfVersion } from '../../protocol/protocol-versions.js';
import type { UpstreamRecord } from '../../session-directory/session-record.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { endElsewhere } from '../../upstream/session/end-elsewhere.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { UpstreamSessionRecord } from '../../upstream/session/upstream-session-record.js';
import type { Session } from './session.js';

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
function restored({ sessionId, protocolVersion, capabilities, experimental }: UpstreamRecord): UpstreamSessionRecord {
  const names = experimental?.map((name) => ({ name, value: '{}' }));
  const era = eraOfVersion(protocolVersion);
  return { era, sessionId, protocolVersion, capabilities, experimental: names, instructions: undefined };
}

/**
 * Opens upstream sessions without contacting their backends. Those whose backend was removed from the config, has moved, or may not be
 * reached any more, are ended at their old address.
 * @returns a function that tells whether a backend is where it was, as far as is known.
 */
export function restoreUpstreams(
  context: UpstreamContext,
  session: Session,
  upstreams: readonly UpstreamRecord[],
  virtualHost: CompiledVirtualHost,
): (backendName: string) => boolean {
  const moved = new Set<string>();
  for (const record of upstreams) {
    const { backendName, origin, path } = record;
    const backend = virtualHost.backends.get(backendName);
    if (backend !== undefined && isWhereItWas(backend, origin, path)) {
      session.upstream(backend).restore(restored(record));
    } else {
      moved.add(backendName);
      endElsewhere(context, session.identity.subject, { origin, path }, record);
    }
  }
  return (backendName) => virtualHost.backends.has(backendName) && !moved.has(backendName);
}

/** Takes over what another process has opened since both knew `base`. Where both have opened a session, the recorded one is used. */
export function mergeUpstreams(
  context: UpstreamContext,
  session: Session,
  theirs: readonly UpstreamRecord[],
  base: readonly UpstreamRecord[],
  replace: (upstream: UpstreamSession, restore: () => void) => void,
): void {
  for (const record of theirs) {
    const { backendName, origin, path } = record;
    const backend = session.virtualHost?.backends.get(backendName);
    if (backend === undefined || !isWhereItWas(backend, origin, path)) continue;
    const upstream = session.upstream(backend);
    const { sessionId } = base.find((known) => known.backendName === backendName) ?? { sessionId: undefined };
    if (sessionId === record.sessionId || upstream.record?.sessionId === record.sessionId) continue;
    // Both have opened a new session, and the other process was first to record its own: this one is ended.
    if (upstream.record !== undefined && upstream.record.sessionId !== sessionId) {
      endElsewhere(context, session.identity.subject, { origin, path }, upstream.record);
    }
    replace(upstream, () => upstream.restore(restored(record)));
  }
}

function isWhereItWas({ target, transport, obstacle }: CompiledBackend, origin: string, path: string): boolean {
  const isSamePlace = target.origin === origin && target.path === path;
  return isSamePlace && transport !== 'SSE' && obstacle === undefined;
}
