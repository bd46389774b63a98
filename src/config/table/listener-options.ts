// Where the planes listen, and which requests they accept there.
import { limits } from '../../shared/limits.js';
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

export const addressOptions = {
  address: {
    placeholder: '<host:port>',
    meaning: 'plain HTTP listener',
    fallback: '127.0.0.1:8001',
    parse: values.parseListenAddress,
  },
} as const satisfies OptionTable;

export const adminOptions = {
  'admin-address': {
    placeholder: '<host:port|off>',
    meaning: 'plain HTTP listener for operators: /live, /ready, /metrics and views, without a token; off disables it',
    fallback: '127.0.0.1:8002',
    parse: values.parseListenAddressOrOff,
  },
  metrics: {
    placeholder: '[true|false]',
    meaning: 'collect the metrics that /metrics shows; without an admin listener none are collected',
    fallback: 'true',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
} as const satisfies OptionTable;

export const tlsListenerOptions = {
  listener: {
    placeholder: '<library>',
    meaning:
      'HTTP library of the workers: uws (uWebSockets.js), node (node:http), or auto: uws if it loads, otherwise node',
    fallback: 'auto',
    parse: values.oneOf('auto', 'uws', 'node'),
  },
  'tls-address': {
    placeholder: '<host:port>',
    meaning: 'TLS listener; needs a certificate and its key',
    fallback: undefined,
    parse: values.parseListenAddress,
  },
  'server-certificate': {
    placeholder: '<path>',
    meaning: 'PEM file of the TLS certificate, followed by its chain',
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
    meaning: 'path prefix of every route; / for none',
    fallback: '/gw-rs',
    parse: values.parsePathPrefix,
  },
} as const satisfies OptionTable;

export const requestOptions = {
  'allowed-origins': {
    placeholder: '<list>',
    meaning: 'comma-separated origins that browsers may call from',
    fallback: undefined,
    fallbackText: 'loopback origins on a loopback host',
    parse: values.parseOrigins,
  },
  'allowed-hosts': {
    placeholder: '<list>',
    meaning: 'comma-separated host or host:port values that the Host header may have',
    fallback: undefined,
    fallbackText: 'loopback hosts when listening on loopback, otherwise any',
    parse: values.parseHosts,
  },
  'max-body-bytes': {
    placeholder: '<size>',
    meaning: 'largest request body; a larger one gets 413',
    fallback: '4MiB',
    parse: values.size({ minBytes: 1, maxBytes: limits.requestBodyBytesMax }),
  },
  'request-ids': {
    placeholder: '<mode>',
    meaning:
      'x-request-id of responses, log lines and requests to backends: make a new one, trust the one received, or off',
    fallback: 'make',
    parse: values.oneOf('make', 'trust', 'off'),
  },
} as const satisfies OptionTable;

export const protectedResourceOptions = {
  'public-url': {
    placeholder: '<url>',
    meaning: 'scheme, host and port at which clients reach this program, e.g. https://gateway.example',
    fallback: undefined,
    fallbackText: "from the request's Host, where hosts are checked",
    parse: values.parsePublicUrl,
  },
  'authorization-servers': {
    placeholder: '<list>',
    meaning: 'comma-separated issuers that clients without a token are referred to (RFC 9728)',
    fallback: undefined,
    fallbackText: 'the https issuers of --token-jwks-url',
    parse: values.parseIssuers,
  },
} as const satisfies OptionTable;

export const callerOptions = {
  'slow-reader-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a client may read nothing of its response before it is disconnected',
    fallback: '60s',
    parse: values.duration({ minMs: 1_000 }),
  },
} as const satisfies OptionTable;
