// Which options each plane has, and the types of their values. The values are checked, complete with defaults, and frozen: plain data that
// the primary sends to each worker in one message. Times are in milliseconds, sizes in bytes. The rows of the options are in `table/`.
import { type ValueOf, type ValuesOf, section, type CommandWords } from './option.js';
import {
  connectionOptions,
  upstreamOptions,
  upstreamMode,
  answerOptions,
  eraOptions,
} from './table/backend-options.js';
import { listenerOptions, requestCheckOptions, slowReaderTimeout, addressOption } from './table/listener-options.js';
import {
  processOptions,
  sessionDirectory,
  traceOptions,
  workerOptions,
  controlPlaneMemory,
  registryOptions,
} from './table/process-options.js';
import { shareOptionsOf, composerOptions } from './table/share-options.js';
import { storeOptions, type RedisLocation, type StoreOptions } from './table/store-options.js';
import { protectedResourceOptions, tokenOptions, roleClaimOptions, hasKeys } from './table/token-options.js';
import { signInOptions } from './table/sign-in-options.js';
import { existsSync } from 'node:fs';

/** The options that both planes have, so that one file of environment variables can be used for both. */
export const planeOptions = {
  ...requestCheckOptions,
  store: storeOptions,
  token: tokenOptions,
  protectedResource: protectedResourceOptions,
  upstream: upstreamOptions,
  connections: connectionOptions,
  answers: answerOptions,
  eras: eraOptions,
  traces: traceOptions,
};

export const dataplaneOptions = {
  ...listenerOptions,
  ...planeOptions,
  slowReaderTimeoutMs: slowReaderTimeout,
  ...workerOptions,
  shares: shareOptionsOf(workerOptions.workerMemoryBytes),
  sessionDirectory,
  ...processOptions,
};

export type DataplaneOptions = ValuesOf<typeof dataplaneOptions>;

/** Adds defaults for options that version 0.1.0 lacks: after an upgrade by a reload, a 0.1.0 primary starts workers of this version. */
export function completeOptions(options: DataplaneOptions): DataplaneOptions {
  const token = Object.assign({ leewayMs: 30_000 }, options.token);
  const upstream = Object.assign({ unknownMethods: 'relay' }, options.upstream);
  return { ...options, token, upstream };
}
export type TokenOptions = ValueOf<typeof tokenOptions> & { readonly roleClaims?: RoleClaims | undefined };
export type KeyPaths = TokenOptions['keyPaths'];
export type RoleClaims = Exclude<ValueOf<typeof roleClaimOptions>, undefined>;
export type UpstreamOptions = ValuesOf<typeof upstreamOptions>;
export type EraOptions = ValuesOf<typeof eraOptions>;
export type AnswerOptions = ValuesOf<typeof answerOptions>;
export type ShareOptions = DataplaneOptions['shares'];
export type ConnectionOptions = ValueOf<typeof connectionOptions>;
export type TraceOptions = Exclude<ValueOf<typeof traceOptions>, undefined>;

export const controlPlaneOptions = {
  address: addressOption('127.0.0.1:4444'),
  ...planeOptions,
  token: section(
    { token: tokenOptions, roleClaims: roleClaimOptions },
    { combine: ({ token, roleClaims }) => ({ ...token, roleClaims }) },
  ),
  signIn: signInOptions,
  // Registered servers may have URLs of http or https (specification 3).
  upstream: { ...planeOptions.upstream, mode: upstreamMode('plain-text-or-tls') },
  ...registryOptions,
  memoryBytes: controlPlaneMemory,
  composerQuotas: composerOptions,
  shares: shareOptionsOf(controlPlaneMemory),
  ...processOptions,
};

export type ControlPlaneOptions = ValuesOf<typeof controlPlaneOptions>;
export type ComposerQuotas = ValuesOf<typeof composerOptions>;
export type SignInOptions = Exclude<ValueOf<typeof signInOptions>, undefined>;

// `--check` of the two planes: describes what would start. The options, keys and files have been read successfully; nothing has been opened
// or started. Cold path.

/**
 * The text that `--check` prints. It contains no secret: files are named by their paths, and the proxy's user and password are left out.
 * @param listeners the addresses, by the names of the listeners.
 */
export function describeStart(
  { command, optionTexts }: CommandWords,
  { store, token }: Pick<DataplaneOptions, 'store' | 'token'>,
  listeners: Readonly<Record<string, string>>,
): string {
  const lines = [`The ${command} would start:`];
  for (const [what, where] of Object.entries(listeners)) lines.push(`  ${what.padEnd(16)}${where}`);
  lines.push(`  ${'user configs'.padEnd(16)}${storeInWords(store)}`);
  if (!hasKeys(token))
    lines.push(`  ${'tokens'.padEnd(16)}no key or secret is configured: every MCP request would get 401`);
  const set = [...optionTexts].flatMap(([name, { text, variable }]) => {
    if (name === 'check' || text === '') return [];
    const shown = name === 'upstream-proxy' ? text.replace(/^(.*:\/\/)?.*@/, '$1') : text;
    return [`  --${name} ${shown}${variable === undefined ? '' : `  (from ${variable})`}`];
  });
  lines.push(
    set.length === 0 ? 'All options have their defaults.' : 'These options are set, all others have their defaults:',
  );
  return [...lines, ...set, ''].join('\n');
}

function redisInWords(location: RedisLocation): string {
  if ('nodes' in location) return `a Redis Cluster, with ${location.nodes.length} nodes given`;
  if ('sentinels' in location) return `the Redis named ${location.name} at ${location.sentinels.length} Sentinels`;
  return `the Redis at ${location.host}:${location.port}`;
}

function storeInWords(store: StoreOptions): string {
  if (store.kind === 'redis') return `${redisInWords(store.location)}, ${store.tls.mode}; it was not contacted`;
  return `the embedded store in ${store.path}${existsSync(store.path) ? '' : ', which does not exist and would be created'}`;
}
