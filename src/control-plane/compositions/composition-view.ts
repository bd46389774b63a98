// From compositions as they are stored to what people see of them: servers under their names of today, and the tools that
// the registry says are not there.
import { limits } from '../../shared/limits.js';
import { RecentMap } from '../../shared/recent-map.js';
import type { Registry } from '../registry/registry.js';
import type { KnownServer, ServerDirectory } from '../registry/server-directory.js';
import { isServed, matchServers, type Match } from './composed-backends.js';
import type { StoredComposedServer, StoredComposition } from './composition-storage.js';
import type { ComposedTool, Composition } from './composition.js';

interface KnownTools {
  /** Of the server's tools, when they were read. */
  readonly digest: string;
  readonly names: ReadonlySet<string>;
  readonly chars: number;
}

/** Where one stands among a composition's servers. */
export interface UnknownTool {
  readonly server: number;
  readonly place: number;
  readonly tool: string;
}

export class CompositionView {
  readonly #servers: ServerDirectory;
  readonly #registry: Pick<Registry, 'toolNames'>;
  /** By the server's id. */
  readonly #tools = new RecentMap<KnownTools>(
    limits.toolNamesCacheEntriesMax,
    limits.toolNamesCacheCharsMax,
    ({ chars }) => chars,
  );

  /** @param servers as fresh as the answers are to be. */
  constructor(servers: ServerDirectory, registry: Pick<Registry, 'toolNames'>) {
    this.#servers = servers;
    this.#registry = registry;
  }

  async describe(compositions: readonly StoredComposition[]): Promise<Composition[]> {
    return Promise.all(compositions.map((composition) => this.#describe(composition)));
  }

  /** The first tool that its server, which was read, does not have. */
  async findUnknown(servers: readonly StoredComposedServer[]): Promise<UnknownTool | undefined> {
    for (const [index, { id, tools }] of servers.entries()) {
      const server = this.#servers.byId(id);
      // Of one that was never reached nobody knows what it has.
      const names = server === undefined || server.lastSeen === null ? undefined : await this.#toolNames(server);
      const place = names === undefined ? -1 : tools.findIndex((tool) => !names.has(tool));
      if (place !== -1) return { server: index, place, tool: tools[place]! };
    }
    return undefined;
  }

  async #describe(composition: StoredComposition): Promise<Composition> {
    const { id, name, description, subjects, owner, team, createdAt, updatedAt } = composition;
    const ownership = { ...(owner !== undefined && { owner }), ...(team !== undefined && { team }) };
    const matches = matchServers(composition, this.#servers);
    const missing = await Promise.all(matches.map((match) => this.#findMissing(match)));
    const servers = matches.map((match) => {
      const { id: _, ...given } = match.composed;
      return { ...given, name: nameOf(match) };
    });
    return {
      ...{ id, name, description, servers, subjects, ...ownership, createdAt, updatedAt },
      missingTools: missing.flat(),
    };
  }

  async #findMissing(match: Match): Promise<ComposedTool[]> {
    const { composed, server } = match;
    const names = isServed(server) ? await this.#toolNames(server) : undefined;
    const missing = composed.tools.filter((tool) => names?.has(tool) !== true);
    return missing.map((tool) => ({ server: nameOf(match), tool }));
  }

  /** Read again when they are others. */
  async #toolNames({ id, toolsDigest }: KnownServer): Promise<ReadonlySet<string>> {
    const known = this.#tools.get(id);
    if (known?.digest === toolsDigest) return known.names;
    const names = new Set(await this.#registry.toolNames(id));
    let chars = 0;
    for (const { length } of names) chars += length;
    this.#tools.set(id, { digest: toolsDigest, names, chars });
    return names;
  }
}

function nameOf({ composed, server }: Match): string {
  return server?.name ?? composed.name;
}
