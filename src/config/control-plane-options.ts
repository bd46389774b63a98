// The control plane's options, in the form in which all code after start-up sees them, as dataplane-options.ts has the dataplane's.
import { planeOptions } from './dataplane-options.js';
import { section, type ValueOf, type ValuesOf } from './option.js';
import { upstreamMode } from './table/backend-options.js';
import { listenAddress } from './table/listener-options.js';
import { controlPlaneMemory, processOptions, registryOptions } from './table/process-options.js';
import { composerOptions, sharesOf } from './table/share-options.js';
import { signInOptions } from './table/sign-in-options.js';
import { standingOptions, tokenOptions } from './table/token-options.js';

export const controlPlaneOptions = {
  address: listenAddress('127.0.0.1:4444'),
  ...planeOptions,
  token: section(
    { token: tokenOptions, standing: standingOptions },
    { arrange: ({ token, standing }) => ({ ...token, standing }) },
  ),
  signIn: signInOptions,
  // Registered servers may be http or https (decisions 3).
  upstream: { ...planeOptions.upstream, mode: upstreamMode('plain-text-or-tls') },
  ...registryOptions,
  memoryBytes: controlPlaneMemory,
  composerShares: composerOptions,
  shares: sharesOf(controlPlaneMemory),
  ...processOptions,
};

export type ControlPlaneOptions = ValuesOf<typeof controlPlaneOptions>;
export type ComposerShares = ValuesOf<typeof composerOptions>;
export type SignInOptions = Exclude<ValueOf<typeof signInOptions>, undefined>;
