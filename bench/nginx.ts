// The yardstick: nginx as a plain reverse proxy in front of the same backends. One worker, keep-alive on both sides, no log.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backendNames, calledBackendNames } from './backend-names.js';
import type { Backends } from './backends.js';
import type { ChildProcesses } from './child-processes.js';
import { freePort, waitUntilAnswering } from './loopback.js';
import type { Target } from './targets.js';
import { backendPath } from './virtual-hosts.js';

/** For example `1.22.1`. Throws when nginx is not installed. */
export function nginxVersion(): string {
  const { error, stderr } = spawnSync('nginx', ['-v'], { encoding: 'utf8' });
  if (error !== undefined) {
    throw new Error('nginx, the yardstick, is not installed: apt-get install nginx-light', { cause: error });
  }
  return /nginx\/(\S+)/.exec(stderr)?.[1] ?? 'unknown';
}

export async function startNginx(children: ChildProcesses, directory: string, backends: Backends): Promise<Target> {
  const port = await freePort();
  const home = join(directory, 'nginx');
  mkdirSync(home);
  const configPath = join(home, 'nginx.conf');
  writeFileSync(configPath, nginxConfig(home, port, backends));
  const child = await children.start({
    name: 'nginx',
    core: 'target',
    command: 'nginx',
    words: ['-e', 'stderr', '-p', home, '-c', configPath],
  });
  const origin = `http://127.0.0.1:${port}`;
  await waitUntilAnswering('nginx', origin + backendPath('calls', calledBackendNames[0]));
  return { name: 'nginx', origin, hop: { kind: 'plain', path: backendPath }, rootPid: child.pid };
}

/**
 * Nothing may slow nginx down: no connection ends after a number of requests, and heads and bodies fit their buffers and never go to
 * files.
 */
export function nginxConfig(home: string, port: number, { ports }: Backends): string {
  const upstreams = backendNames.map(
    (name) => `
  upstream ${name} {
    server 127.0.0.1:${ports.get(name)};
    keepalive 1024;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
  }`,
  );
  const locations = backendNames.map(
    (name) => `
    location /${name}/ {
      proxy_pass http://${name};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }`,
  );
  const temporaryPaths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `\n  ${kind}_temp_path ${join(home, kind)};`,
  );
  // Started as root, nginx would run its worker as a user that cannot enter the scratch directory.
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  return `${user}daemon off;
worker_processes 1;
pid ${join(home, 'nginx.pid')};
error_log stderr error;
events {
  worker_connections 4096;
}
http {
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  client_header_buffer_size 4k;
  client_max_body_size 4m;
  client_body_buffer_size 2m;
  proxy_buffers 64 64k;
  proxy_max_temp_file_size 0;${temporaryPaths.join('')}${upstreams.join('')}
  server {
    listen 127.0.0.1:${port};${locations.join('')}
  }
}
`;
}
