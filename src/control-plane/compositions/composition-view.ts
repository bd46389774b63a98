// From stored compositions to what people see of them: servers under their current names, and the tools that are
// missing by the registry.
import type { ServerDirectory } from '../registry/server-directory.js';
import { isServed, matchServers, type Match } from './composed-backends.js';
import type { StoredComposedServer, StoredComposition } from './composition-storage.js';
import type { ComposedTool, Composition } from './composition.js';
import type { ToolNames } from './tool-names.js';
import { isPattern, matchesAny, namesAll } from './tool-patterns.js';

/** The position of an unknown tool in a composition. */
export interface UnknownTool {
  readonly server: number;
  readonly place: number;
  readonly tool: string;
}

export class CompositionView {
  readonly #servers: ServerDirectory;
  readonly #names: ToolNames;

  /** @param servers synced as recently as the answers require. */
  constructor(servers: ServerDirectory, names: ToolNames) {
    this.#servers = servers;
    this.#names = names;
  }

  async describe(compositions: readonly StoredComposition[]): Promise<Composition[]> {
    return Promise.all(compositions.map((composition) => this.#describe(composition)));
  }

  /** The first tool that its server, once reached, does not have. */
  async findUnknown(servers: readonly StoredComposedServer[]): Promise<UnknownTool | undefined> {
    for (const [index, { id, tools }] of servers.entries()) {
      const server = this.#servers.byId(id);
      // The tools of a server that was never reached are unknown.
      const names = server === undefined || server.lastSeen === null ? undefined : await this.#names.of(server);
      const place = names === undefined ? -1 : tools.findIndex((tool) => !isThere(tool, names));
      if (place !== -1) return { server: index, place, tool: tools[place]! };
    }
    return undefined;
  }

  async #describe(composition: StoredComposition): Promise<Composition> {
    const { id, name, description, exposure, subjects, owner, team, createdAt, updatedAt } = composition;
    const ownership = { ...(owner !== undefined && { owner }), ...(team !== undefined && { team }) };
    const matches = matchServers(composition, this.#servers);
    const missing = await Promise.all(matches.map((match) => this.#findMissing(match)));
    const servers = matches.map((match) => {
      const { id: _, ...given } = match.composed;
      return { ...given, name: nameOf(match) };
    });
    return {
      ...{ id, name, description, servers, ...(exposure && { exposure }), subjects, ...ownership },
      ...{ createdAt, updatedAt },
      missingTools: missing.flat(),
    };
  }

  async #findMissing(match: Match): Promise<ComposedTool[]> {
    const { composed, server } = match;
    const names = isServed(server) ? await this.#names.of(server) : undefined;
    const missing = composed.tools.filter((tool) => names === undefined || !isThere(tool, names));
    return missing.map((tool) => ({ server: nameOf(match), tool }));
  }
}

/** A pattern is present if it matches something, or is all. */
function isThere(tool: string, names: ReadonlySet<string>): boolean {
  if (namesAll([tool])) return true;
  return isPattern(tool) ? matchesAny(tool, names) : names.has(tool);
}

function nameOf({ composed, server }: Match): string {
  return server?.name ?? composed.name;
}
