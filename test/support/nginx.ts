// nginx before a gateway, as operators have it: a reverse proxy that gives up on an answer of which nothing comes for a while.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { findFreePort } from './free-port.js';
import { startProxy } from './proxy-process.js';
import { createScratchDirectory } from './scratch-directory.js';

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
  const server = `
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${origin};
      proxy_http_version 1.1;
      proxy_read_timeout ${readTimeoutMs}ms;
    }
  }`;
  const proxied = `http://127.0.0.1:${port}`;
  await startNginx(t, home, server, async () => (await fetch(`${proxied}/gw-rs/health`)).ok);
  return proxied;
}

/** Ends with the test. @param servers what stands inside `http`. */
export async function startNginx(
  t: Pick<Test, 'teardown'>,
  home: string,
  servers: string,
  isUp: () => Promise<boolean>,
): Promise<void> {
  const configPath = join(home, 'nginx.conf');
  for (const kind of TEMPORARY) mkdirSync(join(home, kind));
  writeFileSync(configPath, configText(home, servers));
  const words = ['-e', 'stderr', '-p', home, '-c', configPath];
  await startProxy(t, { command: 'nginx', words, debianPackage: 'nginx-light' }, isUp);
}

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

function configText(home: string, servers: string): string {
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
  ${servers}
}
`;
}
