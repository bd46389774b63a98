// Upstream sessions as they stand in the record of their session, and what becomes of them where another process goes on. Cold.
import type { UpstreamRecord } from '../session-directory/session-record.js';
import type { CompiledVirtualHost } from '../user-config/compiled-config.js';
import { endElsewhere } from '../upstream/end-elsewhere.js';
import type { UpstreamContext } from '../upstream/upstream-context.js';
import type { UpstreamSession } from '../upstream/upstream-session.js';
import type { Session } from './session.js';

/** None unless it is open. */
export function recordOf({ record, backend: { name, target } }: UpstreamSession): readonly UpstreamRecord[] {
  if (record === undefined) return [];
  const { sessionId, protocolVersion, capabilities } = record;
  return [{ backendName: name, ...target, sessionId, protocolVersion, capabilities }];
}

/**
 * Opens them without a word to their backends. Those whose backend has gone from the config, or has moved, are ended where they
 * were opened.
 * @returns whether a backend is where it was, as far as is known.
 */
export function restoreUpstreams(
  context: UpstreamContext,
  session: Session,
  upstreams: readonly UpstreamRecord[],
  virtualHost: CompiledVirtualHost,
): (backendName: string) => boolean {
  const moved = new Set<string>();
  for (const { backendName, origin, path, ...record } of upstreams) {
    const backend = virtualHost.backends.get(backendName);
    if (backend?.target.origin === origin && backend.target.path === path) {
      session.upstream(backend).restore({ ...record, instructions: undefined });
    } else {
      moved.add(backendName);
      endElsewhere(context, session.identity.subject, { origin, path }, record);
    }
  }
  return (backendName) => virtualHost.backends.has(backendName) && !moved.has(backendName);
}

/** Takes over what another process has opened since both knew `base`. What has changed here as well stays as it is here. */
export function mergeUpstreams(
  session: Session,
  theirs: readonly UpstreamRecord[],
  base: readonly UpstreamRecord[],
  replace: (upstream: UpstreamSession, restore: () => void) => void,
): void {
  for (const { backendName, origin, path, ...record } of theirs) {
    const backend = session.virtualHost?.backends.get(backendName);
    if (backend?.target.origin !== origin || backend.target.path !== path) continue;
    const upstream = session.upstream(backend);
    const { sessionId } = base.find((known) => known.backendName === backendName) ?? { sessionId: undefined };
    if (sessionId === record.sessionId || upstream.record?.sessionId === record.sessionId) continue;
    replace(upstream, () => upstream.restore({ ...record, instructions: undefined }));
  }
}
