// From compositions as they are stored to what people see of them: servers under their names of today, and the tools that
// the registry says are not there.
import type { Registry } from '../registry/registry.js';
import { RegistryFault } from '../registry/registry-fault.js';
import { isServed, KnownServers, type Match } from './composed-backends.js';
import type { StoredComposition } from './composition-storage.js';
import type { ComposedTool, Composition } from './composition.js';

export async function describeCompositions(
  compositions: readonly StoredComposition[],
  registry: Registry,
): Promise<Composition[]> {
  const servers = new KnownServers(await registry.list());
  const toolNames = new ToolNames(registry);
  return Promise.all(
    compositions.map(async (composition) => {
      const matches = servers.match(composition);
      const missing = await Promise.all(matches.map((match) => findMissing(match, toolNames)));
      const named = matches.map((match) => ({ name: nameOf(match), tools: match.composed.tools }));
      return { ...composition, servers: named, missingTools: missing.flat() };
    }),
  );
}

async function findMissing(match: Match, toolNames: ToolNames): Promise<ComposedTool[]> {
  const { composed, server } = match;
  const names = isServed(server) ? await toolNames.of(server.id) : undefined;
  const missing = composed.tools.filter((tool) => names?.has(tool) !== true);
  return missing.map((tool) => ({ server: nameOf(match), tool }));
}

function nameOf({ composed, server }: Match): string {
  return server?.name ?? composed.name;
}

/** Each server's are read once, however many compositions ask. */
class ToolNames {
  readonly #registry: Registry;
  readonly #byServerId = new Map<string, Promise<ReadonlySet<string>>>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  of(serverId: string): Promise<ReadonlySet<string>> {
    let names = this.#byServerId.get(serverId);
    if (names === undefined) {
      names = this.#read(serverId);
      this.#byServerId.set(serverId, names);
    }
    return names;
  }

  async #read(serverId: string): Promise<ReadonlySet<string>> {
    try {
      return new Set((await this.#registry.tools(serverId)).map(({ name }) => name));
    } catch (error) {
      // Removed since it was listed.
      if (error instanceof RegistryFault && error.code === 'not-found') return new Set();
      throw error;
    }
  }
}
