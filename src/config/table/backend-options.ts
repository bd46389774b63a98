// How backends are reached, and for how long they are waited for.
import { limits } from '../../shared/limits.js';
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

/** The planes differ in what holds without it. */
export function upstreamModeOption(fallback: string) {
  return {
    placeholder: '<mode>',
    meaning: 'tls-only refuses http backends; plain-text-or-tls takes both',
    fallback,
    parse: values.oneOf('tls-only', 'plain-text-or-tls'),
  };
}

/** Whoever keeps the secrets must have it; both planes may. */
export const secretsKeyFileOption = {
  placeholder: '<path>',
  meaning: 'file of the keys that seal the secrets of the store, one a line; the first one seals, all of them open',
  fallback: undefined,
  fallbackText: 'backends with a secret of the store are unavailable',
  parse: files.readSecretKeys,
};

export const upstreamOptions = {
  'upstream-connection-mode': upstreamModeOption('tls-only'),
  'upstream-ca': {
    placeholder: '<path>',
    meaning:
      'PEM file of authorities that vouch for backends and authorization servers, beside those that Node.js knows: of a company, say',
    fallback: undefined,
    parse: files.readCertificates,
  },
  'secrets-directory': {
    placeholder: '<path>',
    meaning: 'where the secrets are, a file each, that `auth` of a backend names',
    fallback: undefined,
    fallbackText: 'backends with `auth` are unavailable',
    parse: files.parseDirectory,
  },
  'secrets-key-file': secretsKeyFileOption,
  'connect-url': {
    placeholder: '<url>',
    meaning:
      "scheme, host and port by which users' browsers reach the control plane, where they give the consent that backends with `oauth2-user` want",
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
    meaning: 'connections of one worker to one backend; further requests wait',
    fallback: '1024',
    parse: values.wholeNumber({ min: 1, max: limits.upstreamConnectionsTotalMax }),
  },
  'upstream-connections-per-subject': {
    placeholder: '<count>',
    meaning: "of these, the ones that one subject's requests may use at once",
    fallback: undefined,
    fallbackText: 'a quarter of --upstream-connections',
    parse: values.wholeNumber({ min: 1, max: limits.upstreamConnectionsTotalMax }),
  },
  'upstream-allowed-networks': {
    placeholder: '<list>',
    meaning:
      'comma-separated networks, as in 10.0.0.0/8,2001:db8::/32: the only ones whose addresses backends and their token endpoints may have',
    fallback: undefined,
    fallbackText: 'all but link-local and cloud metadata addresses, which are never allowed',
    parse: values.parseNetworks,
  },
  'name-servers': {
    placeholder: '<list>',
    meaning:
      "comma-separated addresses, a port after them or not, of the name servers that backends' hosts are asked of",
    fallback: undefined,
    fallbackText: 'those of /etc/resolv.conf',
    parse: values.parseNameServers,
  },
  'name-look-ups': {
    placeholder: '<count>',
    meaning: "backends' hosts that one process looks up at once; further look-ups wait",
    fallback: '1024',
    parse: values.wholeNumber({ min: 1, max: limits.nameLookUpsMax }),
  },
  'name-look-ups-per-subject': {
    placeholder: '<count>',
    meaning: 'of these, the ones for the requests of one subject',
    fallback: undefined,
    fallbackText: 'a sixteenth of --name-look-ups',
    parse: values.wholeNumber({ min: 1, max: limits.nameLookUpsMax }),
  },
  'initialize-timeout': {
    placeholder: '<duration>',
    meaning: "how long a backend's initialize may take",
    fallback: '10s',
    parse: values.duration({ minMs: 1 }),
  },
  'initialize-patience': {
    placeholder: '<duration>',
    meaning:
      'how long a new session waits for a slow backend before it begins without it; lists wait four times as long',
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
    meaning: "how long a backend's list may be answered from memory to the caller that it was read for; 0s for never",
    fallback: '0s',
    parse: values.duration({ minMs: 0, maxMs: limits.listCacheMsMax }),
  },
  'call-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a backend may be silent during a call',
    fallback: '300s',
    parse: values.duration({ minMs: 1 }),
  },
  'client-answer-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a client may take to answer what a backend asks of it during a call',
    fallback: '600s',
    parse: values.duration({ minMs: 1 }),
  },
} as const satisfies OptionTable;
