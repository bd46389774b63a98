// Makes the backends of a composition's virtual host from its servers as they are registered now. Servers that are disabled,
// or that no probe has ever reached although they need no consent of a user, are left out.
import { RecentMap, MIB } from '../../shared/index.js';
import type { BackendConfig } from '../../user-config/index.js';
import { describeClash, curationOfNamed, mergeCuration, parseCuration, withoutClashes } from '../common/curation.js';
import type { Registry } from '../registry/registry.js';
import { uncuratedBackendOf, type KnownServer, type ServerDirectory } from '../registry/server-directory.js';
import type { StoredComposedServer, StoredComposition } from './composition.js';
import { isPattern, matchedTools, includesAllTools } from './tool-patterns.js';

export interface MatchedServer {
  readonly composed: StoredComposedServer;
  readonly server: KnownServer | undefined;
  /** The tools that the composition names; after `resolvePatterns`, those that its patterns match. */
  readonly tools: readonly string[];
}

export function matchServers({ servers }: Pick<StoredComposition, 'servers'>, known: ServerDirectory): MatchedServer[] {
  const ids = new Set(servers.map(({ id }) => id));
  return servers.map((composed) => {
    const namesake = known.byName(composed.name);
    // A virtual host has each backend once: a server that the composition also has by its id is not matched by name.
    const registeredAgain = namesake !== undefined && ids.has(namesake.id) ? undefined : namesake;
    return { composed, server: known.byId(composed.id) ?? registeredAgain, tools: composed.tools };
  });
}

/** Whether calls may go to the server. An unreachable server is included: it may be back before the next probe. So is one
 * that each user connects: without an account of its own, a probe learns nothing of it. */
export function isCallable(server: KnownServer | undefined): server is KnownServer {
  return server !== undefined && server.enabled && (server.lastSeen !== null || server.auth?.type === 'oauth2-user');
}

export function composeBackends(matches: readonly MatchedServer[]): ReadonlyMap<string, BackendConfig> {
  return withoutClashes(curatedBackends(matches));
}

/** A message that says how the servers' curation clashes; `''` if it does not. */
export function findClash(matches: readonly MatchedServer[]): string {
  return describeClash(curatedBackends(matches));
}

function curatedBackends(matches: readonly MatchedServer[]): ReadonlyMap<string, BackendConfig> {
  const backends = new Map<string, BackendConfig>();
  for (const match of matches) {
    const { server, composed, tools } = match;
    // A server of which nothing is exposed is left out of the virtual host, for example if the patterns match no tool.
    const isExposed = tools.length > 0 || composed.prompts !== undefined || composed.resources !== undefined;
    if (isCallable(server) && isExposed) backends.set(server.name, composedBackendOf(server, match));
  }
  return backends;
}

/** The backend, which exposes only what the composition names. `exposes` is needed: an empty allow-list would allow everything. */
function composedBackendOf(server: KnownServer, { composed, tools }: MatchedServer): BackendConfig {
  const { prompts = [], resources = [] } = composed;
  const named = { tools, prompts, resources };
  return {
    ...uncuratedBackendOf(server),
    ...curationOfNamed(mergeCuration(parseCuration(server.curation), parseCuration(composed.curation)), named),
    allowed_tool_names: includesAllTools(tools) ? [] : [...tools],
    allowed_resource_names: [...resources],
    allowed_prompt_names: [...prompts],
    exposes: (['tools', 'prompts', 'resources'] as const).filter((kind) => named[kind].length > 0),
  };
}

/** The most servers whose tool names are cached. Beyond that, the least recently used are dropped, and read again when needed. */
const TOOL_NAMES_CACHE_ENTRIES_MAX = 10_000;
/** The most characters of all cached tool names. Beyond that, the least recently used are dropped, and read again when needed. */
const TOOL_NAMES_CACHE_CHARS_MAX = 32 * MIB;

interface CachedToolNames {
  readonly digest: string;
  readonly names: ReadonlySet<string>;
  readonly chars: number;
}

/** The tool names of servers, cached until a server's tools change. */
export class ToolNames {
  readonly #registry: Pick<Registry, 'toolNames'>;
  readonly #tools = new RecentMap<CachedToolNames>(
    TOOL_NAMES_CACHE_ENTRIES_MAX,
    TOOL_NAMES_CACHE_CHARS_MAX,
    ({ chars }) => chars,
  );

  constructor(registry: Pick<Registry, 'toolNames'>) {
    this.#registry = registry;
  }

  async namesOf({ id, toolsDigest }: KnownServer): Promise<ReadonlySet<string>> {
    const known = this.#tools.get(id);
    if (known?.digest === toolsDigest) return known.names;
    const names = new Set(await this.#registry.toolNames(id));
    let chars = 0;
    for (const { length } of names) chars += length;
    this.#tools.set(id, { digest: toolsDigest, names, chars });
    return names;
  }

  /** Replaces the patterns of each match by the tools that they match now, except for `*` alone, which stays. */
  async resolvePatterns(matches: readonly MatchedServer[]): Promise<readonly MatchedServer[]> {
    return Promise.all(
      matches.map(async (match) => {
        const { server, tools } = match;
        if (includesAllTools(tools) || !tools.some(isPattern)) return match;
        return { ...match, tools: matchedTools(tools, isCallable(server) ? await this.namesOf(server) : []) };
      }),
    );
  }
}
