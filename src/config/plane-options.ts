// Options that both planes share (store, tokens, backends): checked against each other, and converted to the form that all code after
// start-up uses.
import type {
  AnswerOptions,
  EraOptions,
  TraceOptions,
  ConnectionOptions,
  RedisPlace,
  RedisTls,
  StoreOptions,
  TokenOptions,
  UpstreamOptions,
} from './dataplane-options.js';
import { limits } from '../shared/limits.js';
import type { ProtectedResourceOptions } from '../shared/protected-resource.js';
import { isPlainText } from './issuer-key-sources.js';
import { isPair, type PemFile } from './files.js';
import type { OptionReader } from './option-reader.js';
import type { planeOptionTable } from './option-table.js';
import type { OptionValues } from './option.js';
import { storeOptions } from './table/store-options.js';

type Table = typeof planeOptionTable;
type Values = OptionValues<Table>;

/** The reader of any command that has the store's options among others. */
export type StoreReader = Pick<OptionReader<typeof storeOptions>, 'isGiven' | 'value' | 'fault'>;

const REDIS_PORT = { plainText: 6379, tls: 16379 };

const CLIENT_FILES = ['redis-tls-client-certificate', 'redis-tls-client-private-key'] as const;
const PLACES = ['redis-cluster', 'redis-sentinels', 'redis-address'] as const;
const REDIS_OPTIONS = (Object.keys(storeOptions) as (keyof typeof storeOptions)[]).filter(
  (name) => name.startsWith('redis-') && !PLACES.some((place) => place === name),
);
const SENTINEL_OPTIONS = ['redis-sentinel-name', 'redis-sentinel-username', 'redis-sentinel-password-file'] as const;

/** Adds faults of the store options that involve several options. */
export function checkStoreOptions(reader: StoreReader): void {
  if (!PLACES.some((place) => reader.isGiven(place))) {
    for (const name of REDIS_OPTIONS.filter((candidate) => reader.isGiven(candidate))) {
      reader.fault(
        name,
        'has no effect without --redis-address, --redis-sentinels or --redis-cluster; give both or neither',
      );
    }
    return;
  }
  checkPlace(reader);
  const mode = reader.value('redis-mode');
  if (mode === 'plain-text' && reader.isGiven('redis-tls-trust-bundle')) {
    reader.fault('redis-tls-trust-bundle', 'contradicts --redis-mode plain-text; use the mode tls or mtls');
  }
  for (const name of CLIENT_FILES) {
    const isGiven = reader.isGiven(name);
    if (mode === 'mtls' && !isGiven) reader.fault(name, 'is required by --redis-mode mtls; give a PEM file');
    if (mode !== 'mtls' && mode !== undefined && isGiven) {
      reader.fault(name, `contradicts --redis-mode ${mode}; use the mode mtls`);
    }
  }
  const [certificateName, privateKeyName] = CLIENT_FILES;
  const fault = pairFault(certificateName, reader.value(certificateName), reader.value(privateKeyName));
  if (fault !== undefined) reader.fault(privateKeyName, fault);
}

function checkPlace(reader: StoreReader): void {
  const [place, ...others] = PLACES.filter((name) => reader.isGiven(name));
  for (const name of others) reader.fault(name, `contradicts --${place}; give one of them`);
  if (place !== 'redis-address' && reader.isGiven('redis-port')) {
    reader.fault('redis-port', `contradicts --${place}, whose addresses include ports; leave it out`);
  }
  if (reader.isGiven('redis-sentinels')) return;
  for (const name of SENTINEL_OPTIONS.filter((candidate) => reader.isGiven(candidate))) {
    reader.fault(name, 'has no effect without --redis-sentinels; give both or neither');
  }
}

/** What is wrong with a private key in relation to its certificate; `undefined` also when one of them is missing. */
export function pairFault(
  certificateName: string,
  certificate: PemFile | undefined,
  privateKey: PemFile | undefined,
): string | undefined {
  if (certificate === undefined || privateKey === undefined || isPair(certificate, privateKey)) return undefined;
  return `is not the key of --${certificateName}; give the two files of one certificate`;
}

export function arrangeStore(values: OptionValues<typeof storeOptions>): StoreOptions {
  const mode = values['redis-mode'];
  const place = arrangePlace(values);
  if (place === undefined) return { kind: 'embedded', path: values['store-path'] };
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
    place,
    tls,
    username: values['redis-username'],
    password: values['redis-password-file'],
    staleGraceMs: values['redis-stale-grace'],
  };
}

function arrangePlace(values: OptionValues<typeof storeOptions>): RedisPlace | undefined {
  const sentinels = values['redis-sentinels'];
  if (sentinels !== undefined) {
    return {
      sentinels,
      name: values['redis-sentinel-name'],
      username: values['redis-sentinel-username'],
      password: values['redis-sentinel-password-file'],
    };
  }
  const nodes = values['redis-cluster'];
  if (nodes !== undefined) return { nodes };
  const host = values['redis-address'];
  const usualPort = values['redis-mode'] === 'plain-text' ? REDIS_PORT.plainText : REDIS_PORT.tls;
  return host === undefined ? undefined : { host, port: values['redis-port'] ?? usualPort };
}

export function arrangeToken(values: Values): TokenOptions {
  return {
    publicKey: values['token-verification-public-key']?.pem,
    secret: values['token-verification-secret-file']?.secret,
    jwks: values['token-jwks-file']?.text,
    keyPaths: {
      publicKey: values['token-verification-public-key']?.path,
      secret: values['token-verification-secret-file']?.path,
      jwks: values['token-jwks-file']?.path,
    },
    issuerKeys: values['token-jwks-url'] ?? [],
    issuerKeyGraceMs: values['token-jwks-grace'],
    leewayMs: values['token-leeway'],
    isPlainTextAllowed: values['upstream-connection-mode'] === 'plain-text-or-tls',
    privateKey: values['token-verification-private-key'],
    issuers: values['token-issuer'],
    audience: values['token-audience'],
  };
}

export function arrangeProtectedResource(values: Values): ProtectedResourceOptions {
  const issuers = (values['token-jwks-url'] ?? []).map(({ issuer }) => issuer);
  return {
    publicUrl: values['public-url'],
    authorizationServers: values['authorization-servers'] ?? issuers.filter((issuer) => /^https?:\/\//.test(issuer)),
  };
}

/** Adds faults of the key options that involve several options. */
export function checkToken(reader: OptionReader<Table>): void {
  const issuers = reader.value('token-issuer') ?? [];
  for (const source of reader.value('token-jwks-url') ?? []) {
    const { issuer } = source;
    if (issuers.includes(issuer) && reader.isGiven('token-issuer')) {
      reader.fault('token-jwks-url', 'has an issuer that is also in --token-issuer; name it in only one of them');
    }
    if (isPlainText(source) && reader.value('upstream-connection-mode') === 'tls-only') {
      reader.fault('token-jwks-url', 'has an http URL, which needs --upstream-connection-mode plain-text-or-tls');
    }
  }
}

/** Adds faults of the connection options that involve several options. */
export function checkConnections(reader: OptionReader<Table>): void {
  for (const name of ['upstream-connections', 'name-look-ups'] as const) {
    const [total, share] = [reader.value(name), reader.value(`${name}-per-subject`)];
    if (total === undefined || share === undefined || share <= total) continue;
    reader.fault(`${name}-per-subject`, `is more than --${name}; give at most as many`);
  }
}

export function arrangeUpstream(values: Values): UpstreamOptions {
  return {
    mode: values['upstream-connection-mode'],
    connectTimeoutMs: values['connect-timeout'],
    authorities: values['upstream-ca']?.pem,
    initializeTimeoutMs: values['initialize-timeout'],
    initializePatienceMs: values['initialize-patience'],
    listTimeoutMs: values['list-timeout'],
    listCacheMs: values['list-cache'],
    callIdleTimeoutMs: values['call-timeout'],
    unknownMethods: values['unknown-methods'],
    clientAnswerTimeoutMs: values['client-answer-timeout'],
    secretsDirectory: values['secrets-directory'],
    secretKeys: values['secrets-key-file'] ?? [],
    connectUrl: values['connect-url'],
  };
}

/** `undefined` when nothing is traced. */
export function arrangeTraces(values: Values): TraceOptions | undefined {
  const endpoint = values['traces-endpoint'];
  return endpoint === undefined ? undefined : { endpoint, sampleRatio: values['traces-sample-ratio'] };
}

export function arrangeEras(values: Values): EraOptions {
  return { served: values['protocol-eras'], leaseIdleTimeoutMs: values['lease-idle-timeout'] };
}

export function arrangeAnswers(values: Values): AnswerOptions {
  return {
    slowAnswerMs: values['slow-answer'],
    streamKeepAliveMs: values['stream-keep-alive'],
    resumptionTimeMs: values['resumption-time'],
    resumptionBytesMax: values['resumption-bytes'],
  };
}

export function arrangeConnections(values: Values): ConnectionOptions {
  const connectionsMax = values['upstream-connections'];
  const share = Math.ceil(connectionsMax / limits.upstreamShareDivisor);
  const lookUpsMax = values['name-look-ups'];
  return {
    connectionsMax,
    connectionsPerSubjectMax: values['upstream-connections-per-subject'] ?? share,
    names: {
      nameServers: values['name-servers'],
      allowedNetworks: values['upstream-allowed-networks'],
      lookUpsMax,
      lookUpsPerSubjectMax:
        values['name-look-ups-per-subject'] ?? Math.ceil(lookUpsMax / limits.nameLookUpShareDivisor),
    },
  };
}
