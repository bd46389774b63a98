// The dataplane's options, in the form in which all code after start-up sees them: checked, with defaults, frozen; plain data that is sent
// to the workers in one IPC message. Times are in milliseconds, sizes in bytes, and files have been read. This file says which options
// there are; what each of them is, is in table/, by topic.
import { type ValueOf, type ValuesOf, section } from './option.js';
import { answerOptions, eraOptions } from './table/answer-options.js';
import { connectionOptions, upstreamOptions, upstreamMode } from './table/backend-options.js';
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
import { storeOptions } from './table/store-options.js';
import { protectedResourceOptions, tokenOptions, roleClaimOptions } from './table/token-options.js';
import { signInOptions } from './table/sign-in-options.js';

export type { IssuerKeySource } from './issuer-key-sources.js';
export type { RedisLocation, RedisTls, StoreOptions } from './table/store-options.js';
export type { ListenAddress } from './values.js';

/** Options of both planes: one file of variables can serve both. */
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
export type TokenOptions = ValueOf<typeof tokenOptions> & { readonly standing?: RoleClaims | undefined };
export type KeyPaths = TokenOptions['keyPaths'];
export type RoleClaims = Exclude<ValueOf<typeof roleClaimOptions>, undefined>;
export type UpstreamOptions = ValuesOf<typeof upstreamOptions>;
export type EraOptions = ValuesOf<typeof eraOptions>;
export type AnswerOptions = ValuesOf<typeof answerOptions>;
export type ShareOptions = DataplaneOptions['shares'];
export type ConnectionOptions = ValueOf<typeof connectionOptions>;
export type TraceOptions = Exclude<ValueOf<typeof traceOptions>, undefined>;

// The control plane's options, in the form in which all code after start-up sees them, as dataplane-options.ts has the dataplane's.

export const controlPlaneOptions = {
  address: addressOption('127.0.0.1:4444'),
  ...planeOptions,
  token: section(
    { token: tokenOptions, standing: roleClaimOptions },
    { arrange: ({ token, standing }) => ({ ...token, standing }) },
  ),
  signIn: signInOptions,
  // Registered servers may be http or https (decisions 3).
  upstream: { ...planeOptions.upstream, mode: upstreamMode('plain-text-or-tls') },
  ...registryOptions,
  memoryBytes: controlPlaneMemory,
  composerShares: composerOptions,
  shares: shareOptionsOf(controlPlaneMemory),
  ...processOptions,
};

export type ControlPlaneOptions = ValuesOf<typeof controlPlaneOptions>;
export type ComposerShares = ValuesOf<typeof composerOptions>;
export type SignInOptions = Exclude<ValueOf<typeof signInOptions>, undefined>;
