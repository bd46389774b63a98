// nginx in front of a gateway, as operators run it: a reverse proxy that gives up on a response after a while without data.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { findFreePort } from './free-port.js';
import { startProxy } from './proxy-process.js';
import { createScratchDirectory } from './scratch-directory.js';

/**
 * Starts nginx until the test ends.
 * @param origin the gateway's origin.
 * @param readTimeoutMs nginx's `proxy_read_timeout`.
 * @returns nginx's origin.
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

/** Starts nginx until the test ends. @param servers the contents of the `http` block. */
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
  // Started as root, nginx would run its worker as a user that cannot enter the scratch directory.
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
