// `npm run quickstart`: two demo backends and the gateway's bootstrap build on the embedded store, and what to paste to
// use them. Everything it keeps is under data/.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { startDemoBackend } from './demo-backend.js';
import { createCalculator, createWordsmith } from './demo-servers.js';
import { guide } from './guide.js';
import { ensureKeyPair } from './key-pair.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SUBJECT = 'demo@example.com';
const VIRTUAL_HOST_ID = 'd3m0d3m0d3m0d3m0d3m0d3m0d3m0d3m0';
const PATH_PREFIX = '/gw-rs';

async function main(): Promise<void> {
  const address = process.argv[2] ?? '127.0.0.1:8001';
  const keys = ensureKeyPair(join(root, 'data'));
  const calculator = await startDemoBackend({ createMcpServer: createCalculator, answerAs: 'json' });
  const wordsmith = await startDemoBackend({ createMcpServer: createWordsmith, answerAs: 'event-stream' });

  const gateway = startGateway(address, keys);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => gateway.kill('SIGTERM'));
  const baseUrl = `http://${await listeningAddress(gateway)}${PATH_PREFIX}`;

  await writeUserConfig(baseUrl, { calculator: calculator.url, wordsmith: wordsmith.url });
  const token = await (await fetch(`${baseUrl}/admin/tokens/${SUBJECT}`)).text();
  console.log(guide({ url: `${baseUrl}/servers/${VIRTUAL_HOST_ID}/mcp`, token, baseUrl, subject: SUBJECT }));

  const [status] = (await once(gateway, 'exit')) as [number | null];
  await Promise.all([calculator.close(), wordsmith.close()]);
  process.exit(status ?? 1);
}

function startGateway(address: string, keys: { publicKey: string; privateKey: string }): ChildProcess {
  const options = {
    '--address': address,
    '--store-path': join(root, 'data/store'),
    '--token-verification-public-key': keys.publicKey,
    '--token-verification-private-key': keys.privateKey,
    '--upstream-connection-mode': 'plain-text-or-tls',
  };
  const program = join(root, 'dist-bootstrap/main.js');
  // A process group of its own: a Ctrl-C reaches the gateway once, by way of this process.
  return spawn(process.execPath, [program, 'dataplane', ...Object.entries(options).flat()], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
}

/** Passes the gateway's log on, and resolves with the address of its line `listening`. Ends with it when it cannot start. */
function listeningAddress(gateway: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (gateway.stdout === null) throw new Error('the gateway was started without its standard output');
    createInterface(gateway.stdout).on('line', (line) => {
      console.log(line);
      const entry = parseLine(line);
      if (entry['msg'] === 'listening' && typeof entry['address'] === 'string') resolve(entry['address']);
    });
    gateway.once('exit', (status) => reject(new Error(`the gateway did not start (exit status ${status})`)));
  });
}

function parseLine(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return {};
  }
}

async function writeUserConfig(baseUrl: string, backendUrls: Record<string, string>): Promise<void> {
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
