// How a process that continues a session takes over the upstream sessions in its record. Cold path.
import type { UpstreamRecord } from '../../session-directory/session-record.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { endElsewhere } from '../../upstream/session/end-elsewhere.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { Session } from './session.js';
import { restored } from './upstream-records.js';

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
