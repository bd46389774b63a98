// Options for how backends are reached, and how long the gateway waits for them.
import { limits } from '../../shared/limits.js';
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

/** The two planes have different defaults. */
export function upstreamModeOption(fallback: string) {
  return {
    placeholder: '<mode>',
    meaning: 'tls-only refuses http backends; plain-text-or-tls allows both',
    fallback,
    parse: values.oneOf('tls-only', 'plain-text-or-tls'),
  };
}

/** Required by commands that keep secrets, optional for both planes. */
export const secretsKeyFileOption = {
  placeholder: '<path>',
  meaning: 'file of keys for the secrets in the store, one per line; the first one encrypts, all of them decrypt',
  fallback: undefined,
  fallbackText: 'backends that refer to a secret in the store are unavailable',
  parse: files.readSecretKeys,
};

export const upstreamOptions = {
  'upstream-connection-mode': upstreamModeOption('tls-only'),
  'upstream-ca': {
    placeholder: '<path>',
    meaning:
      "PEM file of CA certificates to trust for backends and authorization servers, in addition to Node.js's own; for example a company's",
    fallback: undefined,
    parse: files.readCertificates,
  },
  'secrets-directory': {
    placeholder: '<path>',
    meaning: "directory with one file per secret that backends' `auth` refers to",
    fallback: undefined,
    fallbackText: 'backends with `auth` are unavailable',
    parse: files.parseDirectory,
  },
  'secrets-key-file': secretsKeyFileOption,
  'connect-url': {
    placeholder: '<url>',
    meaning:
      "scheme, host and port at which users' browsers reach the control plane, to give the consent that backends with `oauth2-user` need",
    fallback: undefined,
    fallbackText: 'nobody can give a consent',
    parse: values.parsePublicUrl,
  },
  'connect-timeout': {
    placeholder: '<duration>',
    meaning: 'how long connecting to a backend may take',
    fallback: '5s',
    parse: values.duration({ minMs: 1 }),
  },
  'upstream-connections': {
    placeholder: '<count>',
    meaning: 'most connections from one worker to one backend; further requests wait',
    fallback: '1024',
    parse: values.wholeNumber({ min: 1, max: limits.upstreamConnectionsTotalMax }),
  },
  'upstream-connections-per-subject': {
    placeholder: '<count>',
    meaning: "most of the --upstream-connections that one subject's requests may use at once",
    fallback: undefined,
    fallbackText: 'a quarter of --upstream-connections',
    parse: values.wholeNumber({ min: 1, max: limits.upstreamConnectionsTotalMax }),
  },
  'upstream-allowed-networks': {
    placeholder: '<list>',
    meaning:
      'comma-separated networks, e.g. 10.0.0.0/8,2001:db8::/32, that the addresses of backends and their token endpoints must be in',
    fallback: undefined,
    fallbackText: 'all except link-local and cloud metadata addresses, which are never allowed',
    parse: values.parseNetworks,
  },
  'name-servers': {
    placeholder: '<list>',
    meaning: 'comma-separated DNS servers (address or address:port) used to resolve the hosts of backends',
    fallback: undefined,
    fallbackText: 'those of /etc/resolv.conf',
    parse: values.parseNameServers,
  },
  'name-look-ups': {
    placeholder: '<count>',
    meaning: 'most DNS look-ups that one process does at once; further ones wait',
    fallback: '1024',
    parse: values.wholeNumber({ min: 1, max: limits.nameLookUpsMax }),
  },
  'name-look-ups-per-subject': {
    placeholder: '<count>',
    meaning: 'most DNS look-ups at once for the requests of one subject',
    fallback: undefined,
    fallbackText: 'a sixteenth of --name-look-ups',
    parse: values.wholeNumber({ min: 1, max: limits.nameLookUpsMax }),
  },
  'initialize-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a backend may take to answer initialize',
    fallback: '10s',
    parse: values.duration({ minMs: 1 }),
  },
  'initialize-patience': {
    placeholder: '<duration>',
    meaning:
      'how long a new session waits for a slow backend before it starts without it; lists wait four times as long',
    fallback: '1s',
    parse: values.duration({ minMs: 1 }),
  },
  'list-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a backend may take to list its tools',
    fallback: '30s',
    parse: values.duration({ minMs: 1 }),
  },
  'list-cache': {
    placeholder: '<duration>',
    meaning: "how long a backend's list is cached, for the caller that it was read for; 0s disables caching",
    fallback: '0s',
    parse: values.duration({ minMs: 0, maxMs: limits.listCacheMsMax }),
  },
  'call-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a backend may send nothing during a call',
    fallback: '300s',
    parse: values.duration({ minMs: 1 }),
  },
  'unknown-methods': {
    placeholder: '<mode>',
    meaning:
      'what happens to methods that MCP does not define: relay sends one to the only backend that declares it, or its extension; refuse answers "method not found"',
    fallback: 'relay',
    parse: values.oneOf('relay', 'refuse'),
  },
  'client-answer-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a client may take to answer a request that a backend sends it during a call',
    fallback: '600s',
    parse: values.duration({ minMs: 1 }),
  },
} as const satisfies OptionTable;
