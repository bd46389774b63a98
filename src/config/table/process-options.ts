// The processes: how many, how much memory each may take, how they log and end, and what the control plane does by itself.
import { limits } from '../../shared/limits.js';
import { defaultWorkerCount } from '../machine-memory.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

export const workerOptions = {
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
    fallback: String(defaultWorkerCount()),
    fallbackText: "as many processors as the machine has, or the cgroup's quota, rounded up",
    parse: values.wholeNumber({ min: 1, max: limits.workersMax }),
  },
  'worker-hang-timeout': {
    placeholder: '<duration>',
    meaning: 'a worker whose event loop stands still for so long is killed and replaced; 0 for never',
    fallback: '10s',
    parse: values.duration({ minMs: 0 }),
  },
  'reload-timeout': {
    placeholder: '<duration>',
    meaning: 'how long after SIGHUP a worker that was replaced may take to finish what is in flight',
    fallback: '10m',
    parse: values.duration({ minMs: 0 }),
  },
  'drain-notice': {
    placeholder: '<duration>',
    meaning:
      'how long after SIGTERM everything is still served, by answers that close their connections, while /health is 503, before the drain begins',
    fallback: '0s',
    parse: values.duration({ minMs: 0 }),
  },
} as const satisfies OptionTable;

export const sessionDirectoryOptions = {
  'session-directory': {
    placeholder: '<place>',
    meaning: 'where sessions are written down: process outlives a worker, store also the gateway, none nothing',
    fallback: 'process',
    parse: values.oneOf('process', 'store', 'none'),
  },
} as const satisfies OptionTable;

export const processOptions = {
  'session-idle-timeout': {
    placeholder: '<duration>',
    meaning: 'idle sessions end after this, and their upstream sessions with them',
    fallback: '1h',
    parse: values.duration({ minMs: 1 }),
  },
  check: {
    placeholder: '[true|false]',
    meaning: 'read the options, keys and files, say what would be, and start nothing; exit status 0 or 64',
    fallback: 'false',
    textAlone: 'true',
    parse: values.parseSwitch,
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

export const traceOptions = {
  'traces-endpoint': {
    placeholder: '<url>',
    meaning: 'whole URL that spans of requests are sent to: OTLP over HTTP, as JSON',
    fallback: undefined,
    fallbackText: 'nothing is traced',
    parse: values.parseBaseUrl,
  },
  'traces-sample-ratio': {
    placeholder: '<share>',
    meaning: 'share of requests that are traced, of those whose client has not decided that',
    fallback: '1',
    parse: values.parseShare,
  },
} as const satisfies OptionTable;

export const controlPlaneMemoryOptions = {
  'control-plane-memory': {
    placeholder: '<size>',
    meaning: 'memory that the control plane may take; short of it, new sessions and then new requests are answered 503',
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
  'dataplane-admin-address': {
    placeholder: '<host:port>',
    meaning:
      'the admin listener of a dataplane, from which what happens there is told (/dataplane, and the console); asked without a token',
    fallback: undefined,
    fallbackText: 'none: nothing of it is told',
    parse: values.parseAdminAddress,
  },
  'audit-subjects': {
    placeholder: '<form>',
    meaning:
      'how the log names subjects where it tells a change and who made it: hash, as everywhere in the log, or plain',
    fallback: 'hash',
    parse: values.oneOf('hash', 'plain'),
  },
  'rate-limit': {
    placeholder: '<count>',
    meaning: 'requests a minute of one subject, or of one address without a valid token; 0 for any number',
    fallback: '600',
    parse: values.wholeNumber({ min: 0, max: limits.requestsPerMinuteMax }),
  },
} as const satisfies OptionTable;
