// Options for where user configs and records are stored.
import { checkKeyPair, readCertificates, readPassword, readTlsPrivateKey } from '../files.js';
import { option, section, type ValuesOf, type OptionReader } from '../option.js';
import {
  anyMs,
  oneOf,
  parseAddresses,
  parseHost,
  parseText,
  PORT_MAX,
  wholeNumber,
  type ListenAddress,
} from '../values.js';

export const storePath = option(
  'store-path <directory>',
  'directory of the embedded store, used when no Redis is given',
  parseText,
  'data/store',
);

const redisOptions = {
  address: option('redis-address <host>', 'host of the Redis that holds the user configs', parseHost),
  port: option('redis-port <port>', 'port of the Redis', wholeNumber({ min: 1, max: PORT_MAX }), {
    text: '6379 for plain-text, otherwise 16379',
  }),
  sentinels: option(
    'redis-sentinels <host:port,...>',
    'Sentinels to ask for the Redis, also after a failover; instead of --redis-address',
    parseAddresses,
  ),
  sentinelName: option('redis-sentinel-name <name>', 'name of the Redis at the Sentinels', parseText, 'mymaster'),
  sentinelUsername: option('redis-sentinel-username <text>', 'ACL user at the Sentinels', parseText),
  sentinelPassword: option(
    'redis-sentinel-password-file <path>',
    'file with the password for the Sentinels',
    readPassword,
  ),
  cluster: option(
    'redis-cluster <host:port,...>',
    'some nodes of a Redis Cluster, from which the others are found; instead of --redis-address',
    parseAddresses,
  ),
  mode: option(
    'redis-mode <mode>',
    'plain-text, tls, or mtls (TLS with a client certificate); also for Sentinels',
    oneOf('plain-text', 'tls', 'mtls'),
    'tls',
  ),
  trustBundle: option(
    'redis-tls-trust-bundle <path>',
    'PEM file of the CA certificates to trust for the Redis',
    readCertificates,
    { text: "the system's" },
  ),
  clientCertificate: option(
    'redis-tls-client-certificate <path>',
    'PEM file of the client certificate for mtls',
    readCertificates,
  ),
  clientPrivateKey: option(
    'redis-tls-client-private-key <path>',
    "PEM file of the client certificate's private key",
    readTlsPrivateKey,
  ),
  username: option('redis-username <text>', 'Redis ACL user', parseText),
  password: option(
    'redis-password-file <path>',
    'file with the Redis password, which is never accepted on the command line',
    readPassword,
  ),
  staleGraceMs: option(
    'redis-stale-grace <duration>',
    'how long the last known user configs are used while the Redis cannot be reached',
    anyMs,
    '60s',
  ),
};

export type RedisTls =
  | { readonly mode: 'plain-text' }
  | {
      readonly mode: 'tls' | 'mtls';
      /** The bundle of certificate authorities; `undefined` for the system's own. */
      readonly trustBundle: string | undefined;
      readonly clientCertificate: string | undefined;
      readonly clientPrivateKey: string | undefined;
    };

/** A Redis whose current address Sentinels tell, also after a failover. */
interface RedisSentinels {
  readonly sentinels: readonly ListenAddress[];
  /** The name by which the sentinels know the Redis. */
  readonly name: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** A Redis Cluster, given by some of its nodes, which know the other nodes. */
interface RedisClusterNodes {
  readonly nodes: readonly ListenAddress[];
}

export type RedisLocation = ListenAddress | RedisSentinels | RedisClusterNodes;

export type StoreOptions =
  | { readonly kind: 'embedded'; readonly path: string }
  | {
      readonly kind: 'redis';
      readonly location: RedisLocation;
      readonly tls: RedisTls;
      readonly username: string | undefined;
      readonly password: string | undefined;
      /** How long the last known user configs are used while the Redis cannot be reached. */
      readonly staleGraceMs: number;
    };

const DEFAULT_REDIS_PORTS = { plainText: 6379, tls: 16379 };

function checkStore(reader: OptionReader): void {
  const { address, cluster, sentinels, port, sentinelName, sentinelUsername, sentinelPassword } = redisOptions;
  const [location, ...otherLocations] = [cluster, sentinels, address].filter((option) => reader.isGiven(option));
  if (location === undefined) {
    const options = '--redis-address, --redis-sentinels or --redis-cluster';
    return reader.addFaults(Object.values(redisOptions), `has no effect without ${options}; give both or neither`);
  }
  reader.addFaults(otherLocations, `contradicts --${location.name}; give one of them`);
  if (location !== address)
    reader.addFaults([port], `contradicts --${location.name}, whose addresses include ports; leave it out`);
  if (!reader.isGiven(sentinels)) {
    const details = [sentinelName, sentinelUsername, sentinelPassword];
    reader.addFaults(details, 'has no effect without --redis-sentinels; give both or neither');
  }
  checkTls(reader);
}

function checkTls(reader: OptionReader): void {
  const { mode, trustBundle, clientCertificate, clientPrivateKey } = redisOptions;
  const wanted = reader.value(mode);
  const files = [clientCertificate, clientPrivateKey];
  if (wanted === 'plain-text')
    reader.addFaults([trustBundle], 'contradicts --redis-mode plain-text; use the mode tls or mtls');
  if (wanted === 'mtls') {
    for (const file of files.filter((each) => !reader.isGiven(each)))
      reader.addFault(file, 'is required by --redis-mode mtls; give a PEM file');
  } else if (wanted !== undefined) reader.addFaults(files, `contradicts --redis-mode ${wanted}; use the mode mtls`);
  checkKeyPair(reader, clientCertificate, clientPrivateKey);
}

function redisLocationOf(values: ValuesOf<typeof redisOptions>): RedisLocation | undefined {
  const { sentinels, cluster, address, mode } = values;
  if (sentinels !== undefined) {
    const { sentinelName: name, sentinelUsername: username, sentinelPassword: password } = values;
    return { sentinels, name, username, password };
  }
  if (cluster !== undefined) return { nodes: cluster };
  const defaultPort = mode === 'plain-text' ? DEFAULT_REDIS_PORTS.plainText : DEFAULT_REDIS_PORTS.tls;
  return address === undefined ? undefined : { host: address, port: values.port ?? defaultPort };
}

export const storeOptions = section(
  { path: storePath, ...redisOptions },
  {
    check: checkStore,
    combine: ({ path, ...values }): StoreOptions => {
      const location = redisLocationOf(values);
      if (location === undefined) return { kind: 'embedded', path };
      const { mode, username, password, staleGraceMs } = values;
      const files = {
        trustBundle: values.trustBundle?.pem,
        clientCertificate: values.clientCertificate?.pem,
        clientPrivateKey: values.clientPrivateKey?.pem,
      };
      const tls = mode === 'plain-text' ? { mode } : { mode, ...files };
      return { kind: 'redis', location, tls, username, password, staleGraceMs };
    },
  },
);
