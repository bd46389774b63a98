// The gateway under test: the production build, with its user configs in an embedded store created for the bench.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreOptions } from '../src/config/table/store-options.js';
import { createLogger } from '../src/shared/logger.js';
import { openStore } from '../src/store/open-store.js';
import { backendUrl, collectorUrl, type Backends } from './backends.js';
import { authOf, SECRET, SECRET_FILE } from './credentials.js';
import type { ChildProcesses } from './child-processes.js';
import { freePort, waitUntilAnswering } from './loopback.js';
import type { BenchRedis } from './redis.js';
import type { PlaceName, Target } from './targets.js';
import type { Users } from './users.js';
import { virtualHostNames, virtualHosts, type VirtualHostName } from './virtual-hosts.js';

const ownProgram = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface GatewaySetup {
  /** The name of its process, and of its log. */
  readonly name: string;
  readonly workers: 1 | 2;
  /** The place that it takes; `gateway` or `two-workers` unless given. */
  readonly place?: PlaceName;
  /** `--session-directory`; the default unless given. */
  readonly directory?: 'none' | 'store';
  /** The Redis with its user configs; the embedded store unless given. */
  readonly redis?: BenchRedis | undefined;
  /** Another build's main.js; our own unless given. */
  readonly program?: string;
  /** For Node itself; the workers inherit it. */
  readonly nodeWords?: readonly string[];
  /** Lists of backends are answered from a cache. */
  readonly isListing?: boolean;
  /** Metrics are kept, as they are by default: gateways that are compared with others have none. */
  readonly isCounting?: boolean;
  /** Spans of every request go to a collector, in one of the backends' processes. */
  readonly isTracing?: boolean;
}

export interface StartedGateway extends Target {
  readonly rootPid: number;
  stop(): Promise<void>;
}

/** Starts gateways that share one store: every user has every virtual host. */
export class Gateways {
  readonly #children: ChildProcesses;
  readonly #storePath: string;
  readonly #keyPath: string;
  readonly #configs: readonly UserConfig[];
  readonly #secretsPath: string;
  readonly #collectorUrl: string;

  private constructor(
    children: ChildProcesses,
    directory: string,
    configs: readonly UserConfig[],
    collectorUrl: string,
  ) {
    this.#children = children;
    this.#configs = configs;
    this.#storePath = join(directory, 'store');
    this.#keyPath = join(directory, 'public-key.pem');
    this.#secretsPath = join(directory, 'secrets');
    this.#collectorUrl = collectorUrl;
  }

  static async prepare(
    children: ChildProcesses,
    directory: string,
    backends: Backends,
    users: Users,
  ): Promise<Gateways> {
    const gateways = new Gateways(children, directory, userConfigs(backends, users), collectorUrl(backends));
    writeFileSync(gateways.#keyPath, users.publicKey);
    mkdirSync(gateways.#secretsPath);
    writeFileSync(join(gateways.#secretsPath, SECRET_FILE), SECRET);
    await writeUserConfigs({ kind: 'embedded', path: gateways.#storePath }, gateways.#configs);
    return gateways;
  }

  /** Writes the same user configs for gateways that share this Redis. */
  async shareIn({ storeOptions }: BenchRedis): Promise<void> {
    await writeUserConfigs(storeOptions, this.#configs);
  }

  async start(setup: GatewaySetup): Promise<StartedGateway> {
    const { name, workers, program = ownProgram, nodeWords = [], directory, redis, isListing = false } = setup;
    const { isCounting = false, isTracing = false } = setup;
    const { place = workers === 1 ? 'gateway' : 'two-workers' } = setup;
    const address = `127.0.0.1:${await freePort()}`;
    const child = await this.#children.start({
      name,
      core: workers === 1 ? 'target' : 'two-targets',
      command: process.execPath,
      words: [
        ...[...nodeWords, program, 'dataplane', '--address', address, '--number-of-cpus', String(workers)],
        ...(redis?.gatewayWords ?? ['--store-path', this.#storePath]),
        ...(directory === undefined ? [] : ['--session-directory', directory]),
        ...['--token-verification-public-key', this.#keyPath],
        ...['--upstream-connection-mode', 'plain-text-or-tls', '--log-level', 'warn'],
      ],
      // Not on the command line, where an earlier build would refuse the options.
      environment: {
        SWITCHYARD_ADMIN_ADDRESS: isCounting ? `127.0.0.1:${await freePort()}` : 'off',
        SWITCHYARD_SECRETS_DIRECTORY: this.#secretsPath,
        ...(isTracing && { SWITCHYARD_TRACES_ENDPOINT: this.#collectorUrl }),
        ...(isListing && { SWITCHYARD_LIST_CACHE: '1h' }),
      },
    });
    await waitUntilAnswering(name, `http://${address}/gw-rs/health`);
    return {
      name: place,
      origin: `http://${address}`,
      hop: {
        kind: 'gateway',
        answers: 'exact',
        path: (virtualHost) => `/gw-rs/servers/${virtualHosts[virtualHost].id}/mcp`,
        toolName: (backend, tool) => `${backend}-${tool}`,
        uri: (backend, uri) => `${backend}+${uri}`,
      },
      rootPid: child.pid,
      stop: () => this.#children.stop([child]),
    };
  }
}

interface UserConfig {
  readonly subject: string;
  readonly config: Buffer;
}

function userConfigs(backends: Backends, users: Users): UserConfig[] {
  const hosts = virtualHostNames.map((name) => [virtualHosts[name].id, virtualHostConfig(backends, name)] as const);
  const config = Buffer.from(JSON.stringify({ virtual_hosts: Object.fromEntries(hosts) }));
  return users.list.map(({ subject }) => ({ subject, config }));
}

async function writeUserConfigs(options: StoreOptions, configs: readonly UserConfig[]): Promise<void> {
  const store = await openStore(options, createLogger('warn', { role: 'bench' }));
  try {
    await Promise.all(configs.map(({ subject, config }) => store.write(subject, config)));
  } finally {
    await store.close();
  }
}

function virtualHostConfig(backends: Backends, virtualHost: VirtualHostName): unknown {
  const entries = virtualHosts[virtualHost].backends.map((name) => {
    const url = backendUrl(backends, virtualHost, name);
    const members = { name, url, transport: 'STREAMABLEHTTP', passthrough_headers: [], allowed_tool_names: [] };
    return [name, { ...members, ...authOf(virtualHosts[virtualHost].offer, new URL(url).origin) }] as const;
  });
  return { backends: Object.fromEntries(entries) };
}
