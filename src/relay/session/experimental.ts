// Methods that MCP does not have: each is the backend's that declares an experimental capability of its name, unless there are
// two. Nothing in their messages is rewritten, as nobody knows what is in them. Cold.
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { isLimited } from '../../user-config/list-rules.js';
import type { SessionUpstreams } from './session-upstreams.js';

/** The one backend that has such a method, as far as is known. */
export function backendOfMethod(
  upstreams: Pick<SessionUpstreams, 'used'>,
  { backends }: CompiledVirtualHost,
  method: string,
): CompiledBackend | undefined {
  let found: CompiledBackend | undefined;
  for (const backend of backends.values()) {
    const declared = upstreams.used(backend.name)?.experimental ?? [];
    if (!declared.some(({ name }) => name === method)) continue;
    if (found !== undefined) return undefined;
    found = backend;
  }
  return found;
}

/** What callers are told of at `initialize`: `capabilities.experimental` as JSON, `''` for none. */
export function experimentalJson(upstreams: Pick<SessionUpstreams, 'used'>, { backends }: CompiledVirtualHost): string {
  const byName = new Map<string, string | undefined>();
  for (const backend of backends.values()) {
    for (const { name, value } of upstreams.used(backend.name)?.experimental ?? []) {
      // Of two backends neither would be asked.
      byName.set(name, byName.has(name) ? undefined : value);
    }
  }
  const members: string[] = [];
  for (const [name, value] of byName) if (value !== undefined) members.push(`${JSON.stringify(name)}:${value}`);
  return members.length === 0 ? '' : `{${members.join()}}`;
}

/** Those that may have methods of their own, as far as is known: nothing is known of them in this session. */
export function unheardBackends(
  upstreams: Pick<SessionUpstreams, 'used'>,
  { backends }: CompiledVirtualHost,
): ReadonlyMap<string, CompiledBackend> {
  const isUnheard = (backend: CompiledBackend): boolean =>
    !isLimited(backend) && upstreams.used(backend.name)?.knownCapabilities === undefined;
  return new Map([...backends].filter(([, backend]) => isUnheard(backend)));
}
