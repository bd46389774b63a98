// From a composition to the backends of its virtual host, as the registry is now. A server of the composition that the
// registry has no more may have come back under its name; one that is disabled or was never reached is no backend:
// nobody has vouched for what is there.
import type { BackendConfig } from '../../store/user-config-schema.js';
import type { ServerRecord } from '../registry/server-record.js';
import type { StoredComposedServer, StoredComposition } from './composition-storage.js';

/** A server of a composition, and what the registry has for it. */
export interface Match {
  readonly composed: StoredComposedServer;
  readonly server: ServerRecord | undefined;
}

/** The registry's servers, ready to be asked for by many compositions. */
export class KnownServers {
  readonly #byId: ReadonlyMap<string, ServerRecord>;
  readonly #byName: ReadonlyMap<string, ServerRecord>;

  constructor(servers: readonly ServerRecord[]) {
    this.#byId = new Map(servers.map((server) => [server.id, server]));
    this.#byName = new Map(servers.map((server) => [server.name.toLowerCase(), server]));
  }

  match({ servers }: StoredComposition): Match[] {
    const ids = new Set(servers.map(({ id }) => id));
    return servers.map((composed) => {
      const namesake = this.#byName.get(composed.name.toLowerCase());
      // A namesake that the composition has by its id is there already: a virtual host has each backend once.
      const successor = namesake !== undefined && ids.has(namesake.id) ? undefined : namesake;
      return { composed, server: this.#byId.get(composed.id) ?? successor };
    });
  }
}

/** Whether calls may go to the server. An inactive one may be back before the next health check says so. */
export function isServed(server: ServerRecord | undefined): server is ServerRecord {
  return server !== undefined && server.enabled && server.lastSeen !== null;
}

/** Backends by name: the prefix of their tools is the server's name. */
export function composeBackends(matches: readonly Match[]): ReadonlyMap<string, BackendConfig> {
  const backends = new Map<string, BackendConfig>();
  for (const { composed, server } of matches) {
    // An empty allow-list would allow every tool.
    if (isServed(server) && composed.tools.length > 0) backends.set(server.name, backendOf(server, composed.tools));
  }
  return backends;
}

/** @param tools the only ones that may be listed and called; none given: all. */
export function backendOf(server: ServerRecord, tools: readonly string[] = []): BackendConfig {
  return {
    name: server.name,
    url: server.url,
    transport: server.transport,
    passthrough_headers: [],
    allowed_tool_names: [...tools],
    allowed_resource_names: [],
    allowed_prompt_names: [],
  };
}
