// Where user configs and records are stored.
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

export const storeOptions = {
  'store-path': {
    placeholder: '<directory>',
    meaning: 'directory of the embedded store, used when no Redis is given',
    fallback: 'data/store',
    parse: values.parseText,
  },
  'redis-address': {
    placeholder: '<host>',
    meaning: 'host of the Redis that holds the user configs',
    fallback: undefined,
    parse: values.parseHost,
  },
  'redis-port': {
    placeholder: '<port>',
    meaning: 'port of the Redis',
    fallback: undefined,
    fallbackText: '6379 for plain-text, otherwise 16379',
    parse: values.wholeNumber({ min: 1, max: values.PORT_MAX }),
  },
  'redis-sentinels': {
    placeholder: '<host:port,...>',
    meaning: 'Sentinels to ask for the Redis, also after a failover; instead of --redis-address',
    fallback: undefined,
    parse: values.parseAddresses,
  },
  'redis-sentinel-name': {
    placeholder: '<name>',
    meaning: 'name of the Redis at the Sentinels',
    fallback: 'mymaster',
    parse: values.parseText,
  },
  'redis-sentinel-username': {
    placeholder: '<text>',
    meaning: 'ACL user at the Sentinels',
    fallback: undefined,
    parse: values.parseText,
  },
  'redis-sentinel-password-file': {
    placeholder: '<path>',
    meaning: 'file with the password for the Sentinels',
    fallback: undefined,
    parse: files.readPassword,
  },
  'redis-cluster': {
    placeholder: '<host:port,...>',
    meaning: 'some nodes of a Redis Cluster, from which the others are found; instead of --redis-address',
    fallback: undefined,
    parse: values.parseAddresses,
  },
  'redis-mode': {
    placeholder: '<mode>',
    meaning: 'plain-text, tls, or mtls (TLS with a client certificate); also for Sentinels',
    fallback: 'tls',
    parse: values.oneOf('plain-text', 'tls', 'mtls'),
  },
  'redis-tls-trust-bundle': {
    placeholder: '<path>',
    meaning: 'PEM file of the CA certificates to trust for the Redis',
    fallback: undefined,
    fallbackText: "the system's",
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
    meaning: 'file with the Redis password, which is never accepted on the command line',
    fallback: undefined,
    parse: files.readPassword,
  },
  'redis-stale-grace': {
    placeholder: '<duration>',
    meaning: 'how long the last known user configs are used while the Redis cannot be reached',
    fallback: '60s',
    parse: values.duration({ minMs: 0 }),
  },
} as const satisfies OptionTable;
