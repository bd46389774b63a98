// What backends declare by names that MCP does not define, experimental capabilities and extensions, and the methods that come with it.
// Nothing in the messages of such methods is rewritten, since their contents are unknown. Cold path.
import type { ExtraCapability, Era } from '../mcp/index.js';
import { type CompiledBackend, type CompiledVirtualHost, isLimited } from '../user-config/index.js';
import type { Session } from './session.js';
import type { SessionUpstreams } from './session-upstreams.js';

type Upstreams = Pick<SessionUpstreams, 'used'>;

/**
 * The only backend that has the method, as far as is known; `undefined` if none or several have it. None whose config hides any of its
 * items: what a method outside the lists can reach is unknown.
 */
export function backendOfMethod(
  { upstreams, identity: { era } }: Pick<Session, 'upstreams' | 'identity'>,
  { backends }: CompiledVirtualHost,
  method: string,
): CompiledBackend | undefined {
  const found = [...backends.values()].filter(
    (backend) => !isLimited(backend) && namedOf(upstreams, backend).some((named) => hasMethod(named, method, era)),
  );
  return found.length === 1 ? found[0] : undefined;
}

/** An experimental capability is a method. The methods of an extension `a.example/b` begin with this name, or with `b`. */
function hasMethod({ name, isExtension }: ExtraCapability, method: string, era: Era): boolean {
  if (!isExtension) return era === 'legacy' && name === method;
  return method.startsWith(`${name}/`) || method.startsWith(`${name.slice(name.lastIndexOf('/') + 1)}/`);
}

function namedOf(upstreams: Upstreams, { name }: CompiledBackend): readonly ExtraCapability[] {
  return upstreams.used(name)?.named ?? [];
}

/** `capabilities.experimental` for the `initialize` result, as JSON; `''` for none. */
export function experimentalJson(upstreams: Upstreams, { backends }: CompiledVirtualHost): string {
  const byName = new Map<string, string | undefined>();
  for (const backend of backends.values()) {
    for (const { name, value, isExtension } of namedOf(upstreams, backend)) {
      // A name that two backends declare is left out: no request could say which of them it is for.
      if (!isExtension) byName.set(name, byName.has(name) ? undefined : value);
    }
  }
  return membersJson(byName);
}

interface MergedExtensions {
  /** `''` for none. */
  readonly json: string;
  /** The extensions to which backends give different settings. */
  readonly differing: readonly string[];
}

/** `capabilities.extensions` as JSON: those of all backends, with the settings of the first by name. */
export function mergeExtensions(upstreams: Upstreams, { backends }: CompiledVirtualHost): MergedExtensions {
  const byName = new Map<string, string>();
  const differing = new Set<string>();
  const naming = [...backends.values()].filter((backend) => namedOf(upstreams, backend).length > 0);
  for (const backend of naming.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    for (const { name, value, isExtension } of namedOf(upstreams, backend)) {
      if (!isExtension) continue;
      if ((byName.get(name) ?? value) !== value) differing.add(name);
      if (!byName.has(name)) byName.set(name, value);
    }
  }
  return { json: membersJson(byName), differing: [...differing] };
}

function membersJson(byName: ReadonlyMap<string, string | undefined>): string {
  const members: string[] = [];
  for (const [name, value] of byName) if (value !== undefined) members.push(`${JSON.stringify(name)}:${value}`);
  return members.length === 0 ? '' : `{${members.join()}}`;
}

/** Backends that may have methods of their own: their config limits nothing, and their capabilities are not known in this session. */
export function backendsNotYetHeard(
  upstreams: Upstreams,
  { backends }: CompiledVirtualHost,
): ReadonlyMap<string, CompiledBackend> {
  const isUnheard = (backend: CompiledBackend): boolean =>
    !isLimited(backend) && upstreams.used(backend.name)?.knownCapabilities === undefined;
  return new Map([...backends].filter(([, backend]) => isUnheard(backend)));
}
