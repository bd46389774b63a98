// The load balancers' configurations from deploy/ as shipped, with only addresses and paths replaced: a line that differs from
// what is expected here fails the test, so that the shipped text is what is tested.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { Agent, fetch as fetchWith, type RequestInit } from 'undici';
import { createCertificates } from './certificates.js';
import { findFreePort } from './free-port.js';
import { projectRoot } from './gateway.js';
import { startNginx } from './nginx.js';
import { startProxy } from './proxy-process.js';
import { createScratchDirectory } from './scratch-directory.js';

/** The public host of the examples. */
export const PUBLIC_HOST = 'gateway.example';
const MACHINES = ['10.0.0.11:8001', '10.0.0.12:8001', '10.0.0.13:8001'] as const;
const HEALTH = '/gw-rs/health';
const { TEST_ENVOY: ENVOY = 'envoy' } = process.env;

/** What callers of a balancer need. */
export interface Balancer {
  readonly name: string;
  /** The origin of the public host. */
  readonly origin: string;
  /** Resolves the public host to the balancer, and trusts its certificate. */
  readonly fetch: typeof globalThis.fetch;
  /** How many connections it keeps to an idle machine, for health checks. */
  readonly keptConnections: number;
}

/** Replacements: a text as shipped, and its form for the test. */
type ValueFinder = readonly (readonly [shipped: string, here: string])[];

/** @param machines three addresses. */
export async function startShippedNginx(t: Pick<Test, 'teardown'>, machines: readonly string[]): Promise<Balancer> {
  const port = await findFreePort();
  const { server, authority } = createCertificates(t, `DNS:${PUBLIC_HOST}`);
  const text = shipped('nginx/switchyard.conf', [
    ...placesOf(machines, (address) => `  server ${address} `),
    ['  listen 443 ssl;', `  listen 127.0.0.1:${port} ssl;`],
    ['  ssl_certificate /etc/nginx/gateway.crt;', `  ssl_certificate ${server.certificatePath};`],
    ['  ssl_certificate_key /etc/nginx/gateway.key;', `  ssl_certificate_key ${server.privateKeyPath};`],
  ]);
  const balancer = balancerAt(t, 'nginx', `https://${PUBLIC_HOST}:${port}`, authority.certificate);
  await startNginx(t, createScratchDirectory(t), text, () => isHealthy(balancer));
  return balancer;
}

/** @param machines three addresses. */
export async function startShippedHaproxy(t: Pick<Test, 'teardown'>, machines: readonly string[]): Promise<Balancer> {
  const port = await findFreePort();
  const text = shipped('haproxy/haproxy.cfg', [
    ...placesOf(machines, (address, n) => `  server ${['one', 'two', 'three'][n]} ${address}\n`),
    ['  bind :8080\n', `  bind 127.0.0.1:${port}\n`],
  ]);
  const path = join(createScratchDirectory(t), 'haproxy.cfg');
  writeFileSync(path, text);
  const balancer = balancerAt(t, 'HAProxy', `http://${PUBLIC_HOST}:${port}`);
  const program = { command: 'haproxy', words: ['-db', '-f', path], debianPackage: 'haproxy' };
  await startProxy(t, program, () => isHealthy(balancer));
  return balancer;
}

/** Whether Envoy is installed: Debian has no package of it. */
export function hasEnvoy(): boolean {
  return spawnSync(ENVOY, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** @param machines three addresses. */
export async function startShippedEnvoy(t: Pick<Test, 'teardown'>, machines: readonly string[]): Promise<Balancer> {
  const port = await findFreePort();
  const place = (address: string): string => `socket_address: { address: ${address.replace(':', ', port_value: ')} }`;
  const text = shipped('envoy/envoy.yaml', [
    ...placesOf(machines, place),
    [place('0.0.0.0:8080'), place(`127.0.0.1:${port}`)],
    // Machines that share a busy one are late, and not gone: one that is gone refuses connections.
    ['- timeout: 1s', '- timeout: 30s'],
    ['connect_timeout: 2s', 'connect_timeout: 30s'],
  ]);
  const path = join(createScratchDirectory(t), 'envoy.yaml');
  writeFileSync(path, text);
  const balancer = { ...balancerAt(t, 'Envoy', `http://${PUBLIC_HOST}:${port}`), keptConnections: 1 };
  const words = ['--config-path', path, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'error'];
  await startProxy(t, { command: ENVOY, words }, () => isHealthy(balancer));
  return balancer;
}

function placesOf(machines: readonly string[], line: (address: string, n: number) => string): ValueFinder {
  return MACHINES.map((address, n) => [line(address, n), line(machines[n] ?? '', n)]);
}

function shipped(file: string, places: ValueFinder): string {
  let text = readFileSync(join(projectRoot, 'deploy', file), 'utf8');
  for (const [there, here] of places) {
    if (text.split(there).length !== 2) throw new Error(`deploy/${file} does not have this once: ${there.trim()}`);
    text = text.replace(there, () => here);
  }
  return text;
}

function balancerAt(t: Pick<Test, 'teardown'>, name: string, origin: string, ca?: string): Balancer {
  const agent = new Agent({
    connect: {
      ...(ca !== undefined && { ca }),
      lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    },
  });
  t.teardown(() => agent.destroy());
  const fetch = ((url: string | URL, init?: RequestInit) =>
    fetchWith(url, { ...init, dispatcher: agent })) as unknown as typeof globalThis.fetch;
  return { name, origin, fetch, keptConnections: 0 };
}

async function isHealthy({ origin, fetch }: Balancer): Promise<boolean> {
  const answer = await fetch(origin + HEALTH);
  await answer.body?.cancel();
  return answer.ok;
}
