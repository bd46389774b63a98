// Every metric of the gateway. Workers collect figures; the primary sums them and adds its own. Tests compare docs/operations.md and
// deploy/ with this file.

/** The bucket bounds for requests: from a quick cache hit to a slow tool. */
export const LATENCY_BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** The bucket bounds for short times: what the gateway adds to a request, and how late the event loop is. */
export const GATEWAY_TIME_BOUNDS_S = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
];

export interface MetricFamily {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. */
  readonly boundsS?: readonly number[];
}

function counter(help: string, labels: readonly string[] = []) {
  return { type: 'counter', help, labels } as const;
}

function gauge(help: string, labels: readonly string[] = []) {
  return { type: 'gauge', help, labels } as const;
}

function histogram(help: string, boundsS: readonly number[], labels: readonly string[] = []) {
  return { type: 'histogram', help, labels, boundsS } as const;
}

export const metricFamilies = {
  switchyard_requests_total: counter('Requests that were answered, by MCP method, backend, HTTP status and outcome.', [
    'method',
    'backend',
    'status',
    'outcome',
  ]),
  switchyard_requests_in_flight: gauge('POST requests that are worked on.'),
  switchyard_streams: gauge('Event streams that clients have opened with GET.'),
  switchyard_refusals_total: counter('Requests that were refused, by the code of docs/errors.md.', ['code']),
  switchyard_request_seconds: histogram(
    'From the whole request to the whole answer, by MCP method; without streams that clients open.',
    LATENCY_BOUNDS_S,
    ['method'],
  ),
  switchyard_gateway_seconds: histogram(
    "The gateway's own share of requests that one backend answered: until the answer goes out, without the backend's time.",
    GATEWAY_TIME_BOUNDS_S,
  ),
  switchyard_backend_seconds: histogram("From a request's sending to its backend's answer.", LATENCY_BOUNDS_S, [
    'backend',
  ]),
  switchyard_backend_faults_total: counter('Failures of backends, by kind: of requests, and of opening a session.', [
    'backend',
    'kind',
    'during',
  ]),
  switchyard_backend_forgiven_total: counter(
    'Oddities of answers that were overlooked, by the origin of the backend and the kind of docs/mcp.md.',
    ['origin', 'kind'],
  ),
  switchyard_upstream_connections: gauge('Connections to backends, by what they are for.', ['use']),
  switchyard_sessions: gauge('Sessions of clients.'),
  switchyard_hops_total: counter(
    'Requests passed on to the worker that holds their session; of these, those that failed by reason.',
    ['result'],
  ),
  switchyard_store_reads_total: counter('Look-ups of user configs, by where the answer came from.', ['result']),
  switchyard_store_invalidations_total: counter('User configs forgotten because they may have changed.'),
  switchyard_token_verifications_total: counter(
    'Token verifications, by result; remembered ones had been verified as valid before.',
    ['result'],
  ),
  switchyard_spans_total: counter(
    'Spans for the collector of traces: exported, dropped because the queue was full, or failed because the collector did not accept them.',
    ['result'],
  ),
  switchyard_event_loop_delay_seconds: histogram(
    "How late a worker's timer was, ten times a second.",
    GATEWAY_TIME_BOUNDS_S,
    ['worker'],
  ),
  switchyard_memory_bytes: gauge("A worker's memory: resident, heap in use, and buffers outside of the heap.", [
    'worker',
    'kind',
  ]),
  switchyard_cpu_seconds_total: counter("A worker's CPU time.", ['worker']),
  switchyard_workers: gauge('Workers, by whether they listen.', ['state']),
  switchyard_worker_deaths_total: counter('Workers that ended unasked after they had listened.'),
  switchyard_workers_silent: gauge('Workers that gave no figures in time for this page.'),
  switchyard_ready: gauge('1 when the gateway is ready, as /ready says, else 0.'),
  switchyard_degraded: gauge(
    '1 for each code that /ready lists under degraded: requests are served, but something needs attention.',
    ['code'],
  ),
  switchyard_build_info: gauge('Always 1; the version of the primary process.', ['version']),
} satisfies Readonly<Record<string, MetricFamily>>;

export type MetricName = keyof typeof metricFamilies;

/** The label value for an unknown method, and for a backend or origin beyond the maximum number. */
export const OTHER_LABEL = 'other';
