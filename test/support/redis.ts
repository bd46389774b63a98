// A real redis-server for one test: in a directory of its own, on a port that it keeps over restarts, with data that
// survives kills. It can be stopped, killed and frozen, and ends with the test.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import type { Test } from 'tap';
import type { RedisTls } from '../../src/config/table/store-options.js';
import type { RedisStoreOptions } from '../../src/store/redis-connection.js';
import type { Certificates } from './certificates.js';
import { findFreePort } from './free-port.js';
import { killWithProcess } from './leftovers.js';
import { createScratchDirectory } from './scratch-directory.js';
import { until } from './until.js';

const HOST = '127.0.0.1';
const START_TRIES_MAX = 5;
const LAST_SLOT = 16_383;

type Slots = readonly [first: number, last: number];

export interface RedisSetup {
  /** Accepts TLS only; `mtls` requires client certificates of the same authority. */
  readonly tls?: { readonly mode: 'tls' | 'mtls'; readonly certificates: Certificates };
  /** A cluster node that has every slot: it refuses whatever a larger cluster's node would. */
  readonly isCluster?: boolean;
  /** Starts as a replica of this server. */
  readonly replicaOf?: RedisServer;
  /** ACL users beside the default one, for example `gateway on >secret ~* +get`. */
  readonly users?: readonly string[];
}

export async function startRedis(t: Pick<Test, 'teardown'>, setup: RedisSetup = {}): Promise<RedisServer> {
  const [server] = await startServers(t, setup, [[0, LAST_SLOT]]);
  if (server === undefined) throw new Error('there is no server');
  return server;
}

/** Three nodes that have a third of the slots each and know each other. */
export async function startRedisCluster(
  t: Pick<Test, 'teardown'>,
  users: readonly string[] = [],
): Promise<readonly RedisServer[]> {
  const thirds: readonly Slots[] = [
    [0, 5_460],
    [5_461, 10_921],
    [10_922, LAST_SLOT],
  ];
  const nodes = await startServers(t, { isCluster: true, users }, thirds);
  await untilClusterIsUp(nodes);
  return nodes;
}

/** Starts a server for each range of slots. */
async function startServers(
  t: Pick<Test, 'teardown'>,
  setup: RedisSetup,
  ranges: readonly Slots[],
): Promise<readonly RedisServer[]> {
  const directories = ranges.map(() => createScratchDirectory(t));
  for (let tries = 1; ; tries++) {
    const ports = await Promise.all(ranges.map(async () => [await findFreePort(), await findFreePort()] as const));
    const servers = ports.map(([port, busPort], at) => new RedisServer(directories[at] ?? '', port, busPort, setup));
    const formerIds = setup.isCluster === true ? joinAsReplicas(servers, ranges) : [];
    try {
      await Promise.all(servers.map((server) => server.start()));
      if (setup.isCluster === true) await succeed(servers, formerIds);
    } catch (error) {
      await Promise.all(servers.map((server) => server.kill()));
      // Another process may have taken the port since it was found free.
      if (tries < START_TRIES_MAX) continue;
      throw error;
    }
    for (const server of servers) t.teardown(() => server.kill());
    return servers;
  }
}

/**
 * A node that is a master when it starts serves nothing for two seconds, lest it has missed its succession. So each starts as the replica
 * of a node that does not exist, and succeeds it. @returns the ids of those that do not exist.
 */
function joinAsReplicas(servers: readonly RedisServer[], ranges: readonly Slots[]): readonly string[] {
  const ids = servers.map(() => ({ own: randomBytes(20).toString('hex'), former: randomBytes(20).toString('hex') }));
  servers.forEach(({ directory }, self) => {
    const nodes = servers.flatMap(({ host, port, busPort }, at) => [
      `${ids[at]?.own} ${host}:${port}@${busPort} ${at === self ? 'myself,' : ''}slave ${ids[at]?.former} 0 0 ${at + 1} connected`,
      `${ids[at]?.former} ${host}:1@1 master - 0 0 ${at + 1} connected ${ranges[at]?.join('-')}`,
    ]);
    const epochs = `vars currentEpoch ${servers.length} lastVoteEpoch 0`;
    writeFileSync(join(directory, 'nodes.conf'), [...nodes, epochs, ''].join('\n'));
  });
  return ids.map(({ former }) => former);
}

/** Lets each node take over the slots of its former master, which is then forgotten. */
async function succeed(nodes: readonly RedisServer[], formerIds: readonly string[]): Promise<void> {
  const connections = await Promise.all(nodes.map((node) => node.connect()));
  for (const connection of connections) await connection.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
  for (const connection of connections) {
    const hasSlots = (line: string): boolean =>
      formerIds.some((id) => line.startsWith(id)) && /connected \d/.test(line);
    await until(async () => {
      const lines = String(await connection.call('CLUSTER', 'NODES')).split('\n');
      return !lines.some(hasSlots);
    }, 'the slots to be taken over');
    for (const id of formerIds) await connection.cluster('FORGET', id);
  }
}

export async function untilClusterIsUp(nodes: readonly RedisServer[]): Promise<void> {
  const connections = await Promise.all(nodes.map((node) => node.connect()));
  await until(async () => {
    const infos = await Promise.all(connections.map((connection) => connection.cluster('INFO')));
    return infos.every((info) => info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3'));
  }, 'the nodes to know each other');
}

export class RedisServer {
  readonly host = HOST;
  readonly port: number;
  /** The port of the cluster bus, where other nodes find it. */
  readonly busPort: number;
  /** The data directory. */
  readonly directory: string;
  readonly #setup: RedisSetup;
  readonly #connections = new Set<Redis>();
  #child: ChildProcess | undefined;

  constructor(directory: string, port: number, busPort: number, setup: RedisSetup) {
    this.directory = directory;
    this.port = port;
    this.busPort = busPort;
    this.#setup = setup;
  }

  /** How the gateway reaches it, as the default user. */
  get storeOptions(): RedisStoreOptions {
    return {
      kind: 'redis',
      location: { host: this.host, port: this.port },
      tls: this.#tls(),
      username: undefined,
      password: undefined,
      staleGraceMs: 30_000,
    };
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('this Redis does not run');
    return pid;
  }

  /** Another client of the same Redis, closed with it. */
  async connect(): Promise<Redis> {
    const tls = this.#tls();
    const connection = new Redis({
      host: this.host,
      port: this.port,
      lazyConnect: true,
      retryStrategy: null,
      tls:
        tls.mode === 'plain-text'
          ? undefined
          : { ca: tls.trustBundle, cert: tls.clientCertificate, key: tls.clientPrivateKey },
    });
    // A server killed under an open connection is not a fault of the test.
    connection.on('error', () => {});
    this.#connections.add(connection);
    await connection.connect();
    return connection;
  }

  async start(): Promise<void> {
    const child = spawn('redis-server', this.#commandLine(), { stdio: ['ignore', 'pipe', 'ignore'] });
    killWithProcess(child);
    this.#child = child;
    const output: string[] = [];
    const ready = new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        output.push(line);
        if (line.includes('Ready to accept connections')) resolve();
      });
      child.once('error', reject);
      child.once('close', () => reject(new Error(`redis-server did not start:\n${output.join('\n')}`)));
    });
    await ready;
  }

  /** Shuts down gracefully. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Kills it at once, even when it is frozen. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Ends it if it runs, and starts it with the same data on the same port. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Freezes it: connections stay open, new ones are accepted by the kernel, and nothing is answered. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    for (const connection of this.#connections) connection.disconnect();
    this.#connections.clear();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  }

  #tls(): RedisTls {
    const { tls } = this.#setup;
    if (tls === undefined) return { mode: 'plain-text' };
    const { authority, client } = tls.certificates;
    return {
      mode: tls.mode,
      trustBundle: authority.certificate,
      clientCertificate: tls.mode === 'mtls' ? client.certificate : undefined,
      clientPrivateKey: tls.mode === 'mtls' ? client.privateKey : undefined,
    };
  }

  #commandLine(): string[] {
    const { tls, users = [], replicaOf } = this.#setup;
    const usersPath = join(this.directory, 'users.acl');
    writeFileSync(usersPath, ['default on nopass ~* &* +@all', ...users].map((user) => `user ${user}\n`).join(''));
    const port = String(this.port);
    // By default Redis would derive another port from its own.
    const cluster =
      this.#setup.isCluster === true ? ['--cluster-enabled', 'yes', '--cluster-port', String(this.busPort)] : [];
    const origin = replicaOf === undefined ? [] : ['--replicaof', replicaOf.host, String(replicaOf.port)];
    const common = [...cluster, ...origin, '--bind', this.host, '--dir', this.directory, '--aclfile', usersPath];
    // The append-only file is handed to the kernel after each write, so a killed server loses nothing.
    const persistence = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'no'];
    if (tls === undefined) return [...common, ...persistence, '--port', port];
    const { authority, server } = tls.certificates;
    const files = ['--tls-cert-file', server.certificatePath, '--tls-key-file', server.privateKeyPath];
    const trust = ['--tls-ca-cert-file', authority.certificatePath];
    const askClients = ['--tls-auth-clients', tls.mode === 'mtls' ? 'yes' : 'no'];
    return [...common, ...persistence, '--port', '0', '--tls-port', port, ...files, ...trust, ...askClients];
  }
}
