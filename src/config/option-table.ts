// Every option, declared once: the command line, the environment, the defaults, `--help` and docs/options.md (`npm run docs`) are derived
// from here. The options themselves are in table/, by topic; this file says which plane has which of them.
import { limits } from '../shared/limits.js';
import type { OptionTable } from './option.js';
import { secretsKeyFileOption, upstreamModeOption, upstreamOptions } from './table/backend-options.js';
import { answerOptions, eraOptions } from './table/answer-options.js';
import {
  addressOptions,
  adminOptions,
  callerOptions,
  protectedResourceOptions,
  requestOptions,
  tlsListenerOptions,
} from './table/listener-options.js';
import {
  controlPlaneMemoryOptions,
  processOptions,
  registryOptions,
  sessionDirectoryOptions,
  traceOptions,
  workerOptions,
} from './table/process-options.js';
import { composerOptions, shareOptions } from './table/share-options.js';
import { signInOptions } from './table/sign-in-options.js';
import { storeOptions } from './table/store-options.js';
import {
  issuerKeyOptions,
  standingOptions,
  tokenMintingOptions,
  tokenVerificationOptions,
} from './table/token-options.js';
import * as values from './values.js';

/** Options of both planes: one file of variables can serve both. */
export const planeOptionTable = {
  ...requestOptions,
  ...storeOptions,
  ...tokenVerificationOptions,
  ...issuerKeyOptions,
  ...protectedResourceOptions,
  ...tokenMintingOptions,
  ...upstreamOptions,
  ...answerOptions,
  ...eraOptions,
  ...traceOptions,
} as const satisfies OptionTable;

export const dataplaneOptionTable = {
  ...addressOptions,
  ...tlsListenerOptions,
  ...adminOptions,
  ...planeOptionTable,
  ...callerOptions,
  ...workerOptions,
  ...shareOptions,
  ...sessionDirectoryOptions,
  ...processOptions,
} as const satisfies OptionTable;

export const controlPlaneOptionTable = {
  address: { ...addressOptions.address, fallback: '127.0.0.1:4444' },
  ...planeOptionTable,
  ...standingOptions,
  ...signInOptions,
  // Registered servers may be http or https (decisions 3).
  'upstream-connection-mode': upstreamModeOption('plain-text-or-tls'),
  ...registryOptions,
  ...controlPlaneMemoryOptions,
  ...composerOptions,
  ...shareOptions,
  ...processOptions,
} as const satisfies OptionTable;

export const tokenOptionTable = {
  subject: {
    placeholder: '<text>',
    meaning: "the token's subject (sub)",
    fallback: undefined,
    required: true,
    parse: values.parseText,
  },
  'expires-in': {
    placeholder: '<duration>',
    meaning: 'how long the token is valid',
    fallback: '1h',
    parse: values.duration({ minMs: 1_000, maxMs: limits.tokenLifetimeMsMax }),
  },
  ...tokenMintingOptions,
  'token-verification-private-key': { ...tokenMintingOptions['token-verification-private-key'], required: true },
} as const satisfies OptionTable;

/** For the commands that keep secrets in the store. */
export const secretsOptionTable = {
  'secrets-key-file': secretsKeyFileOption,
  ...storeOptions,
} as const satisfies OptionTable;

export const secretsSealOptionTable = {
  ...secretsOptionTable,
  'secrets-key-file': { ...secretsKeyFileOption, fallbackText: 'required', required: true },
} as const satisfies OptionTable;

export const secretsSetOptionTable = {
  origins: {
    placeholder: '<list>',
    meaning: 'comma-separated origins that the secret may be sent to, e.g. https://api.example.com; or any',
    fallback: undefined,
    required: true,
    parse: values.parseSecretOrigins,
  },
  ...secretsSealOptionTable,
} as const satisfies OptionTable;
