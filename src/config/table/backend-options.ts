// Options for how backends are reached, and how long to wait for them.
import { limits, perSubject } from '../../shared/index.js';
import { parseDirectory, readCertificates, readSecretKeys } from '../files.js';
import { alsoReadFrom, option, section, type Option, type OptionReader } from '../option.js';
import {
  duration,
  positiveMs,
  oneOf,
  parseHostPatterns,
  parseNameServers,
  parseNetworks,
  parseProxy,
  parsePublicUrl,
  wholeNumber,
  size,
} from '../values.js';

/** How backends may be reached. The two planes have different defaults. */
export const upstreamMode = (fallback: 'tls-only' | 'plain-text-or-tls') =>
  option(
    'upstream-connection-mode <mode>',
    'tls-only refuses http backends; plain-text-or-tls allows both',
    oneOf('tls-only', 'plain-text-or-tls'),
    fallback,
  );

/** The keys that encrypt and decrypt secrets. Commands that encrypt secrets require this option. */
export const secretsKeyFile = option(
  'secrets-key-file <path>',
  'file of keys for the secrets in the store, one per line; the first one encrypts, all of them decrypt',
  readSecretKeys,
  { text: 'backends that refer to a secret in the store are unavailable', derive: (): readonly string[] => [] },
);

export const connectUrl = option(
  'connect-url <url>',
  "scheme, host and port at which users' browsers reach the control plane, to give the consent that backends with `oauth2-user` need",
  parsePublicUrl,
  { text: 'nobody can give a consent' },
);

export const upstreamOptions = {
  mode: upstreamMode('tls-only'),
  authorities: option(
    'upstream-ca <path>',
    "PEM file of CA certificates to trust for backends and authorization servers, in addition to Node.js's own; for example a company's",
    (path) => readCertificates(path).pem,
  ),
  secretsDirectory: option(
    'secrets-directory <path>',
    "directory with one file per secret that backends' `auth` refers to",
    parseDirectory,
    { text: 'backends with `auth` are unavailable' },
  ),
  secretKeys: secretsKeyFile,
  connectUrl,
  connectTimeoutMs: option('connect-timeout <duration>', 'how long connecting to a backend may take', positiveMs, '5s'),
  initializeTimeoutMs: option(
    'initialize-timeout <duration>',
    'how long a backend may take to answer initialize',
    positiveMs,
    '10s',
  ),
  initializePatienceMs: option(
    'initialize-patience <duration>',
    'how long a new session waits for a slow backend before it starts with the others; lists wait twice as long',
    positiveMs,
    '2s',
  ),
  listTimeoutMs: option('list-timeout <duration>', 'how long a backend may take to list its tools', positiveMs, '30s'),
  listCacheMs: option(
    'list-cache <duration>',
    "how long a backend's list is cached, for the caller that it was read for; 0s disables caching",
    duration({ minMs: 0, maxMs: 3_600_000 }),
    '0s',
  ),
  callIdleTimeoutMs: option(
    'call-timeout <duration>',
    'how long a backend may send nothing during a call',
    positiveMs,
    '300s',
  ),
  unknownMethods: option(
    'unknown-methods <mode>',
    'what happens to methods that MCP does not define: relay sends one to the only backend that declares it, or its extension; refuse answers "method not found"',
    oneOf('relay', 'refuse'),
    'relay',
  ),
  clientAnswerTimeoutMs: option(
    'client-answer-timeout <duration>',
    'how long a client may take to answer a request that a backend sends it during a call',
    positiveMs,
    '600s',
  ),
};

const connectionsMax = option(
  'upstream-connections <count>',
  'most connections from one worker to one backend; further requests wait',
  wholeNumber({ min: 1, max: limits.upstreamConnectionsTotalMax }),
  '1024',
);
const connectionsPerSubjectMax = option(
  'upstream-connections-per-subject <count>',
  "most of the --upstream-connections that one subject's requests may use at once",
  wholeNumber({ min: 1, max: limits.upstreamConnectionsTotalMax }),
  { text: 'a quarter of --upstream-connections', derive: (reader) => perSubject(reader.resolve(connectionsMax)) },
);
const lookUpsMax = option(
  'name-look-ups <count>',
  'most DNS look-ups that one process does at once; further ones wait',
  wholeNumber({ min: 1, max: 16_384 }),
  '1024',
);
const lookUpsPerSubjectMax = option(
  'name-look-ups-per-subject <count>',
  'most DNS look-ups at once for the requests of one subject',
  wholeNumber({ min: 1, max: 16_384 }),
  { text: 'a sixteenth of --name-look-ups', derive: (reader) => Math.ceil(reader.resolve(lookUpsMax) / 16) },
);

function checkShare(reader: OptionReader, total: Option<number>, share: Option<number>): void {
  if ((reader.value(share) ?? 0) <= (reader.value(total) ?? Infinity)) return;
  reader.addFault(share, `is more than --${total.name}; give at most as many`);
}

const allowedNetworks = option(
  'upstream-allowed-networks <list>',
  'comma-separated networks, e.g. 10.0.0.0/8,2001:db8::/32, that the addresses of backends and their token endpoints must be in',
  parseNetworks,
  { text: 'all except link-local and cloud metadata addresses, which are never allowed' },
);
const proxyAddress = alsoReadFrom(
  option(
    'upstream-proxy <url>',
    'HTTP proxy through which https backends and authorization servers are reached, e.g. http://proxy.example:3128',
    parseProxy,
    { text: 'HTTPS_PROXY; without it, none' },
  ),
  'HTTPS_PROXY',
  'https_proxy',
);
const proxyExceptions = alsoReadFrom(
  option(
    'upstream-no-proxy <list>',
    'comma-separated hosts, domains, addresses and networks that are reached without the proxy; loopback always is',
    parseHostPatterns,
    { text: 'NO_PROXY; without it, none', derive: (): readonly string[] => [] },
  ),
  'NO_PROXY',
  'no_proxy',
);

function checkProxy(reader: OptionReader): void {
  const address = reader.value(proxyAddress);
  if (address === undefined || reader.value(proxyExceptions)?.includes('*') === true) return;
  if (address.authorization !== '' && reader.isOnCommandLine(proxyAddress)) {
    reader.addFault(proxyAddress, 'has a password that every user of this machine could read; give it as HTTPS_PROXY');
  }
  if (reader.isGiven(allowedNetworks)) {
    const problem = 'looks up names itself, so --upstream-allowed-networks could not be held; leave out one of the two';
    reader.addFault(proxyAddress, `${problem} (NO_PROXY=* turns the proxy off)`);
  }
}

export const connectionOptions = section(
  {
    connectionsMax,
    connectionsPerSubjectMax,
    names: {
      allowedNetworks,
      nameServers: option(
        'name-servers <list>',
        'comma-separated DNS servers (address or address:port) used to resolve the hosts of backends',
        parseNameServers,
        { text: 'those of /etc/resolv.conf' },
      ),
      lookUpsMax,
      lookUpsPerSubjectMax,
      proxy: section(
        { address: proxyAddress, exceptions: proxyExceptions },
        { check: checkProxy, combine: ({ address, exceptions }) => address && { ...address, exceptions } },
      ),
    },
  },
  {
    check: (reader) => {
      checkShare(reader, connectionsMax, connectionsPerSubjectMax);
      checkShare(reader, lookUpsMax, lookUpsPerSubjectMax);
    },
  },
);

// Options for the eras of clients that are served, for slow answers, and for clients that reconnect.

export const eraOptions = {
  served: option(
    'protocol-eras <eras>',
    'clients to serve: legacy (MCP up to 2025-11-25, with sessions), modern (2026-07-28, without sessions), or both',
    oneOf('both', 'legacy', 'modern'),
    'both',
  ),
  leaseIdleTimeoutMs: option(
    'lease-idle-timeout <duration>',
    'idle time after which a lease (the state that sessionless requests share) and its upstream sessions end',
    positiveMs,
    '5m',
  ),
};

export const answerOptions = {
  slowAnswerMs: option(
    'slow-answer <duration>',
    'time after which a response that is not ready yet is begun as an event stream',
    duration({ minMs: 100 }),
    '5s',
  ),
  streamKeepAliveMs: option(
    'stream-keep-alive <duration>',
    'time without data on an event stream after which a comment is sent, so that proxies do not close it',
    // Clients are promised a comment every 15 s, because proxies and clients give up on silent streams.
    duration({ minMs: 100, maxMs: 14_000 }),
    '14s',
  ),
  resumptionTimeMs: option(
    'resumption-time <duration>',
    'how long a call continues, and its events are kept, after its client lost the connection',
    duration({ minMs: 100 }),
    '300s',
  ),
  resumptionBytesMax: option(
    'resumption-bytes <size>',
    'memory per session for events that a reconnecting client can resume from; the oldest are dropped first',
    size({ minBytes: 1 }),
    '4MiB',
  ),
};
