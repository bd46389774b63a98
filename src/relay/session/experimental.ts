// Methods that MCP does not define: each belongs to the backend that declares an experimental capability of its name, unless two do.
// Nothing in their messages is rewritten, since their contents are unknown. Cold path.
import type { CompiledBackend, CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { isLimited } from '../../user-config/list-rules.js';
import type { SessionUpstreams } from './session-upstreams.js';

/** The only backend that has the method, as far as is known; `undefined` if none or several have it. */
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

/** `capabilities.experimental` for the `initialize` result, as JSON; `''` for none. */
export function experimentalJson(upstreams: Pick<SessionUpstreams, 'used'>, { backends }: CompiledVirtualHost): string {
  const byName = new Map<string, string | undefined>();
  for (const backend of backends.values()) {
    for (const { name, value } of upstreams.used(backend.name)?.experimental ?? []) {
      // If two backends declare the name, neither would get a request.
      byName.set(name, byName.has(name) ? undefined : value);
    }
  }
  const members: string[] = [];
  for (const [name, value] of byName) if (value !== undefined) members.push(`${JSON.stringify(name)}:${value}`);
  return members.length === 0 ? '' : `{${members.join()}}`;
}

/** Backends that may have methods of their own: their config limits nothing, and their capabilities are not known in this session. */
export function unheardBackends(
  upstreams: Pick<SessionUpstreams, 'used'>,
  { backends }: CompiledVirtualHost,
): ReadonlyMap<string, CompiledBackend> {
  const isUnheard = (backend: CompiledBackend): boolean =>
    !isLimited(backend) && upstreams.used(backend.name)?.knownCapabilities === undefined;
  return new Map([...backends].filter(([, backend]) => isUnheard(backend)));
}
