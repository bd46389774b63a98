// The registered servers in memory: of each record, the members that pages of servers, compositions and the aggregate need.
import type { BackendConfig } from '../../user-config/index.js';
import { withoutClashes, parseCuration } from '../common/curation.js';
import { NamedMirror } from '../mirror/named-mirror.js';
import type { ServerRecord } from '../records/server-record.js';
import type { StoredServer } from './server-state.js';

type ServedMembers = Pick<ServerRecord, 'name' | 'url' | 'transport' | 'auth'>;

/** The server as a backend that exposes everything the server has. */
function backendOf(server: ServedMembers & Pick<ServerRecord, 'curation'>): BackendConfig {
  return { ...uncuratedBackendOf(server), ...parseCuration(server.curation) };
}

/** The server as a backend that exposes everything the server has, without its curation. */
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

export const SERVERS_PREFIX = 'servers/';

/** Members of a record that are kept in memory. */
type KnownServerField =
  'id' | 'name' | 'url' | 'tags' | 'transport' | 'auth' | 'curation' | 'status' | 'enabled' | 'lastSeen';

export interface KnownServer extends Pick<ServerRecord, KnownServerField> {
  /** A digest that changes when the server's tools change. */
  readonly toolsDigest: string;
}

/** In the result, `lastSeen` only says whether the server was ever reached: times are not kept. */
function toKnownServer({ record, toolsDigest = '' }: StoredServer): KnownServer {
  const { id, name, url, tags, transport, auth, curation, status, enabled } = record;
  const lastSeen = record.lastSeen === null ? null : record.createdAt;
  const optional = { ...(auth && { auth }), ...(curation && { curation }) };
  return { id, name, url, tags, transport, ...optional, status, enabled, lastSeen, toolsDigest };
}

/** Whether any of the members that are kept in memory has changed. */
export function isKnownServerChanged(before: StoredServer | undefined, after: StoredServer | undefined): boolean {
  if (before === undefined || after === undefined) return true;
  return JSON.stringify(toKnownServer(before)) !== JSON.stringify(toKnownServer(after));
}

export class ServerDirectory extends NamedMirror<KnownServer> {
  readonly #byName = new Map<string, KnownServer>();
  #backends: ReadonlyMap<string, BackendConfig> | undefined;
  #version = 0;

  constructor() {
    super(SERVERS_PREFIX);
  }

  /** A number that changes whenever any server changes. */
  get version(): number {
    return this.#version;
  }

  /** Backends of the servers in service, by name, the same map until a server changes. What users connect is not judged by its probes. */
  get backends(): ReadonlyMap<string, BackendConfig> {
    this.#backends ??= withoutClashes(
      new Map(
        this.sorted
          .filter(({ enabled, status, auth }) => enabled && (status === 'active' || auth?.type === 'oauth2-user'))
          .map((server) => [server.name, backendOf(server)]),
      ),
    );
    return this.#backends;
  }

  /** @param name in any case. */
  byName(name: string): KnownServer | undefined {
    return this.#byName.get(name.toLowerCase());
  }

  count() {
    const active = this.sorted.filter(({ status }) => status === 'active').length;
    return { total: this.size, active, inactive: this.size - active };
  }

  protected override parse(value: Buffer): KnownServer {
    return toKnownServer(JSON.parse(value.toString()) as StoredServer);
  }

  protected override onRowChange(server: KnownServer, isAdded: boolean): void {
    const name = server.name.toLowerCase();
    if (isAdded) this.#byName.set(name, server);
    // If another server has taken the name meanwhile, that server stays.
    else if (this.#byName.get(name) === server) this.#byName.delete(name);
    this.#backends = undefined;
    this.#version += 1;
  }
}
