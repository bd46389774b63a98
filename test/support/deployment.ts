// The deployments of the dataplane: 1 or 4 workers, on the embedded store or on Redis, each started once per test process. The rows of a
// test file run against each that the run wants (`TEST_DEPLOYMENTS`); each row takes subjects and virtual hosts of its own, so that rows do
// not affect each other.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Test } from 'tap';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import { writeConfig, writeRawConfig } from './config-writer.js';
import { startGateway, verifyWith, type Gateway, type GatewayBuild } from './gateway.js';
import { createKeyPair, type KeyPair } from './keys.js';
import { startMcpBackend, type McpBackend, type McpBackendOptions } from './mcp-backend.js';
import { McpCaller } from './mcp-caller.js';
import { startRedis } from './redis.js';
import { createScratchDirectory } from './scratch-directory.js';
import { mint, type TokenRequest } from './tokens.js';

export interface DeploymentSetup {
  readonly build?: GatewayBuild;
  readonly options?: readonly string[];
  /** `undefined` takes the program's default, `tls-only`. */
  readonly upstreamConnectionMode?: 'plain-text-or-tls' | undefined;
  /**
   * Two deployments unless given: they cover each store and each number of workers once. `all` also crosses them: for rows about state
   * that workers share through the store.
   */
  readonly spread?: 'all';
}

/** A deployment of its own, for tests that change its state. */
export interface SingleDeploymentSetup extends DeploymentSetup {
  readonly workerCount: number;
  /** On this machine, with a port that the system chooses, unless given. */
  readonly address?: string;
  /** An embedded store of its own unless given. */
  readonly storeOptions?: StoreOptions;
  /** Created unless given. */
  readonly key?: KeyPair;
  /** Additional environment variables for the gateway. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Members of a backend in a user config; `name` and `transport` are added. */
export interface BackendMembers {
  readonly url: string;
  readonly [member: string]: unknown;
}

export class Deployment {
  readonly name: string;
  readonly workerCount: number;
  readonly storeOptions: StoreOptions;
  readonly key: KeyPair;
  readonly gateway: Gateway;
  #subjects = 0;

  constructor(name: string, workerCount: number, storeOptions: StoreOptions, key: KeyPair, gateway: Gateway) {
    this.name = name;
    this.workerCount = workerCount;
    this.storeOptions = storeOptions;
    this.key = key;
    this.gateway = gateway;
  }

  /** A subject that nothing else uses, in a form that every deployment's store accepts. */
  newSubject(): string {
    this.#subjects++;
    return `${randomBytes(6).toString('hex')}-${this.#subjects}@example.com`;
  }

  /** A virtual host id as the samples have them: 32 characters. */
  newVirtualHostId(): string {
    return randomBytes(16).toString('hex');
  }

  async token(subject: string, overrides: Partial<TokenRequest> = {}): Promise<string> {
    return mint({ sub: subject, key: this.key.privateKey, algorithm: this.key.algorithm, ...overrides });
  }

  async writeConfig(subject: string, config: unknown): Promise<void> {
    await writeConfig(this.storeOptions, subject, config);
  }

  /** Writes bytes that need not be a user config. */
  async writeRawConfig(subject: string, bytes: Uint8Array): Promise<void> {
    await writeRawConfig(this.storeOptions, subject, bytes);
  }

  /** Writes a config of one virtual host and returns a caller for it. */
  async caller(
    backends: Readonly<Record<string, BackendMembers>> = {},
    host: Readonly<Record<string, unknown>> = {},
  ): Promise<ConfiguredCaller> {
    const subject = this.newSubject();
    const virtualHostId = this.newVirtualHostId();
    const caller = new ConfiguredCaller(this, subject, virtualHostId, await this.token(subject));
    await caller.configure(backends, host);
    return caller;
  }
}

/** A caller whose user config the test wrote and may change. */
export class ConfiguredCaller extends McpCaller {
  readonly deployment: Deployment;
  readonly subject: string;
  readonly virtualHostId: string;

  constructor(deployment: Deployment, subject: string, virtualHostId: string, token: string) {
    super(deployment.gateway.origin, deployment.gateway.path(virtualHostId), token);
    this.deployment = deployment;
    this.subject = subject;
    this.virtualHostId = virtualHostId;
  }

  /** Replaces the whole config with one virtual host of these backends. */
  /** @param host further members of the virtual host. */
  async configure(
    backends: Readonly<Record<string, BackendMembers>>,
    host: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    await this.deployment.writeConfig(this.subject, {
      virtual_hosts: { [this.virtualHostId]: { backends: completeBackends(backends), ...host } },
    });
  }
}

/** Backends as the service specification writes them, every member present. */
export function completeBackends(backends: Readonly<Record<string, BackendMembers>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(backends).map(([name, members]) => [
      name,
      {
        name,
        transport: 'STREAMABLEHTTP',
        passthrough_headers: [],
        allowed_tool_names: [],
        allowed_resource_names: [],
        allowed_prompt_names: [],
        ...members,
      },
    ]),
  );
}

/** An MCP backend that ends with the test. */
export async function backendFor(t: Pick<Test, 'teardown'>, options: McpBackendOptions = {}): Promise<McpBackend> {
  const backend = await startMcpBackend(options);
  t.teardown(() => backend.close());
  return backend;
}

/** The time one file may take after another has run, on a busy machine: what `.taprc` allows any file. */
const ROWS_MS_MAX = 300_000;
/** Deployments of equal setup, shared by the files that run in one process: `all-rows.test.ts`. */
interface Stand {
  readonly key: KeyPair;
  readonly deployments: Map<string, Deployment>;
  redis?: StoreOptions;
  /** Ends when the last start asked for has ended. */
  starts: Promise<void>;
}
const stands = new Map<string, Stand>();

/** Runs the rows against each wanted deployment, and checks that no worker was lost and that nothing but log lines was written. */
export async function forEachDeployment(
  root: Test,
  setup: DeploymentSetup,
  rows: (t: Test, deployment: Deployment) => Promise<void>,
): Promise<void> {
  const deployments = await wantedDeployments(root, setup);
  root.jobs = deployments.length;
  await Promise.all(
    deployments.map((deployment) =>
      root.test(deployment.name, async (t) => {
        const pidsBefore = deployment.gateway.workerPids();
        await rows(t, deployment);
        t.same(deployment.gateway.workerPids(), pidsBefore, 'every worker is the one that was started');
        t.same(deployment.gateway.strayLines, [], 'standard output holds JSON lines alone');
        t.equal(deployment.gateway.errorOutput, '', 'standard error is empty');
        root.setTimeout(ROWS_MS_MAX);
      }),
    ),
  );
}

export async function startDeployment(
  t: Pick<Test, 'teardown'>,
  { workerCount, storeOptions = embeddedStore(t), key = createKeyPair(t), ...setup }: SingleDeploymentSetup,
): Promise<Deployment> {
  const gateway = await startGateway(t, {
    upstreamConnectionMode: 'plain-text-or-tls',
    ...setup,
    workerCount,
    storeOptions,
    keyOptions: keyOptions(setup.build, key),
  });
  const workers = workerCount === 1 ? '1 worker' : `${workerCount} workers`;
  const store = storeOptions.kind === 'embedded' ? 'embedded store' : 'Redis';
  return new Deployment(`${workers}, ${store}`, workerCount, storeOptions, key, gateway);
}

/**
 * Which deployments the rows run against. `one`, unless the environment says otherwise, is the one with the most mechanisms: hops between
 * workers, and a store in another process. `others` are those that `one` leaves out.
 */
function isWanted(workerCount: number, store: StoreOptions['kind'], spread: DeploymentSetup['spread']): boolean {
  const { TEST_DEPLOYMENTS: wanted = 'one' } = process.env;
  const isOne = workerCount === 4 && store === 'redis';
  if (wanted === 'one') return isOne;
  const isOpposite = workerCount === 1 && store === 'embedded';
  return (wanted === 'all' && isOne) || isOpposite || (spread === 'all' && !isOne);
}

/** Starts those that do not stand yet, one after the other: a gateway's workers use the whole machine, and no start may time out. */
async function wantedDeployments(t: Test, { spread, ...setup }: DeploymentSetup): Promise<Deployment[]> {
  const name = JSON.stringify(setup);
  const stand = stands.get(name) ?? { key: createKeyPair(t), deployments: new Map(), starts: Promise.resolve() };
  stands.set(name, stand);
  const wanted: Deployment[] = [];
  stand.starts = stand.starts.then(async () => {
    for (const kind of ['embedded', 'redis'] as const) {
      for (const workerCount of [1, 4]) {
        if (isWanted(workerCount, kind, spread)) wanted.push(await standing(t, stand, setup, kind, workerCount));
      }
    }
  });
  await stand.starts;
  return wanted;
}

async function standing(
  t: Test,
  stand: Stand,
  setup: DeploymentSetup,
  kind: StoreOptions['kind'],
  workerCount: number,
): Promise<Deployment> {
  const name = `${workerCount} ${kind}`;
  const known = stand.deployments.get(name);
  if (known !== undefined) return known;
  if (kind === 'redis') stand.redis ??= (await startRedis(t)).storeOptions;
  const storeOptions = kind === 'redis' ? stand.redis! : embeddedStore(t);
  const deployment = await startDeployment(t, { ...setup, workerCount, storeOptions, key: stand.key });
  stand.deployments.set(name, deployment);
  return deployment;
}

function embeddedStore(t: Pick<Test, 'teardown'>): StoreOptions {
  return { kind: 'embedded', path: join(createScratchDirectory(t), 'store') };
}

function keyOptions(build: GatewayBuild | undefined, key: KeyPair): readonly string[] {
  const verify = verifyWith(key);
  return build === 'bootstrap' ? [...verify, '--token-verification-private-key', key.privateKeyPath] : verify;
}
