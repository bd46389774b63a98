// A virtual host as the relay gets it: from the text of a config, through the real decoder and compiler.
import { compileUserConfig } from '../../src/user-config/compile-config.js';
import type { CompiledBackend, CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { decodeUserConfig, type BackendConfig } from '../../src/user-config/user-config-schema.js';

/** @param backends by name; the URL is made up unless given. */
export function virtualHostOf(backends: Readonly<Record<string, Partial<BackendConfig>>>): CompiledVirtualHost {
  const complete = Object.entries(backends).map(([name, config]) => [
    name,
    { url: `https://${Buffer.from(name).toString('hex')}.example/mcp`, ...config },
  ]);
  const text = JSON.stringify({ virtual_hosts: { vh: { backends: Object.fromEntries(complete) as unknown } } });
  const decoding = decodeUserConfig(Buffer.from(text));
  if (!decoding.ok) throw new Error(decoding.issues);
  const virtualHost = compileUserConfig(decoding.config, 'tls-only').virtualHosts.get('vh');
  if (virtualHost === undefined) throw new Error('no virtual host');
  return virtualHost;
}

export function backendOf(virtualHost: CompiledVirtualHost, name: string): CompiledBackend {
  const backend = virtualHost.backends.get(name);
  if (backend === undefined) throw new Error(`no backend ${name}`);
  return backend;
}
