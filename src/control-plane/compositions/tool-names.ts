// The tool names of servers, as the registry last read them: cached until the server's tools change. Cold path.
import { RecentMap, MIB } from '../../shared/index.js';
import type { Registry } from '../registry/registry.js';
import type { KnownServer } from '../registry/server-directory.js';
import { isServed, type Match } from './composed-backends.js';
import { isPattern, matchedTools, namesAll } from './tool-patterns.js';

/** Servers whose tool names are cached. Beyond that, the least recently used are read again when needed. */
const TOOL_NAMES_CACHE_ENTRIES_MAX = 10_000;
/** Characters of all cached tool names. Beyond that, the least recently used are read again when needed. */
const TOOL_NAMES_CACHE_CHARS_MAX = 32 * MIB;

interface KnownTools {
  /** Digest of the server's tools when their names were read. */
  readonly digest: string;
  readonly names: ReadonlySet<string>;
  readonly chars: number;
}

export class ToolNames {
  readonly #registry: Pick<Registry, 'toolNames'>;
  /** By the server's id. */
  readonly #tools = new RecentMap<KnownTools>(
    TOOL_NAMES_CACHE_ENTRIES_MAX,
    TOOL_NAMES_CACHE_CHARS_MAX,
    ({ chars }) => chars,
  );

  constructor(registry: Pick<Registry, 'toolNames'>) {
    this.#registry = registry;
  }

  /** Read again when the server's tools have changed. */
  async of({ id, toolsDigest }: KnownServer): Promise<ReadonlySet<string>> {
    const known = this.#tools.get(id);
    if (known?.digest === toolsDigest) return known.names;
    const names = new Set(await this.#registry.toolNames(id));
    let chars = 0;
    for (const { length } of names) chars += length;
    this.#tools.set(id, { digest: toolsDigest, names, chars });
    return names;
  }

  /** The matches with each pattern replaced by the tools that it matches now, unless it is all. */
  async resolved(matches: readonly Match[]): Promise<readonly Match[]> {
    if (!matches.some(({ tools }) => tools.some(isPattern))) return matches;
    return Promise.all(
      matches.map(async (match) => {
        const { server, tools } = match;
        if (namesAll(tools) || !tools.some(isPattern)) return match;
        return { ...match, tools: matchedTools(tools, isServed(server) ? await this.of(server) : []) };
      }),
    );
  }
}
