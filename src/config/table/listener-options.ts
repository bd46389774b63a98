// Where the planes listen, and which requests they accept there.
import { MIB } from '../../shared/index.js';
import { checkKeyPair, readCertificates, readTlsPrivateKey } from '../files.js';
import { option, section, type OptionReader } from '../option.js';
import {
  duration,
  oneOf,
  parseHosts,
  parseListenAddress,
  parseListenAddressOrOff,
  parseOrigins,
  parsePathPrefix,
  parseSwitch,
  size,
} from '../values.js';

/** The address to listen on. The two planes have different defaults. */
export const addressOption = (fallback: string) =>
  option('address <host:port>', 'plain HTTP listener', parseListenAddress, fallback);

const address = addressOption('127.0.0.1:8001');
const adminAddress = option(
  'admin-address <host:port|off>',
  'plain HTTP listener for operators: /live, /ready, /metrics and views, without a token; off disables it',
  parseListenAddressOrOff,
  '127.0.0.1:8002',
);
const tlsAddress = option(
  'tls-address <host:port>',
  'TLS listener; needs a certificate and its key',
  parseListenAddress,
);
const certificate = option(
  'server-certificate <path>',
  'PEM file of the TLS certificate, followed by its chain',
  readCertificates,
);
const privateKey = option(
  'server-private-key <path>',
  "PEM file of the TLS certificate's private key",
  readTlsPrivateKey,
);

function checkTls(reader: OptionReader): void {
  const files = [certificate, privateKey];
  if (!reader.isGiven(tlsAddress)) reader.addFaults(files, 'has no effect without --tls-address; give both or neither');
  for (const file of files) {
    if (reader.isGiven(tlsAddress) && !reader.isGiven(file))
      reader.addFault(file, 'is required by --tls-address; give a PEM file');
  }
  checkKeyPair(reader, certificate, privateKey);
  const [plain, tls] = [reader.value(address), reader.value(tlsAddress)];
  if (plain && tls && tls.port !== 0 && tls.port === plain.port && tls.host === plain.host) {
    reader.addFault(tlsAddress, 'is the same as --address; give the two listeners different ports');
  }
}

/** Adds a fault if the admin listener has the address and port of another listener. */
function checkAdmin(reader: OptionReader): void {
  const admin = reader.value(adminAddress);
  for (const option of [address, tlsAddress]) {
    const other = reader.value(option);
    if (admin === undefined || other === undefined || other.port === 0 || other.port !== admin.port) continue;
    const isSameAddress =
      [admin.host, other.host].some((host) => host === '0.0.0.0' || host === '::') || admin.host === other.host;
    if (isSameAddress) reader.addFault(adminAddress, `is the same as --${option.name}; give it another port, or off`);
  }
}

export const listenerOptions = {
  address,
  listener: option(
    'listener <library>',
    'HTTP library of the workers: uws (uWebSockets.js), node (node:http), or auto: uws if it loads, otherwise node',
    oneOf('auto', 'uws', 'node'),
    'auto',
  ),
  tls: section(
    { address: tlsAddress, certificate, privateKey },
    {
      check: checkTls,
      combine: ({ address, certificate, privateKey }) =>
        address && certificate && privateKey
          ? { address, certificatePath: certificate.path, privateKeyPath: privateKey.path }
          : undefined,
    },
  ),
  /** The path before every route: `''`, or a path such as `/gw-rs`. */
  pathPrefix: option('path-prefix <path>', 'path prefix of every route; / for none', parsePathPrefix, '/gw-rs'),
  adminAddress,
  metrics: section(
    {
      isWanted: option(
        'metrics [true|false]',
        'collect the metrics that /metrics shows; without an admin listener none are collected',
        parseSwitch,
        'true',
      ),
    },
    { check: checkAdmin, combine: ({ isWanted }, reader) => isWanted && reader.resolve(adminAddress) !== undefined },
  ),
};

export const requestCheckOptions = {
  /** Exact origins that may send requests, such as `https://app.example`. */
  allowedOrigins: option(
    'allowed-origins <list>',
    'comma-separated origins that browsers may call from',
    parseOrigins,
    { text: 'loopback origins on a loopback host', derive: (): readonly string[] => [] },
  ),
  /** Hosts that a request may name: `host` or `host:port`, in lower case. If none is given, the listen address decides (specification 2.2). */
  allowedHosts: option(
    'allowed-hosts <list>',
    'comma-separated host or host:port values that the Host header may have',
    parseHosts,
    { text: 'loopback hosts when listening on loopback, otherwise any', derive: (): readonly string[] => [] },
  ),
  bodyBytesMax: option(
    'max-body-bytes <size>',
    'largest request body; a larger one gets 413',
    // The upper bound keeps the JSON scanner's offsets within 32 bits; besides, a whole body is held in memory.
    size({ minBytes: 1, maxBytes: 1024 * MIB }),
    '4MiB',
  ),
  requestIds: option(
    'request-ids <mode>',
    'x-request-id of responses, log lines and requests to backends: make a new one, trust the one received, or off',
    oneOf('make', 'trust', 'off'),
    'make',
  ),
};

export const slowReaderTimeout = option(
  'slow-reader-timeout <duration>',
  'how long a client may read nothing of its response before it is disconnected',
  duration({ minMs: 1_000 }),
  '60s',
);
