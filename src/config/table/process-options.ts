// Options for processes: number, memory, logging, tracing and shutdown; and for the control plane's own work.
import { LOG_LEVELS, MIB } from '../../shared/index.js';
import {
  WORKERS_MAX,
  WORKER_MEMORY_BYTES_MIN,
  defaultWorkerCount,
  defaultWorkerMemoryBytes,
} from '../machine-memory.js';
import { option, section } from '../option.js';
import {
  duration,
  positiveMs,
  anyMs,
  oneOf,
  parseAdminAddress,
  parseBaseUrl,
  parseFraction,
  parseSwitch,
  size,
  wholeNumber,
} from '../values.js';

const workerCount = option('number-of-cpus <count>', 'number of workers', wholeNumber({ min: 1, max: WORKERS_MAX }), {
  text: "the number of processors, or the cgroup's quota, rounded up",
  derive: () => defaultWorkerCount(),
});

export const workerOptions = {
  workerMemoryBytes: option(
    'worker-memory <size>',
    'memory limit of one worker; as it is approached, first new sessions and then new requests get 503',
    size({ minBytes: WORKER_MEMORY_BYTES_MIN }),
    {
      text: "three quarters of the machine's or cgroup's memory, divided by the workers",
      derive: (reader) => defaultWorkerMemoryBytes(reader.resolve(workerCount)),
    },
  ),
  workerCount,
  workerHangTimeoutMs: option(
    'worker-hang-timeout <duration>',
    'kill and replace a worker whose event loop has been blocked this long; 0s disables this',
    anyMs,
    '10s',
  ),
  reloadTimeoutMs: option(
    'reload-timeout <duration>',
    'how long after SIGHUP a replaced worker may take to finish requests in flight',
    anyMs,
    '10m',
  ),
  drainNoticeMs: option(
    'drain-notice <duration>',
    'time between SIGTERM and the drain: /health is 503, requests are still served, and each response closes its connection',
    anyMs,
    '0s',
  ),
};

export const sessionDirectory = option(
  'session-directory <place>',
  'what sessions survive: process (the end of a worker), store (also a restart of the gateway), or none',
  oneOf('process', 'store', 'none'),
  'process',
);

export const processOptions = {
  sessionIdleTimeoutMs: option(
    'session-idle-timeout <duration>',
    'idle time after which a session and its upstream sessions end',
    positiveMs,
    '1h',
  ),
  isCheckOnly: option(
    'check [true|false]',
    'check the options, keys and files, print what would be used, and start nothing; exit status 0, 64 or 73 (embedded store)',
    parseSwitch,
    'false',
  ),
  logLevel: option(
    'log-level <level>',
    'fatal, error, warn, info, debug, trace or silent; logs are JSON lines on standard output',
    oneOf(...LOG_LEVELS),
    'info',
  ),
  accessLog: option(
    'access-log [true|false]',
    'log one line per request, without arguments, tokens or whole session ids',
    parseSwitch,
    'false',
  ),
  drainTimeoutMs: option(
    'drain-timeout <duration>',
    'how long requests in flight may take to finish after SIGTERM',
    anyMs,
    '10s',
  ),
};

/** Where traces are sent, and how many; `undefined` when nothing is traced. */
export const traceOptions = section(
  {
    endpoint: option('traces-endpoint <url>', 'complete URL to send spans to (OTLP over HTTP, as JSON)', parseBaseUrl, {
      text: 'no tracing',
    }),
    sampleRatio: option(
      'traces-sample-ratio <share>',
      'fraction of requests to trace, where the client has not decided',
      parseFraction,
      '1',
    ),
  },
  { combine: ({ endpoint, sampleRatio }) => (endpoint === undefined ? undefined : { endpoint, sampleRatio }) },
);

export const controlPlaneMemory = option(
  'control-plane-memory <size>',
  'memory limit of the control plane; as it is approached, first new sessions and then new requests get 503',
  // Even without registered servers, the control plane uses almost half of this minimum.
  size({ minBytes: 256 * MIB }),
  { text: "three quarters of the machine's or cgroup's memory", derive: () => defaultWorkerMemoryBytes(1) },
);

export const registryOptions = {
  healthCheckIntervalMs: option(
    'health-check-interval <duration>',
    'time between two health checks of a registered server',
    duration({ minMs: 10 }),
    '60s',
  ),
  probeTimeoutMs: option(
    'probe-timeout <duration>',
    'how long a probe of a server, which also reads its lists, may take',
    positiveMs,
    '10s',
  ),
  publicationWaitMs: option(
    'publication-wait <duration>',
    'how long a change waits for all user configs to be written before it gets 202 and publishing continues',
    positiveMs,
    '10s',
  ),
  dataplaneAdmin: option(
    'dataplane-admin-address <host:port>',
    "a dataplane's admin listener, from which the console and /dataplane get its state; queried without a token; a name with several addresses stands for several dataplanes",
    parseAdminAddress,
    { text: 'none: the console shows nothing of the dataplane' },
  ),
  auditSubjects: option(
    'audit-subjects <form>',
    'how log lines about changes name subjects: hash, as everywhere else in the log, or plain',
    oneOf('hash', 'plain'),
    'hash',
  ),
  requestsPerMinuteMax: option(
    'rate-limit <count>',
    'requests per minute for one subject, or for one address without a valid token; 0 disables the limit',
    wholeNumber({ min: 0, max: 1_000_000 }),
    '600',
  ),
};
