// The gateway under test: the production build with one worker, its user configs in an embedded store made for the run.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLogger } from '../src/shared/logger.js';
import { openStore } from '../src/store/open-store.js';
import { backendNames } from './backend-names.js';
import { backendPath, type Backends } from './backends.js';
import type { ChildProcesses } from './child-processes.js';
import { freePort, waitUntilAnswering } from './loopback.js';
import type { Target } from './targets.js';
import type { AnswerStyle } from './tool.js';
import type { Users } from './users.js';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** One for backends that answer with JSON, one for backends that answer with event streams. */
const virtualHostIds: Readonly<Record<AnswerStyle, string>> = {
  json: '5f0e1b8a4c6d4f7f9a3b2c1d0e9f8a7b',
  'event-stream': 'c2a7d9e46b1f4a0d8e5c3f7a9b6d1e20',
};

export async function startGateway(
  children: ChildProcesses,
  directory: string,
  backends: Backends,
  users: Users,
): Promise<Target> {
  const storePath = join(directory, 'store');
  await writeUserConfigs(storePath, backends, users);
  const keyPath = join(directory, 'public-key.pem');
  writeFileSync(keyPath, users.publicKey);
  const address = `127.0.0.1:${await freePort()}`;
  const child = await children.start({
    name: 'gateway',
    core: 'target',
    command: process.execPath,
    words: [
      ...[program, 'dataplane', '--address', address, '--number-of-cpus', '1', '--store-path', storePath],
      ...['--token-verification-public-key', keyPath, '--upstream-connection-mode', 'plain-text-or-tls'],
      ...['--log-level', 'warn'],
    ],
  });
  await waitUntilAnswering('the gateway', `http://${address}/gw-rs/health`);
  return {
    name: 'gateway',
    origin: `http://${address}`,
    hop: {
      kind: 'gateway',
      path: (style) => `/gw-rs/servers/${virtualHostIds[style]}/mcp`,
      toolName: (backend, tool) => `${backend}-${tool}`,
    },
    rootPid: child.pid,
  };
}

async function writeUserConfigs(storePath: string, backends: Backends, users: Users): Promise<void> {
  const config = Buffer.from(
    JSON.stringify({
      virtual_hosts: {
        [virtualHostIds.json]: virtualHost(backends, 'json'),
        [virtualHostIds['event-stream']]: virtualHost(backends, 'event-stream'),
      },
    }),
  );
  const store = await openStore({ kind: 'embedded', path: storePath }, createLogger('warn', { role: 'bench' }));
  try {
    await Promise.all(users.list.map(({ subject }) => store.write(subject, config)));
  } finally {
    await store.close();
  }
}

function virtualHost({ ports }: Backends, style: AnswerStyle): unknown {
  const backends = backendNames.map((name) => {
    const url = `http://127.0.0.1:${ports[name]}${backendPath(name, style)}`;
    return [name, { name, url, transport: 'STREAMABLEHTTP', passthrough_headers: [], allowed_tool_names: [] }] as const;
  });
  return { backends: Object.fromEntries(backends) };
}
