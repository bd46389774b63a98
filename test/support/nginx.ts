// nginx before a gateway, as operators have it: a reverse proxy that gives up on an answer of which nothing comes for a while.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { findFreePort } from './free-port.js';
import { killWithProcess } from './leftovers.js';
import { createScratchDirectory } from './scratch-directory.js';
import { until } from './until.js';

/**
 * Ends with the test.
 * @param origin of the gateway.
 * @param readTimeoutMs as nginx's `proxy_read_timeout`.
 * @returns its origin.
 */
export async function startNginxBefore(
  t: Pick<Test, 'teardown'>,
  origin: string,
  readTimeoutMs: number,
): Promise<string> {
  const home = createScratchDirectory(t);
  const port = await findFreePort();
  const configPath = join(home, 'nginx.conf');
  for (const kind of TEMPORARY) mkdirSync(join(home, kind));
  writeFileSync(configPath, configText(home, port, origin, readTimeoutMs));
  const nginx = spawn('nginx', ['-e', 'stderr', '-p', home, '-c', configPath], { stdio: 'ignore' });
  killWithProcess(nginx);
  let fault: unknown;
  nginx.once('error', (error) => (fault = error));
  t.teardown(async () => {
    nginx.kill('SIGTERM');
    await until(() => nginx.exitCode !== null || nginx.signalCode !== null || fault !== undefined, 'the end of nginx');
  });
  const proxied = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (fault !== undefined) throw new Error('nginx is not installed: apt-get install nginx-light', { cause: fault });
    if (nginx.exitCode !== null) throw new Error(`nginx ended with exit status ${nginx.exitCode}`);
    return fetch(`${proxied}/gw-rs/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  }, 'nginx');
  return proxied;
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

function configText(home: string, port: number, origin: string, readTimeoutMs: number): string {
  // Started by root, it would give its worker a user that cannot enter the scratch directory.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const temporaryPaths = TEMPORARY.map((kind) => `${kind}_temp_path ${join(home, kind)};`).join('\n  ');
  return `${user}
daemon off;
worker_processes 1;
pid ${join(home, 'nginx.pid')};
error_log stderr crit;
events {
  worker_connections 256;
}
http {
  access_log off;
  ${temporaryPaths}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${origin};
      proxy_http_version 1.1;
      proxy_read_timeout ${readTimeoutMs}ms;
    }
  }
}
`;
}
