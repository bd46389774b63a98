// Options for processes: number, memory, logging, tracing and shutdown; and for what the control plane does on its own.
import { limits } from '../../shared/limits.js';
import { defaultWorkerCount } from '../machine-memory.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

export const workerOptions = {
  'worker-memory': {
    placeholder: '<size>',
    meaning: 'memory limit of one worker; as it is approached, first new sessions and then new requests get 503',
    fallback: undefined,
    fallbackText: "three quarters of the machine's or cgroup's memory, divided by the workers",
    parse: values.size({ minBytes: limits.workerMemoryBytesLeast, maxBytes: limits.shareBytesMax }),
  },
  'number-of-cpus': {
    placeholder: '<count>',
    meaning: 'number of workers',
    fallback: String(defaultWorkerCount()),
    fallbackText: "the number of processors, or the cgroup's quota, rounded up",
    parse: values.wholeNumber({ min: 1, max: limits.workersMax }),
  },
  'worker-hang-timeout': {
    placeholder: '<duration>',
    meaning: 'kill and replace a worker whose event loop has been blocked this long; 0s disables this',
    fallback: '10s',
    parse: values.duration({ minMs: 0 }),
  },
  'reload-timeout': {
    placeholder: '<duration>',
    meaning: 'how long after SIGHUP a replaced worker may take to finish requests in flight',
    fallback: '10m',
    parse: values.duration({ minMs: 0 }),
  },
  'drain-notice': {
    placeholder: '<duration>',
    meaning:
      'time between SIGTERM and the drain: /health is 503, requests are still served, and each response closes its connection',
    fallback: '0s',
    parse: values.duration({ minMs: 0 }),
  },
} as const satisfies OptionTable;

export const sessionDirectoryOptions = {
  'session-directory': {
    placeholder: '<place>',
    meaning: 'what sessions survive: process (the end of a worker), store (also a restart of the gateway), or none',
    fallback: 'process',
    parse: values.oneOf('process', 'store', 'none'),
  },
} as const satisfies OptionTable;

export const processOptions = {
  'session-idle-timeout': {
    placeholder: '<duration>',
    meaning: 'idle time after which a session and its upstream sessions end',
    fallback: '1h',
    parse: values.duration({ minMs: 1 }),
  },
  check: {
    placeholder: '[true|false]',
    meaning:
      'check the options, keys and files, print what would be used, and start nothing; exit status 0, 64 or 73 (embedded store)',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
  'log-level': {
    placeholder: '<level>',
    meaning: 'fatal, error, warn, info, debug, trace or silent; logs are JSON lines on standard output',
    fallback: 'info',
    parse: values.oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  },
  'access-log': {
    placeholder: '[true|false]',
    meaning: 'log one line per request, without arguments, tokens or whole session ids',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
  },
  'drain-timeout': {
    placeholder: '<duration>',
    meaning: 'how long requests in flight may take to finish after SIGTERM',
    fallback: '10s',
    parse: values.duration({ minMs: 0 }),
  },
} as const satisfies OptionTable;

export const traceOptions = {
  'traces-endpoint': {
    placeholder: '<url>',
    meaning: 'complete URL to send spans to (OTLP over HTTP, as JSON)',
    fallback: undefined,
    fallbackText: 'no tracing',
    parse: values.parseBaseUrl,
  },
  'traces-sample-ratio': {
    placeholder: '<share>',
    meaning: 'fraction of requests to trace, where the client has not decided',
    fallback: '1',
    parse: values.parseShare,
  },
} as const satisfies OptionTable;

export const controlPlaneMemoryOptions = {
  'control-plane-memory': {
    placeholder: '<size>',
    meaning: 'memory limit of the control plane; as it is approached, first new sessions and then new requests get 503',
    fallback: undefined,
    fallbackText: "three quarters of the machine's or cgroup's memory",
    parse: values.size({ minBytes: limits.controlPlaneMemoryBytesLeast, maxBytes: limits.shareBytesMax }),
  },
} as const satisfies OptionTable;

export const registryOptions = {
  'health-check-interval': {
    placeholder: '<duration>',
    meaning: 'time between two health checks of a registered server',
    fallback: '60s',
    parse: values.duration({ minMs: 10 }),
  },
  'probe-timeout': {
    placeholder: '<duration>',
    meaning: 'how long a probe of a server, which also reads its lists, may take',
    fallback: '10s',
    parse: values.duration({ minMs: 1 }),
  },
  'publication-wait': {
    placeholder: '<duration>',
    meaning: 'how long a change waits for all user configs to be written before it gets 202 and publishing continues',
    fallback: '10s',
    parse: values.duration({ minMs: 1 }),
  },
  'dataplane-admin-address': {
    placeholder: '<host:port>',
    meaning:
      "a dataplane's admin listener, from which the console and /dataplane get its state; queried without a token",
    fallback: undefined,
    fallbackText: 'none: the console shows nothing of the dataplane',
    parse: values.parseAdminAddress,
  },
  'audit-subjects': {
    placeholder: '<form>',
    meaning: 'how log lines about changes name subjects: hash, as everywhere else in the log, or plain',
    fallback: 'hash',
    parse: values.oneOf('hash', 'plain'),
  },
  'rate-limit': {
    placeholder: '<count>',
    meaning: 'requests per minute for one subject, or for one address without a valid token; 0 disables the limit',
    fallback: '600',
    parse: values.wholeNumber({ min: 0, max: limits.requestsPerMinuteMax }),
  },
} as const satisfies OptionTable;
