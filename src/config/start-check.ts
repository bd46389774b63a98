// `--check` of the two planes: what would be, said before anything is opened or started. That the options can be read, with
// their keys and files, is known by then. Cold.
import { existsSync } from 'node:fs';
import type { CommandWords } from './command.js';
import type { RedisPlace, StoreOptions } from './dataplane-options.js';
import { environmentVariable, type OptionTable } from './option.js';
import { parseSwitch } from './values.js';

/** Whether the options of a plane, which are without a fault, are to be checked alone. */
export function isCheckAlone(words: CommandWords, environment: NodeJS.ProcessEnv = process.env): boolean {
  const text = words.given.get('check') ?? environment[environmentVariable('check')] ?? '';
  return text !== '' && parseSwitch(text);
}

/** What of the options counts for the text. */
export interface CheckedStart {
  readonly store: StoreOptions;
  /** What listens, and where. */
  readonly listeners: Readonly<Record<string, string>>;
  readonly hasKeys: boolean;
}

/** Lines for a person. Secrets are in files, whose paths alone are options. */
export function startInWords(
  table: OptionTable,
  words: CommandWords,
  { store, listeners, hasKeys }: CheckedStart,
  environment: NodeJS.ProcessEnv = process.env,
): string {
  const lines = [`The ${words.command} would start:`];
  for (const [what, where] of Object.entries(listeners)) lines.push(`  ${what.padEnd(16)}${where}`);
  lines.push(`  ${'user configs'.padEnd(16)}${storeInWords(store)}`);
  if (!hasKeys) lines.push(`  ${'tokens'.padEnd(16)}no key or secret is configured: every MCP request would get 401`);
  const given = Object.keys(table).flatMap((name) => {
    if (name === 'check') return [];
    const variable = environmentVariable(name);
    const text = words.given.get(name) ?? environment[variable] ?? '';
    if (text === '') return [];
    return [`  --${name} ${text}${words.given.has(name) ? '' : `  (from ${variable})`}`];
  });
  lines.push(
    given.length === 0 ? 'All options have their defaults.' : 'These options are set, all others have their defaults:',
  );
  return [...lines, ...given, ''].join('\n');
}

function redisInWords(place: RedisPlace): string {
  if ('nodes' in place) return `a Redis Cluster, with ${place.nodes.length} nodes given`;
  if ('sentinels' in place) return `the Redis named ${place.name} at ${place.sentinels.length} Sentinels`;
  return `the Redis at ${place.host}:${place.port}`;
}

function storeInWords(store: StoreOptions): string {
  if (store.kind === 'redis') return `${redisInWords(store.place)}, ${store.tls.mode}; it was not contacted`;
  return `the embedded store in ${store.path}${existsSync(store.path) ? '' : ', which does not exist and would be created'}`;
}
