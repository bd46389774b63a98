// The summary of a user config for the list of changes: enough to see what was different. Of a backend's URL only the origin, as a path or
// a query may be as good as a password.
import { createHash } from 'node:crypto';
import { isObject } from '../bytes/index.js';

/** @param value may be anything: the previous value need not have been a user config. */
export function configInBrief(value: Buffer): object {
  const hosts = membersOf(membersOf(parsed(value))['virtual_hosts']);
  const virtualHosts = Object.entries(hosts).map(([id, host]) => {
    const backends = Object.entries(membersOf(membersOf(host)['backends']));
    return [id, Object.fromEntries(backends.map(([name, backend]) => [name, originOf(membersOf(backend)['url'])]))];
  });
  return {
    bytes: value.length,
    hash: createHash('sha256').update(value).digest('hex').slice(0, 12),
    virtualHosts: Object.fromEntries(virtualHosts) as object,
  };
}

/** `undefined` when the value is not JSON. */
export function parsed(value: Buffer): unknown {
  try {
    return JSON.parse(value.toString());
  } catch {
    return undefined;
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function originOf(url: unknown): string {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : '';
}
