// Which backend a tool name belongs to (decisions 2.5). The prefix is the backend's key followed by `-`; both halves may
// contain `-`, and the longest backend name that fits wins. Hot.
import type { CompiledBackend, CompiledVirtualHost } from '../store/compiled-config.js';
import type { ListRules, RuledBackend } from './list-merge/list-rules.js';

export interface ToolRoute {
  readonly backend: CompiledBackend;
  /** The name as the backend knows it. */
  readonly bareName: string;
}

/** @returns `undefined` when no backend's prefix fits, or the backend's allow-list leaves the tool out. */
export function routeTool(virtualHost: CompiledVirtualHost, fullName: string): ToolRoute | undefined {
  const backend = backendOf(virtualHost, fullName);
  if (backend === undefined) return undefined;
  const bareName = fullName.slice(backend.name.length + 1);
  return isAllowed(backend, bareName) ? { backend, bareName } : undefined;
}

/**
 * Whether a call of the merged name would reach this backend: beside `a-b`, the tool `b-c` of `a` cannot be reached,
 * because `a-b-c` is the other backend's `c`.
 */
export function isReachable(rules: ListRules, backend: RuledBackend, bareName: string): boolean {
  return backendOf(rules, `${backend.name}-${bareName}`) === backend;
}

export function isAllowed(backend: RuledBackend, bareName: string): boolean {
  return backend.allowedToolNames === undefined || backend.allowedToolNames.has(bareName);
}

function backendOf<Backend extends RuledBackend>(
  { backendsByNameLength }: { readonly backendsByNameLength: readonly Backend[] },
  fullName: string,
): Backend | undefined {
  for (const backend of backendsByNameLength) {
    if (fullName.charCodeAt(backend.name.length) === HYPHEN && fullName.startsWith(backend.name)) return backend;
  }
  return undefined;
}

const HYPHEN = 0x2d;
