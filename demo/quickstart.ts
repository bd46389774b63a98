// `npm run quickstart`: two demo backends, the gateway with its bootstrap feature and its control plane on one embedded store;
// says where the console is, and writes a guide with what to paste. Everything it stores is under data/.
import { fileURLToPath } from 'node:url';
import { execFile } from 'node:child_process';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { startDemoBackend } from './demo-backend.js';
import { fillRegistry } from './demo-registry.js';
import { createCalculator, createWordsmith } from './demo-servers.js';
import { greeting, guide } from './guide.js';
import { ensureKeyPair, ensureSecretsKey, type KeyPairPaths } from './key-pair.js';
import { Program } from './program.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SCRIPT = fileURLToPath(new URL('../main.js', import.meta.url));
const SUBJECT = 'demo@example.com';
const VIRTUAL_HOST_ID = 'd3m0d3m0d3m0d3m0d3m0d3m0d3m0d3m0';
const PATH_PREFIX = '/gw-rs';
const USAGE = "Usage: npm run quickstart -- [the gateway's host:port [the control plane's host:port]]";
/** The addresses of the gateway and of the control plane. */
const USUAL_ADDRESSES = ['127.0.0.1:8001', '127.0.0.1:4444'] as const;

async function main(): Promise<void> {
  const words = process.argv.slice(2);
  if (words.length > 2 || words.some((word) => word.startsWith('-'))) {
    console.error(USAGE);
    process.exit(64);
  }
  const [gatewayAddress = USUAL_ADDRESSES[0], controlPlaneAddress = USUAL_ADDRESSES[1]] = words;
  const data = join(root, 'data');
  const keys = ensureKeyPair(data);
  const suffix = suffixOf(gatewayAddress, controlPlaneAddress);
  const storeOptions = ['--store-path', join(data, `store${suffix}`), '--secrets-key-file', ensureSecretsKey(data)];
  const options = [...storeOptions, ...keyOptions(keys)];
  const [guidePath, logPath] = [join(data, `guide${suffix}.txt`), join(data, `quickstart${suffix}.log`)];
  const log = createWriteStream(logPath);
  console.log('Starting the gateway, its control plane and two demo servers …');
  const backends = {
    calculator: await startDemoBackend({ createMcpServer: createCalculator, answerAs: 'json' }),
    wordsmith: await startDemoBackend({ createMcpServer: createWordsmith, answerAs: 'event-stream' }),
  };
  const backendUrls = { calculator: backends.calculator.url, wordsmith: backends.wordsmith.url };

  const programs: Program[] = [];
  const stop = (): void => programs.forEach((program) => program.stop());
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'] as const) process.on(event, stop);
  const start = (name: string, words: readonly string[]): Program => {
    const program = new Program(name, SCRIPT, [...words, ...options], log);
    programs.push(program);
    // One is of no use without the other.
    void program.exited.then(stop);
    return program;
  };
  const gateway = start('gateway', ['dataplane', '--address', gatewayAddress, '--admin-address', '127.0.0.1:0']);
  const adminAddress = gateway.addressIn('admin listener');
  const startControlPlane = async (): Promise<string> => {
    // The console shows what happens in the gateway.
    const adminWords = ['--dataplane-admin-address', await adminAddress];
    const words = ['control-plane', '--address', controlPlaneAddress, ...adminWords];
    return start('control plane', words).addressIn('listening');
  };

  const [gatewayListens, controlPlaneListens] = await Promise.all([
    gateway.addressIn('listening'),
    startControlPlane(),
  ]);
  const baseUrl = `http://${gatewayListens}${PATH_PREFIX}`;
  const controlPlaneUrl = `http://${controlPlaneListens}`;
  await writeUserConfig(baseUrl, backendUrls);
  const token = (await promisify(execFile)(process.execPath, [SCRIPT, ...tokenWords(keys)])).stdout.trim();
  const { compositionId } = await fillRegistry(controlPlaneUrl, token, backendUrls);
  const url = `${baseUrl}/servers/${VIRTUAL_HOST_ID}/mcp`;
  const facts = {
    ...{ url, token, baseUrl, subject: SUBJECT, controlPlaneUrl, compositionId, adminAddress: await adminAddress },
    tokenCommand: asTyped(['node', SCRIPT, ...tokenWords(keys)]),
    storeWords: asTyped(storeOptions),
  };
  // It contains the token.
  writeFileSync(guidePath, guide(facts), { mode: 0o600 });
  console.log(greeting(facts, asTyped([guidePath]), asTyped([logPath])));

  const statuses = await Promise.all(programs.map(({ exited }) => exited));
  await Promise.all(Object.values(backends).map((backend) => backend.close()));
  process.exit(statuses.find((status) => status !== 0) === undefined ? 0 : 1);
}

/** Files for each pair of addresses: two quick starts at once would overwrite each other's servers and user config. */
function suffixOf(...addresses: readonly string[]): string {
  const ports = addresses.map((address) => /\d+$/.exec(address)?.[0] ?? '');
  return addresses.every((address, at) => address === USUAL_ADDRESSES[at]) ? '' : `-${ports.join('-')}`;
}

function keyOptions(keys: KeyPairPaths): string[] {
  return Object.entries({
    '--token-verification-public-key': keys.publicKey,
    '--token-verification-private-key': keys.privateKey,
    '--upstream-connection-mode': 'plain-text-or-tls',
  }).flat();
}

function tokenWords(keys: KeyPairPaths): string[] {
  return ['token', '--subject', SUBJECT, '--expires-in', '24h', '--token-verification-private-key', keys.privateKey];
}

/** With paths as typed by a user in the project's folder. */
function asTyped(words: readonly string[]): string {
  return words.map((word) => (word.startsWith(root) ? relative(root, word) : word)).join(' ');
}

async function writeUserConfig(baseUrl: string, backendUrls: Readonly<Record<string, string>>): Promise<void> {
  const backends = Object.fromEntries(Object.entries(backendUrls).map(([name, url]) => [name, { name, url }]));
  const response = await fetch(`${baseUrl}/admin/userconfigs/${SUBJECT}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ virtual_hosts: { [VIRTUAL_HOST_ID]: { backends } } }),
  });
  if (response.status !== 202) throw new Error(`the user config was refused: ${await response.text()}`);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? `quickstart: ${error.message}` : error);
  process.exit(1);
});
