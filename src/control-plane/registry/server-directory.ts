// The registered servers in memory, with what lists, compositions and the aggregate need of each. `Directory.sync`
// brings them up to date.
import type { BackendConfig } from '../../user-config/index.js';
import { withoutClashes, readCuration } from '../common/curation.js';
import type { Mirrored } from '../mirror/record-mirror.js';
import { NameOrder } from '../mirror/name-order.js';
import type { ServerRecord } from '../records/server-record.js';
import type { StoredServer } from './server-state.js';

// A registered server as a backend of a virtual host: all that it has, with or without its curation.

type ServedMembers = Pick<ServerRecord, 'name' | 'url' | 'transport' | 'auth'>;

/** A backend that exposes everything the server has. */
function wholeBackendOf(server: ServedMembers & Pick<ServerRecord, 'curation'>): BackendConfig {
  return { ...uncuratedBackendOf(server), ...readCuration(server.curation) };
}

/** The same with the names that the server itself gives. */
export function uncuratedBackendOf(server: ServedMembers): BackendConfig {
  return {
    name: server.name,
    url: server.url,
    transport: server.transport,
    passthrough_headers: [],
    ...(server.auth && { auth: server.auth }),
    allowed_tool_names: [],
    allowed_resource_names: [],
    allowed_prompt_names: [],
  };
}

export const SERVERS = 'servers/';

type KnownMember =
  'id' | 'name' | 'url' | 'tags' | 'transport' | 'auth' | 'curation' | 'status' | 'enabled' | 'lastSeen';

export interface KnownServer extends Pick<ServerRecord, KnownMember> {
  /** Changes when the server's tools change. */
  readonly toolsDigest: string;
}

export interface ServerCounts {
  readonly total: number;
  readonly active: number;
  readonly inactive: number;
}

/** Times are left out: `lastSeen` says only whether the server was ever reached. */
function knownServer({ record, toolsDigest = '' }: StoredServer): KnownServer {
  const { id, name, url, tags, transport, auth, curation, status, enabled } = record;
  const lastSeen = record.lastSeen === null ? null : record.createdAt;
  const said = { ...(auth && { auth }), ...(curation && { curation }) };
  return { id, name, url, tags, transport, ...said, status, enabled, lastSeen, toolsDigest };
}

/** Whether the change affects what is known of the server in memory. */
export function isWorthTelling(before: StoredServer, after: StoredServer): boolean {
  return JSON.stringify(knownServer(before)) !== JSON.stringify(knownServer(after));
}

export class ServerDirectory implements Mirrored {
  readonly prefix = SERVERS;
  readonly #byId = new Map<string, KnownServer>();
  readonly #byName = new Map<string, KnownServer>();
  readonly #order = new NameOrder<KnownServer>();
  #backends: ReadonlyMap<string, BackendConfig> | undefined;
  #version = 0;

  /** Changes whenever any server changes. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Sorted by name. */
  get sorted(): readonly KnownServer[] {
    return this.#order.items;
  }

  /** Backends of the servers in service, by name; the same object until a server changes. */
  get backends(): ReadonlyMap<string, BackendConfig> {
    this.#backends ??= withoutClashes(
      new Map(
        this.sorted
          .filter(({ enabled, status }) => enabled && status === 'active')
          .map((server) => [server.name, wholeBackendOf(server)]),
      ),
    );
    return this.#backends;
  }

  keys(): Iterable<string> {
    return Array.from(this.#byId.keys(), (id) => SERVERS + id);
  }

  byId(id: string): KnownServer | undefined {
    return this.#byId.get(id);
  }

  /** In any case. */
  byName(name: string): KnownServer | undefined {
    return this.#byName.get(name.toLowerCase());
  }

  count(): ServerCounts {
    const active = this.sorted.filter(({ status }) => status === 'active').length;
    return { total: this.size, active, inactive: this.size - active };
  }

  put(key: string, value: Buffer | undefined): void {
    const before = this.#byId.get(key.slice(SERVERS.length));
    const after = value && knownServer(JSON.parse(value.toString()) as StoredServer);
    if (before !== undefined) {
      this.#byId.delete(before.id);
      this.#order.remove(before);
      const name = before.name.toLowerCase();
      // Another server may have the name by now.
      if (this.#byName.get(name) === before) this.#byName.delete(name);
    }
    if (after !== undefined) {
      this.#byId.set(after.id, after);
      this.#order.add(after);
      this.#byName.set(after.name.toLowerCase(), after);
    }
    this.#backends = undefined;
    this.#version += 1;
  }
}
