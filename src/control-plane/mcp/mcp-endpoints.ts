// The MCP endpoints of the control plane: all active servers as one, and each composition as one. The relay behind them is
// the dataplane's.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConnectionOptions, ShareOptions, UpstreamOptions } from '../../config/index.js';
import { Relay, type RelayOptions, shareTable } from '../../relay/index.js';
import { type Overload, LoadShedder, Accounts, createMessageMemories, DeadlineWheel } from '../../fair/index.js';
import { RecentMap, limits } from '../../shared/index.js';
import { type Names, BackendConnections } from '../../http-client/index.js';
import type { RequestWatch } from '../../observation/index.js';
import {
  type CompiledVirtualHost,
  type Exposure,
  type CurrentHost,
  nextConfigNumber,
  numberConfig,
  compileUserConfig,
  mapsAsObjects,
  type BackendConfig,
} from '../../user-config/index.js';
import type { Compositions } from '../compositions/compositions.js';
import type { Directory } from '../registry/directory.js';
import { McpPipeline, type RequestedVirtualHost } from './mcp-pipeline.js';
import { NodeExchanges } from '../../edge/index.js';

/** The most compiled virtual hosts that are cached. Beyond that, the least recently used is compiled again when needed. */
export const CONTROL_PLANE_VIRTUAL_HOSTS_MAX = 16_384;

/** A compiled virtual host, with what it was compiled from. */
interface CompiledHost {
  readonly exposure: Exposure;
  readonly backends: ReadonlyMap<string, BackendConfig>;
  readonly text: string;
  readonly virtualHost: CompiledVirtualHost;
}

/** Compiles virtual hosts for the relay. While a virtual host stays the same, so does the object: sessions take a new one for a change. */
export class VirtualHosts {
  readonly #upstreamMode: UpstreamOptions['mode'];
  readonly #compiledHosts = new RecentMap<CompiledHost>(
    CONTROL_PLANE_VIRTUAL_HOSTS_MAX,
    limits.cacheBytesMax,
    ({ text }) => text.length,
  );

  constructor(upstreamMode: UpstreamOptions['mode']) {
    this.#upstreamMode = upstreamMode;
  }

  compile(id: string, backends: ReadonlyMap<string, BackendConfig>, exposure: Exposure = 'all'): CompiledVirtualHost {
    const found = this.#compiledHosts.get(id);
    const known = found?.exposure === exposure ? found : undefined;
    if (known?.backends === backends) return known.virtualHost;
    const text = JSON.stringify([...backends], mapsAsObjects);
    if (known?.text === text) return known.virtualHost;
    const config = { virtual_hosts: new Map([[id, { backends: new Map(backends), exposure }]]) };
    const compiled = compileUserConfig(config, this.#upstreamMode);
    numberConfig(compiled, nextConfigNumber());
    const virtualHost = compiled.virtualHosts.get(id)!;
    this.#compiledHosts.set(id, { exposure, backends, text, virtualHost });
    return virtualHost;
  }
}

type RelayOptionNames =
  'upstream' | 'answers' | 'eras' | 'storedSecrets' | 'userGrants' | 'sessionIdleTimeoutMs' | 'logger';

export interface McpEndpointsOptions extends Pick<RelayOptions, RelayOptionNames> {
  readonly overload: Overload;
  readonly directory: Directory;
  readonly compositions: Pick<Compositions, 'findHost'>;
  readonly shares: ShareOptions;
  readonly connections: ConnectionOptions;
  readonly names: Names;
  readonly bodyBytesMax: number;
  /** `undefined` if requests are not observed. */
  readonly watch?: RequestWatch | undefined;
}

interface EndpointRequest {
  readonly subject: string;
  readonly requestId?: string;
  /** Id or name of a composition, percent-decoded; `undefined` for all servers. */
  readonly composition?: string | undefined;
  /** What the `tools/list` of all servers shows. */
  readonly exposure?: Exposure | undefined;
}

/** Ids of the virtual hosts with all servers, one per exposure, because a session keeps its exposure. */
const AGGREGATE_IDS: Readonly<Record<Exposure, string>> = { all: 'aggregate', search: 'aggregate?exposure=search' };

/** Random bytes in a session id. Encoded as base64url, they are characters that S20 allows. */
const SESSION_ID_BYTES = 32;

/** Handles MCP requests whose Host, Origin and token were checked, and whose body is unread. Response headers already set stay. */
export class McpEndpoints {
  readonly #options: McpEndpointsOptions;
  readonly #exchanges: NodeExchanges;
  readonly #deadlines = new DeadlineWheel();
  readonly #backends: BackendConnections;
  readonly #relay: Relay;
  readonly #pipeline: McpPipeline;
  readonly #virtualHosts: VirtualHosts;

  constructor(options: McpEndpointsOptions) {
    const { upstream, answers, eras, storedSecrets, userGrants, sessionIdleTimeoutMs, bodyBytesMax, logger } = options;
    const { connections: pool, names, overload, watch } = options;
    const { connectTimeoutMs, authorities, mode } = upstream;
    const deadlines = this.#deadlines;
    this.#options = options;
    const accounts = new Accounts(shareTable(options.shares));
    const memories = createMessageMemories(accounts, deadlines);
    const { streamKeepAliveMs } = answers;
    this.#exchanges = new NodeExchanges({ deadlines, bodyBytesMax, streamKeepAliveMs, logger }, memories);
    this.#backends = new BackendConnections({ connectTimeoutMs, pool, names, authorities });
    this.#relay = new Relay({
      http: this.#backends.calls,
      streams: this.#backends.streams,
      replies: this.#backends.replies,
      ...{ deadlines, upstream, answers, eras, storedSecrets, userGrants, sessionIdleTimeoutMs, logger, accounts },
      answerMemory: memories.answers,
      mintSessionId: () => randomBytes(SESSION_ID_BYTES).toString('base64url'),
      isSessionOptional: true,
      readHost: (subject, virtualHostId) => this.#currentHost(subject, virtualHostId),
    });
    const loadShedder = new LoadShedder(overload, accounts);
    this.#pipeline = new McpPipeline({ overload, loadShedder, served: eras.served, relay: this.#relay, watch, logger });
    this.#virtualHosts = new VirtualHosts(mode);
  }

  handle(
    { subject, composition, exposure = 'all', requestId = '' }: EndpointRequest,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const requested: RequestedVirtualHost =
      composition === undefined
        ? { subject, name: AGGREGATE_IDS[exposure], find: () => this.#findAggregate(exposure) }
        : { subject, name: composition, find: () => this.#findComposition(composition, subject) };
    void this.#pipeline.onRequest(requested, this.#exchanges.open(request, response, requestId));
  }

  /** Drops cached lists. Call this when a server's lists, or the set of servers, have changed. */
  forgetLists(): void {
    this.#relay.forgetLists();
  }

  /** Opens no more streams, and ends those that would not end by themselves. */
  drain(): void {
    this.#relay.drain();
  }

  /** Ends all sessions and connections. Call this after `drain`. */
  async stop(): Promise<void> {
    await this.#relay.stop();
    await this.#backends.close();
    this.#deadlines.stop();
  }

  async #currentHost(subject: string, virtualHostId: string): Promise<CurrentHost> {
    try {
      if (virtualHostId === AGGREGATE_IDS.all) return await this.#findAggregate('all');
      if (virtualHostId === AGGREGATE_IDS.search) return await this.#findAggregate('search');
      return (await this.#findComposition(virtualHostId, subject)) ?? 'gone';
    } catch {
      // The failure is reported by the next request.
      return 'unknown';
    }
  }

  /** The virtual host with all servers. Updates the directory first, so that changes by other processes count at once. */
  async #findAggregate(exposure: Exposure): Promise<CompiledVirtualHost> {
    const { directory } = this.#options;
    await directory.sync();
    return this.#virtualHosts.compile(AGGREGATE_IDS[exposure], directory.servers.backends, exposure);
  }

  async #findComposition(reference: string, subject: string): Promise<CompiledVirtualHost | undefined> {
    const host = await this.#options.compositions.findHost(reference, subject);
    return host && this.#virtualHosts.compile(host.id, host.backends, host.exposure);
  }
}
