// The dataplane's options: read, held against each other, and put into the shape that everything after start-up sees.
import { deepFreeze } from '../shared/deep-freeze.js';
import type { CommandWords } from './command-line.js';
import type { DataplaneOptions, RedisTls, StoreOptions } from './dataplane-options.js';
import { isPair } from './files.js';
import type { OptionValues } from './option.js';
import { OptionReader } from './option-reader.js';
import { dataplaneOptionTable } from './option-table.js';

type Table = typeof dataplaneOptionTable;
type Name = keyof Table;
type Values = OptionValues<Table>;
type Reader = OptionReader<Table>;

const REDIS_PORT = { plainText: 6379, tls: 16379 };

const LISTENER_FILES = ['server-certificate', 'server-private-key'] as const;
const CLIENT_FILES = ['redis-tls-client-certificate', 'redis-tls-client-private-key'] as const;
const REDIS_OPTIONS = (Object.keys(dataplaneOptionTable) as Name[]).filter(
  (name) => name.startsWith('redis-') && name !== 'redis-address',
);

/** Throws OptionFaults with every fault. Nothing is opened or started. */
export function loadDataplaneOptions(
  words: CommandWords,
  environment: NodeJS.ProcessEnv = process.env,
): DataplaneOptions {
  const reader = new OptionReader(dataplaneOptionTable, words, environment);
  checkTlsListener(reader);
  checkRedis(reader);
  return deepFreeze(arrange(reader.finish()));
}

function checkTlsListener(reader: Reader): void {
  const isWanted = reader.isGiven('tls-address');
  for (const name of LISTENER_FILES) {
    if (isWanted && !reader.isGiven(name)) reader.fault(name, 'is needed by --tls-address; name a PEM file');
    if (!isWanted && reader.isGiven(name)) reader.fault(name, 'has no use without --tls-address; give both or neither');
  }
  checkPair(reader, ...LISTENER_FILES);
  const [plain, tls] = [reader.value('address'), reader.value('tls-address')];
  if (plain && tls && tls.port !== 0 && tls.port === plain.port && tls.host === plain.host) {
    reader.fault('tls-address', 'is the same as --address; give the two listeners different ports');
  }
}

function checkRedis(reader: Reader): void {
  if (!reader.isGiven('redis-address')) {
    for (const name of REDIS_OPTIONS.filter((candidate) => reader.isGiven(candidate))) {
      reader.fault(name, 'has no use without --redis-address; give both or neither');
    }
    return;
  }
  const mode = reader.value('redis-mode');
  if (mode === 'plain-text' && reader.isGiven('redis-tls-trust-bundle')) {
    reader.fault('redis-tls-trust-bundle', 'contradicts --redis-mode plain-text; use the mode tls or mtls');
  }
  for (const name of CLIENT_FILES) {
    const isGiven = reader.isGiven(name);
    if (mode === 'mtls' && !isGiven) reader.fault(name, 'is needed by --redis-mode mtls; name a PEM file');
    if (mode !== 'mtls' && mode !== undefined && isGiven) {
      reader.fault(name, `contradicts --redis-mode ${mode}; use the mode mtls`);
    }
  }
  checkPair(reader, ...CLIENT_FILES);
}

function checkPair(
  reader: Reader,
  certificateName: (typeof LISTENER_FILES | typeof CLIENT_FILES)[0],
  privateKeyName: (typeof LISTENER_FILES | typeof CLIENT_FILES)[1],
): void {
  const certificate = reader.value(certificateName);
  const privateKey = reader.value(privateKeyName);
  if (certificate === undefined || privateKey === undefined || isPair(certificate, privateKey)) return;
  reader.fault(privateKeyName, `is not the key of --${certificateName}; name the two files of one certificate`);
}

function arrange(values: Values): DataplaneOptions {
  return {
    address: values.address,
    tls: arrangeTls(values),
    pathPrefix: values['path-prefix'],
    workerCount: values['number-of-cpus'],
    store: arrangeStore(values),
    token: {
      publicKey: values['token-verification-public-key'],
      secret: values['token-verification-secret-file'],
      privateKey: values['token-verification-private-key'],
      issuer: values['token-issuer'],
      audience: values['token-audience'],
    },
    upstream: {
      mode: values['upstream-connection-mode'],
      connectTimeoutMs: values['connect-timeout'],
      initializeTimeoutMs: values['initialize-timeout'],
      listTimeoutMs: values['list-timeout'],
      callIdleTimeoutMs: values['call-timeout'],
    },
    allowedOrigins: values['allowed-origins'] ?? [],
    allowedHosts: values['allowed-hosts'] ?? [],
    bodyBytesMax: values['max-body-bytes'],
    sessionIdleTimeoutMs: values['session-idle-timeout'],
    logLevel: values['log-level'],
    accessLog: values['access-log'],
    drainTimeoutMs: values['drain-timeout'],
  };
}

function arrangeTls(values: Values): DataplaneOptions['tls'] {
  const address = values['tls-address'];
  const certificate = values['server-certificate'];
  const privateKey = values['server-private-key'];
  if (address === undefined || certificate === undefined || privateKey === undefined) return undefined;
  return { address, certificatePath: certificate.path, privateKeyPath: privateKey.path };
}

function arrangeStore(values: Values): StoreOptions {
  const host = values['redis-address'];
  if (host === undefined) return { kind: 'embedded', path: values['store-path'] };
  const mode = values['redis-mode'];
  const tls: RedisTls =
    mode === 'plain-text'
      ? { mode }
      : {
          mode,
          trustBundle: values['redis-tls-trust-bundle']?.pem,
          clientCertificate: values['redis-tls-client-certificate']?.pem,
          clientPrivateKey: values['redis-tls-client-private-key']?.pem,
        };
  return {
    kind: 'redis',
    host,
    port: values['redis-port'] ?? (mode === 'plain-text' ? REDIS_PORT.plainText : REDIS_PORT.tls),
    tls,
    username: values['redis-username'],
    password: values['redis-password-file'],
    staleGraceMs: values['redis-stale-grace'],
  };
}
