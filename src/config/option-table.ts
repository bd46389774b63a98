// Every option, declared once: what the command line, the environment, the defaults, `--help` and docs/options.md say
// about it comes from here.
import { availableParallelism } from 'node:os';
import { limits } from '../shared/limits.js';
import * as files from './files.js';
import type { OptionTable } from './option.js';
import * as values from './values.js';

/** Any amount of memory that a share can be of. */
const shareSize = values.size({ minBytes: 1, maxBytes: limits.shareBytesMax });

const tokenMintingOptions = {
  'token-verification-private-key': {
    placeholder: '<path>',
    meaning: 'PEM file (PKCS#8 or PKCS#1) of the key that mints tokens: bootstrap builds and the token command',
    fallback: undefined,
    parse: files.readTokenPrivateKey,
  },
  'token-issuer': {
    placeholder: '<text>',
    meaning: 'issuer (iss) of tokens, demanded and minted',
    fallback: 'mcpgateway',
    parse: values.parseText,
  },
  'token-audience': {
    placeholder: '<text>',
    meaning: 'audience (aud) of tokens, demanded and minted',
    fallback: 'mcpgateway-api',
    parse: values.parseText,
  },
} as const satisfies OptionTable;

const addressOptions = {
  address: {
    placeholder: '<host:port>',
    meaning: 'plain HTTP listener',
    fallback: '127.0.0.1:8001',
    parse: values.parseListenAddress,
  },
} as const satisfies OptionTable;

const tlsListenerOptions = {
  'tls-address': {
    placeholder: '<host:port>',
    meaning: 'TLS listener; needs a certificate and its key',
    fallback: undefined,
    parse: values.parseListenAddress,
  },
  'server-certificate': {
    placeholder: '<path>',
    meaning: 'PEM file of the TLS certificate, its chain after it',
    fallback: undefined,
    parse: files.readCertificates,
  },
  'server-private-key': {
    placeholder: '<path>',
    meaning: "PEM file of the TLS certificate's private key",
    fallback: undefined,
    parse: files.readTlsPrivateKey,
  },
  'path-prefix': {
    placeholder: '<path>',
    meaning: 'path that every route begins with; / for none',
    fallback: '/gw-rs',
    parse: values.parsePathPrefix,
  },
} as const satisfies OptionTable;

const requestOptions = {
  'allowed-origins': {
    placeholder: '<list>',
    meaning: 'comma-separated origins that browsers may call from',
    fallback: undefined,
    fallbackText: 'loopback origins on a loopback host',
    parse: values.parseOrigins,
  },
  'allowed-hosts': {
    placeholder: '<list>',
    meaning: 'comma-separated host or host:port that requests may name in Host',
    fallback: undefined,
    fallbackText: 'loopback hosts when listening on loopback, else any',
    parse: values.parseHosts,
  },
  'max-body-bytes': {
    placeholder: '<size>',
    meaning: 'largest request body; a larger one is answered 413',
    fallback: '4MiB',
    parse: values.size({ minBytes: 1, maxBytes: limits.requestBodyBytesMax }),
  },
} as const satisfies OptionTable;

const storeOptions = {
  'store-path': {
    placeholder: '<directory>',
    meaning: 'embedded store, used when no Redis address is given',
    fallback: 'data/store',
    parse: values.parseText,
  },
  'redis-address': {
    placeholder: '<host>',
    meaning: 'host of a Redis that holds the user configs',
    fallback: undefined,
    parse: values.parseHost,
  },
  'redis-port': {
    placeholder: '<port>',
    meaning: 'port of the Redis',
    fallback: undefined,
    fallbackText: '6379 for plain-text, else 16379',
    parse: values.wholeNumber({ min: 1, max: 65_535 }),
  },
  'redis-mode': {
    placeholder: '<mode>',
    meaning: 'plain-text, tls, or mtls (TLS with a client certificate)',
    fallback: 'tls',
    parse: values.oneOf('plain-text', 'tls', 'mtls'),
  },
  'redis-tls-trust-bundle': {
    placeholder: '<path>',
    meaning: "PEM file of the authorities that vouch for the Redis; without it, the system's",
    fallback: undefined,
    parse: files.readCertificates,
  },
  'redis-tls-client-certificate': {
    placeholder: '<path>',
    meaning: 'PEM file of the client certificate for mtls',
    fallback: undefined,
    parse: files.readCertificates,
  },
  'redis-tls-client-private-key': {
    placeholder: '<path>',
    meaning: "PEM file of the client certificate's private key",
    fallback: undefined,
    parse: files.readTlsPrivateKey,
  },
  'redis-username': {
    placeholder: '<text>',
    meaning: 'Redis ACL user',
    fallback: undefined,
    parse: values.parseText,
  },
  'redis-password-file': {
    placeholder: '<path>',
    meaning: 'file that holds the Redis password; it is never taken on the command line',
    fallback: undefined,
    parse: files.readPassword,
  },
  'redis-stale-grace': {
    placeholder: '<duration>',
    meaning: 'how long the last known user configs serve while the Redis is lost',
    fallback: '60s',
    parse: values.duration({ minMs: 0 }),
  },
} as const satisfies OptionTable;

const tokenVerificationOptions = {
  'token-verification-public-key': {
    placeholder: '<path>',
    meaning: 'PEM file (SPKI or PKCS#1) of the RSA, EC or Ed25519 key that verifies tokens',
    fallback: undefined,
    parse: files.readTokenPublicKey,
  },
  'token-verification-secret-file': {
    placeholder: '<path>',
    meaning: 'file that holds the HMAC secret for HS256, HS384 and HS512 tokens, 32 bytes or more',
    fallback: undefined,
    parse: files.readSecret,
  },
} as const satisfies OptionTable;

/** The planes differ in what holds without it. */
function upstreamModeOption(fallback: string) {
  return {
    placeholder: '<mode>',
    meaning: 'tls-only refuses http backends; plain-text-or-tls takes both',
    fallback,
    parse: values.oneOf('tls-only', 'plain-text-or-tls'),
  };
}

const upstreamOptions = {
  'upstream-connection-mode': upstreamModeOption('tls-only'),
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
  'name-servers': {
    placeholder: '<list>',
    meaning:
      "comma-separated addresses, a port after them or not, of the name servers that backends' hosts are asked of",
    fallback: undefined,
    fallbackText: 'those of /etc/resolv.conf',
    parse: values.parseNameServers,
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
  'call-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a backend may be silent during a call',
    fallback: '300s',
    parse: values.duration({ minMs: 1 }),
  },
} as const satisfies OptionTable;

/** The shares of a process, and of one subject in it. */
const shareOptions = {
  'max-sessions': {
    placeholder: '<count>',
    meaning: 'sessions of one process; an initialize above is answered 503',
    fallback: '200000',
    parse: values.wholeNumber({ min: 1, max: limits.sessionsMax }),
  },
  'max-sessions-per-subject': {
    placeholder: '<count>',
    meaning: 'sessions of one subject in one process; an initialize above is answered 429',
    fallback: '1000',
    parse: values.wholeNumber({ min: 1, max: limits.sessionsMax }),
  },
  'max-session-bytes': {
    placeholder: '<size>',
    meaning: 'memory that the sessions of one process count for; an initialize above is answered 503',
    fallback: undefined,
    fallbackText: "an eighth of a process's memory, 1GiB at most",
    parse: shareSize,
  },
  'max-session-bytes-per-subject': {
    placeholder: '<size>',
    meaning: "memory that one subject's sessions in one process count for; an initialize above is answered 429",
    fallback: undefined,
    fallbackText: 'a quarter of --max-session-bytes, 64MiB at most',
    parse: shareSize,
  },
  'max-requests-in-flight': {
    placeholder: '<count>',
    meaning: 'requests that one process is working on; one more is answered 503',
    fallback: '16384',
    parse: values.wholeNumber({ min: 1, max: limits.requestsInFlightMax }),
  },
  'max-requests-in-flight-per-subject': {
    placeholder: '<count>',
    meaning: "one subject's requests that one process is working on; one more is answered 429",
    fallback: '2048',
    parse: values.wholeNumber({ min: 1, max: limits.requestsInFlightMax }),
  },
  'max-bytes-in-flight': {
    placeholder: '<size>',
    meaning: 'memory of large requests in one process, and of large answers: the next waits, then is refused',
    fallback: undefined,
    fallbackText: "an eighth of a process's memory, 512MiB at most",
    parse: shareSize,
  },
  'max-bytes-in-flight-per-subject': {
    placeholder: '<size>',
    meaning: 'the same of one subject',
    fallback: undefined,
    fallbackText: 'half of --max-bytes-in-flight',
    parse: shareSize,
  },
} as const satisfies OptionTable;

const callerOptions = {
  'slow-reader-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a caller may take nothing of its answer before it is cut off',
    fallback: '60s',
    parse: values.duration({ minMs: 1_000 }),
  },
} as const satisfies OptionTable;

const workerOptions = {
  'worker-memory': {
    placeholder: '<size>',
    meaning: 'memory that one worker may take; short of it, new sessions and then new requests are answered 503',
    fallback: undefined,
    fallbackText: "three quarters of the machine's or cgroup's memory, divided by the workers",
    parse: values.size({ minBytes: limits.workerMemoryBytesLeast, maxBytes: limits.shareBytesMax }),
  },
  'number-of-cpus': {
    placeholder: '<count>',
    meaning: 'number of workers',
    fallback: String(Math.min(availableParallelism(), limits.workersMax)),
    fallbackText: "the machine's available parallelism",
    parse: values.wholeNumber({ min: 1, max: limits.workersMax }),
  },
} as const satisfies OptionTable;

const processOptions = {
  'session-idle-timeout': {
    placeholder: '<duration>',
    meaning: 'idle sessions end after this, and their upstream sessions with them',
    fallback: '1h',
    parse: values.duration({ minMs: 1 }),
  },
  'log-level': {
    placeholder: '<level>',
    meaning: 'fatal, error, warn, info, debug, trace or silent; JSON lines on standard output',
    fallback: 'info',
    parse: values.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  },
  'access-log': {
    placeholder: '[true|false]',
    meaning: 'one line per request; never arguments, tokens or whole session ids',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
  'drain-timeout': {
    placeholder: '<duration>',
    meaning: 'how long SIGTERM waits for what is in flight',
    fallback: '10s',
    parse: values.duration({ minMs: 0 }),
  },
} as const satisfies OptionTable;

const controlPlaneMemoryOptions = {
  'control-plane-memory': {
    placeholder: '<size>',
    meaning: 'memory that the control plane may take; short of it, new sessions and then new requests are answered 503',
    fallback: undefined,
    fallbackText: "three quarters of the machine's or cgroup's memory",
    parse: values.size({ minBytes: limits.controlPlaneMemoryBytesLeast, maxBytes: limits.shareBytesMax }),
  },
} as const satisfies OptionTable;

const registryOptions = {
  'health-check-interval': {
    placeholder: '<duration>',
    meaning: 'time between two health checks of a registered server',
    fallback: '60s',
    parse: values.duration({ minMs: 10 }),
  },
  'probe-timeout': {
    placeholder: '<duration>',
    meaning: 'how long finding out what a server is and reading its tools may take',
    fallback: '10s',
    parse: values.duration({ minMs: 1 }),
  },
  'publication-wait': {
    placeholder: '<duration>',
    meaning: 'how long a change waits until all user configs have it; then it is answered 202, and publishing goes on',
    fallback: '10s',
    parse: values.duration({ minMs: 1 }),
  },
  'rate-limit': {
    placeholder: '<count>',
    meaning: 'requests a minute of one subject, or of one address without a valid token; 0 for any number',
    fallback: '600',
    parse: values.wholeNumber({ min: 0, max: limits.requestsPerMinuteMax }),
  },
} as const satisfies OptionTable;

/** What the registry and the compositions may grow to. Defaults are for trusted colleagues, who make mistakes all the same. */
const composerOptions = {
  'max-servers': {
    placeholder: '<count>',
    meaning: 'registered servers; one more is refused: 409',
    fallback: '10000',
    parse: values.wholeNumber({ min: 1, max: limits.serversMax }),
  },
  'max-compositions': {
    placeholder: '<count>',
    meaning: 'compositions; one more is refused: 409',
    fallback: '10000',
    parse: values.wholeNumber({ min: 1, max: limits.compositionsMax }),
  },
  'max-compositions-per-maker': {
    placeholder: '<count>',
    meaning: 'compositions that one subject was the last to write; one more is refused: 409',
    fallback: '1000',
    parse: values.wholeNumber({ min: 1, max: limits.compositionsMax }),
  },
  'max-composed-bytes-per-maker': {
    placeholder: '<size>',
    meaning: 'all of these as stored; one more is refused: 409',
    fallback: '32MiB',
    parse: shareSize,
  },
  'max-published-bytes-per-maker': {
    placeholder: '<size>',
    meaning: 'what all of these write into user configs, once for each of their subjects; more is refused: 409',
    fallback: '512MiB',
    parse: shareSize,
  },
  'max-config-bytes-per-maker': {
    placeholder: '<size>',
    meaning: 'what these fill of one user config, so that there is room for those of others; more is refused: 422',
    fallback: '256KiB',
    parse: values.size({ minBytes: 1, maxBytes: limits.userConfigBytesMax }),
  },
} as const satisfies OptionTable;

/** What both planes have, so that one file of variables serves both. */
export const planeOptionTable = {
  ...requestOptions,
  ...storeOptions,
  ...tokenVerificationOptions,
  ...tokenMintingOptions,
  ...upstreamOptions,
} as const satisfies OptionTable;

export const dataplaneOptionTable = {
  ...addressOptions,
  ...tlsListenerOptions,
  ...planeOptionTable,
  ...callerOptions,
  ...workerOptions,
  ...shareOptions,
  ...processOptions,
} as const satisfies OptionTable;

export const controlPlaneOptionTable = {
  address: { ...addressOptions.address, fallback: '127.0.0.1:4444' },
  ...planeOptionTable,
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
