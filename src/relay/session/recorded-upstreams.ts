// Upstream sessions as they stand in the record of their session, and what becomes of them where another process goes on. Cold.
import { eraOfVersion } from '../../protocol/protocol-versions.js';
import type { UpstreamRecord } from '../../session-directory/session-record.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { endElsewhere } from '../../upstream/session/end-elsewhere.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { UpstreamSessionRecord } from '../../upstream/session/upstream-session-record.js';
import type { Session } from './session.js';

/** `undefined` unless it is open, and can be gone on with elsewhere: one that is on a stream is where its stream is. */
export function recordOf({ record, backend }: UpstreamSession): UpstreamRecord | undefined {
  const { name, target, transport } = backend;
  if (record === undefined || transport === 'SSE') return undefined;
  const { sessionId, protocolVersion, capabilities } = record;
  const experimental = record.experimental?.map((each) => each.name);
  const { origin, path } = target;
  return { backendName: name, origin, path, sessionId, protocolVersion, capabilities, experimental };
}

/** What the client was told once, with `initialize`, is not in it. */
function restored({ sessionId, protocolVersion, capabilities, experimental }: UpstreamRecord): UpstreamSessionRecord {
  const names = experimental?.map((name) => ({ name, value: '{}' }));
  const era = eraOfVersion(protocolVersion);
  return { era, sessionId, protocolVersion, capabilities, experimental: names, instructions: undefined };
}

/**
 * Opens them without a word to their backends. Those whose backend has gone from the config, has moved, or may not be reached any
 * more, are ended where they were opened.
 * @returns whether a backend is where it was, as far as is known.
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

/** Takes over what another process has opened since both knew `base`. What has changed here as well stays as it is here. */
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
    // Both have opened one anew, and the other was first with writing it down.
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
