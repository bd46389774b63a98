// Three machines behind Debian's nginx and HAProxy, and behind Envoy, with the example configurations of this repository. The
// machines are restarted one after the other, as systemd would do it, while clients of the SDK use them: no client notices.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import t, { type Test } from 'tap';
import { backendFor, startDeployment, type ConfiguredCaller, type Deployment } from '../support/deployment.js';
import { findFreePort } from '../support/free-port.js';
import { createKeyPair } from '../support/keys.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { startRedis } from '../support/redis.js';
import { carriedOutTwice } from '../support/sessions-under-load.js';
import {
  hasEnvoy,
  PUBLIC_HOST,
  startShippedEnvoy,
  startShippedHaproxy,
  startShippedNginx,
  type Balancer,
} from '../support/shipped-balancers.js';
import { until } from '../support/until.js';

/** The options that the example configurations require. */
const OPTIONS = [
  '--session-directory',
  'store',
  '--allowed-hosts',
  PUBLIC_HOST,
  '--drain-notice',
  '5s',
  '--access-log',
];
/** The number of workers of each machine. */
const WORKERS = [2, 1, 1];
const MACHINES = WORKERS.length;
/** At each balancer: every second client has no stream of its own, and every third makes slow calls. */
const CLIENTS = 6;
/** Longer than the rest of a machine's drain takes. */
const SLOW_CALL_MS = 2_500;
const PAUSE_MS = 60;
/** The state of an established connection in /proc/net/tcp. */
const ESTABLISHED = '01';

class Users {
  readonly faults: string[] = [];
  answered = 0;
  slowAnswered = 0;
  opened = 0;
  streamsOpened = 0;
  readonly #caller: ConfiguredCaller;
  readonly #running: Promise<void>[] = [];
  #lastNumber = 0;
  #isEnding = false;

  constructor(caller: ConfiguredCaller) {
    this.#caller = caller;
  }

  get asked(): number {
    return this.#lastNumber;
  }

  async start(balancer: Balancer): Promise<void> {
    const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, n) => this.#connect(balancer, n % 2 === 0)));
    for (const [n, { client }] of clients.entries()) {
      this.#running.push(
        this.#guarded(balancer, () => this.#keepCalling(client, n % 3 === 0 ? 'one-slow' : 'one-echo')),
      );
    }
    this.#running.push(this.#guarded(balancer, () => this.#comeAndGo(balancer)));
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#running);
  }

  async #connect(
    balancer: Balancer,
    hasStream: boolean,
  ): Promise<{ client: Client; transport: StreamableHTTPClientTransport }> {
    const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const isStream = init?.method === 'GET';
      // A server may offer no stream, and the client then works without one.
      if (isStream && !hasStream) return new Response(null, { status: 405 });
      const answer = await balancer.fetch(url, init);
      if (isStream && answer.ok) this.streamsOpened += 1;
      return answer;
    };
    const transport = new StreamableHTTPClientTransport(new URL(balancer.origin + this.#caller.path), {
      requestInit: { headers: { authorization: `Bearer ${this.#caller.token}` } },
      fetch,
    });
    const client = new Client({ name: 'balanced', version: '1.0.0' });
    client.onerror = (error) => {
      if (!this.#isEnding) this.faults.push(`${balancer.name}, told: ${error.message}`);
    };
    await client.connect(transport);
    t.teardown(() => client.close());
    return { client, transport };
  }

  async #guarded(balancer: Balancer, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.faults.push(`${balancer.name}, thrown: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #keepCalling(client: Client, tool: string): Promise<void> {
    while (!this.#isEnding) {
      await this.call(client, tool);
      if (tool === 'one-slow') this.slowAnswered += 1;
      else await sleep(PAUSE_MS);
    }
  }

  connect(balancer: Balancer, count: number): Promise<Client>[] {
    return Array.from({ length: count }, async () => (await this.#connect(balancer, false)).client);
  }

  async call(client: Client, tool: string): Promise<void> {
    const number = ++this.#lastNumber;
    const { structuredContent } = await client.callTool({ name: tool, arguments: { number } });
    const { number: echoed } = (structuredContent ?? {}) as { number?: unknown };
    if (echoed !== number) throw new Error(`${number} was answered ${JSON.stringify(structuredContent)}`);
    this.answered += 1;
  }

  async #comeAndGo(balancer: Balancer): Promise<void> {
    while (!this.#isEnding) {
      const { client, transport } = await this.#connect(balancer, false);
      await this.call(client, 'one-echo');
      await transport.terminateSession();
      await client.close();
      this.opened += 1;
      await sleep(5 * PAUSE_MS);
    }
  }
}

class Machine {
  readonly #t: Test;
  readonly #start: () => Promise<Deployment>;
  deployment: Deployment;

  constructor(t: Test, start: () => Promise<Deployment>, deployment: Deployment) {
    this.#t = t;
    this.#start = start;
    this.deployment = deployment;
  }

  /** Waits until the machine serves a call. */
  async isUsed(): Promise<void> {
    await until(() => this.hasServed, 'its turn');
  }

  /** The number of established connections, from the kernel. */
  get connectionCount(): number {
    const port = Number(new URL(this.deployment.gateway.origin).port).toString(16).toUpperCase().padStart(4, '0');
    const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n');
    return lines.filter((line) => new RegExp(`^ *\\d+: \\w+:${port} \\w+:\\w+ ${ESTABLISHED} `).test(line)).length;
  }

  get hasServed(): boolean {
    const { logs } = this.deployment.gateway;
    return logs.some(({ msg, method }) => msg === 'request' && method === 'tools/call');
  }

  /** Kills the machine and waits until its port accepts no connection. */
  async die(): Promise<void> {
    const { gateway } = this.deployment;
    gateway.signal('SIGKILL');
    await gateway.exit;
    const isGone = (): Promise<boolean> =>
      fetch(`${gateway.origin}/gw-rs/live`).then(
        () => false,
        () => true,
      );
    await until(isGone, 'its workers to be gone, too');
  }

  async restart(): Promise<void> {
    const { gateway } = this.deployment;
    gateway.signal('SIGTERM');
    this.#t.same(await gateway.exit, { code: 0, signal: null });
    this.#t.equal(gateway.errorOutput, '');
    this.deployment = await this.#start();
  }
}

async function startMachines(t: Test, backend: McpBackend): Promise<{ machines: Machine[]; caller: ConfiguredCaller }> {
  const { storeOptions } = await startRedis(t);
  const key = createKeyPair(t);
  const machines: Machine[] = [];
  for (const workerCount of WORKERS) {
    const address = `127.0.0.1:${await findFreePort()}`;
    const start = (): Promise<Deployment> =>
      startDeployment(t, { workerCount, address, storeOptions, key, options: OPTIONS });
    machines.push(new Machine(t, start, await start()));
  }
  const caller = await machines[0]!.deployment.caller({ one: { url: backend.url } });
  return { machines, caller };
}

/** Enough sessions that every machine gets some. */
const SESSIONS = 24;

/** When a machine dies without warning, the others serve all new requests even before the balancer's next health check. */
async function killedBehind(t: Test, starts: readonly StartBalancer[]): Promise<void> {
  const backend = await backendFor(t, { withSessions: true, tools: ['echo'] });
  const { machines, caller } = await startMachines(t, backend);
  const addresses = machines.map(({ deployment }) => new URL(deployment.gateway.origin).host);
  const users = new Users(caller);
  const balancers: Balancer[] = [];
  for (const start of starts) balancers.push(await start(t, addresses));
  const clients = await Promise.all(balancers.flatMap((balancer) => users.connect(balancer, SESSIONS)));
  const callEach = async (): Promise<void> => {
    await Promise.all(clients.map((client) => users.call(client, 'one-echo')));
  };
  // Envoy takes a second before it uses every machine that it has found healthy.
  await until(async () => {
    await callEach();
    return machines.every(({ hasServed }) => hasServed);
  }, 'the turn of each machine');
  // A request sent over a connection before the balancer knows that it is closed is lost with the machine, like any call in flight.
  const kept = balancers.reduce((sum, { keptConnections }) => sum + keptConnections, 0);
  await until(() => machines[0]!.connectionCount <= kept, 'idle connections to be left');
  await machines[0]!.die();
  await callEach();
  t.equal(users.answered, users.asked, 'every call was answered');
  t.equal(backend.calls.length, users.asked);
  t.same(carriedOutTwice([backend]), []);
  t.equal(backend.sessions.size, clients.length, 'no upstream session was lost, and none opened again');
}

type StartBalancer = (t: Test, machines: readonly string[]) => Promise<Balancer>;

async function restartBehind(t: Test, starts: readonly StartBalancer[]): Promise<void> {
  const backend = await backendFor(t, {
    withSessions: true,
    tools: ['echo', 'slow'],
    onCall: ({ name }) => (name === 'slow' ? sleep(SLOW_CALL_MS, undefined) : undefined),
  });
  const { machines, caller } = await startMachines(t, backend);
  const addresses = machines.map(({ deployment }) => new URL(deployment.gateway.origin).host);
  const users = new Users(caller);
  const balancers: Balancer[] = [];
  for (const start of starts) balancers.push(await start(t, addresses));
  for (const balancer of balancers) await users.start(balancer);
  for (const machine of machines) {
    await machine.isUsed();
    await machine.restart();
  }
  for (const machine of machines) await machine.isUsed();
  const kept = backend.sessions.size;
  await users.end();
  t.same(users.faults, []);
  t.equal(users.answered, users.asked, 'every call was answered');
  t.equal(backend.calls.length, users.asked, 'and reached the backend');
  t.same(carriedOutTwice([backend]), [], 'once');
  t.ok(users.slowAnswered > 2 * MACHINES, 'of those that take long as well');
  t.ok(users.opened > MACHINES, 'sessions came and went meanwhile');
  t.ok(
    users.streamsOpened >= (balancers.length * CLIENTS) / 2 + MACHINES,
    `streams ended, and were opened again: ${users.streamsOpened}`,
  );
  t.ok(kept >= balancers.length * CLIENTS, 'no upstream session was lost');
  const openedCount = backend.requestsOf('initialize').length;
  t.equal(openedCount, balancers.length * CLIENTS + users.opened, 'and none was opened again');
}

t.test('three machines behind nginx and HAProxy are restarted, and no client notices', (t) =>
  restartBehind(t, [startShippedNginx, startShippedHaproxy]),
);

t.test('no client of Envoy notices a restart of the machines', { skip: !hasEnvoy() && 'Envoy is not installed' }, (t) =>
  restartBehind(t, [startShippedEnvoy]),
);

t.test('when a machine dies behind nginx and HAProxy, the others serve new requests', (t) =>
  killedBehind(t, [startShippedNginx, startShippedHaproxy]),
);

t.test('when a machine behind Envoy dies, the others serve', { skip: !hasEnvoy() && 'Envoy is not installed' }, (t) =>
  killedBehind(t, [startShippedEnvoy]),
);
