// Which backend a name belongs to (decisions 2.5). The prefix is the backend's key followed by `-`; both halves may contain
// `-`, and the longest backend name that fits wins. Tools, prompts and ids of tasks alike. Hot.
import type { ListKind } from '../protocol/list-kinds.js';
import type { AllowedNames, CompiledBackend, CompiledVirtualHost } from './compiled-config.js';
import { mayHaveTasks, type ListRules, type RuledBackend } from './list-rules.js';

export interface NameRoute {
  readonly backend: CompiledBackend;
  /** The name as the backend knows it. */
  readonly bareName: string;
}

/** @returns `undefined` when no backend's prefix fits, or the backend's allow-list leaves the name out. */
export function routeName(
  virtualHost: CompiledVirtualHost,
  kind: keyof AllowedNames,
  fullName: string,
): NameRoute | undefined {
  const backend = backendOf(virtualHost.backendsByNameLength, fullName);
  if (backend === undefined) return undefined;
  const bareName = fullName.slice(backend.name.length + 1);
  const allowed = backend.allowedNames[kind];
  return allowed === undefined || allowed.has(bareName) ? { backend, bareName } : undefined;
}

/** The same for the id of a task. */
export function routeTask(virtualHost: CompiledVirtualHost, fullId: string): NameRoute | undefined {
  const backend = backendOf(virtualHost.backendsByNameLength, fullId);
  return backend && mayHaveTasks(backend) ? { backend, bareName: fullId.slice(backend.name.length + 1) } : undefined;
}

/**
 * Whether a request for the merged name would reach this backend: beside `a-b`, the tool `b-c` of `a` cannot be reached,
 * because `a-b-c` is the other backend's `c`.
 * @param rivals of the backend.
 */
export function isReachable(rivals: readonly RuledBackend[], backend: RuledBackend, bareName: string): boolean {
  return rivals.length === 0 || backendOf(rivals, `${backend.name}-${bareName}`) === undefined;
}

const rivalsByRules = new WeakMap<ListRules, ReadonlyMap<string, readonly RuledBackend[]>>();

/** The backends whose names begin with this one's and a `-`: few have any. Found once for all backends of the rules. */
export function rivalsOf(rules: ListRules, backend: RuledBackend): readonly RuledBackend[] {
  let rivals = rivalsByRules.get(rules);
  if (rivals === undefined) {
    rivals = findRivals(rules);
    rivalsByRules.set(rules, rivals);
  }
  return rivals.get(backend.name) ?? NO_RIVALS;
}

const NO_RIVALS: readonly RuledBackend[] = [];

function findRivals({ backendsByNameLength }: ListRules): ReadonlyMap<string, readonly RuledBackend[]> {
  const rivals = new Map<string, RuledBackend[]>(backendsByNameLength.map(({ name }) => [name, []]));
  for (const backend of backendsByNameLength) {
    const { name } = backend;
    for (let at = name.indexOf('-'); at !== -1; at = name.indexOf('-', at + 1))
      rivals.get(name.slice(0, at))?.push(backend);
  }
  return rivals;
}

/** @param name of an item that has another key; `undefined` when it has none. */
export function isAllowed(backend: RuledBackend, kind: ListKind, key: string, name: string | undefined): boolean {
  if (kind.allowedAs === undefined) return mayHaveTasks(backend);
  const allowed = backend.allowedNames[kind.allowedAs];
  return allowed === undefined || allowed.has(key) || (name !== undefined && allowed.has(name));
}

/** The first whose prefix fits. */
function backendOf<Backend extends RuledBackend>(backends: readonly Backend[], fullName: string): Backend | undefined {
  for (const backend of backends) {
    if (fullName.charCodeAt(backend.name.length) === HYPHEN && fullName.startsWith(backend.name)) return backend;
  }
  return undefined;
}

const HYPHEN = 0x2d;
