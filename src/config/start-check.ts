// `--check` of the two planes: describes what would start, before anything is opened or started. By then the options, keys and files have
// been read successfully. Cold path.
import { existsSync } from 'node:fs';
import type { CommandWords } from './command.js';
import type { DataplaneOptions } from './dataplane-options.js';
import type { RedisLocation, StoreOptions } from './table/store-options.js';
import { hasKeys } from './table/token-options.js';

/**
 * Text for a person. It shows no secrets, as these are in files and options hold only their paths.
 * @param listeners which there are, and where.
 */
export function describeStart(
  { command, given }: CommandWords,
  { store, token }: Pick<DataplaneOptions, 'store' | 'token'>,
  listeners: Readonly<Record<string, string>>,
): string {
  const lines = [`The ${command} would start:`];
  for (const [what, where] of Object.entries(listeners)) lines.push(`  ${what.padEnd(16)}${where}`);
  lines.push(`  ${'user configs'.padEnd(16)}${storeInWords(store)}`);
  if (!hasKeys(token))
    lines.push(`  ${'tokens'.padEnd(16)}no key or secret is configured: every MCP request would get 401`);
  const set = [...given].flatMap(([name, { text, variable }]) => {
    if (name === 'check' || text === '') return [];
    return [`  --${name} ${text}${variable === undefined ? '' : `  (from ${variable})`}`];
  });
  lines.push(
    set.length === 0 ? 'All options have their defaults.' : 'These options are set, all others have their defaults:',
  );
  return [...lines, ...set, ''].join('\n');
}

function redisInWords(place: RedisLocation): string {
  if ('nodes' in place) return `a Redis Cluster, with ${place.nodes.length} nodes given`;
  if ('sentinels' in place) return `the Redis named ${place.name} at ${place.sentinels.length} Sentinels`;
  return `the Redis at ${place.host}:${place.port}`;
}

function storeInWords(store: StoreOptions): string {
  if (store.kind === 'redis') return `${redisInWords(store.place)}, ${store.tls.mode}; it was not contacted`;
  return `the embedded store in ${store.path}${existsSync(store.path) ? '' : ', which does not exist and would be created'}`;
}
