// Every metric of the gateway. Workers collect figures; the primary sums them and adds its own. Tests compare docs/operations.md and
// deploy/ with this file.

/** For requests: from a quick cache hit to a slow tool. */
export const LATENCY_BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** For the gateway's own share and the event loop's delay, which are short. */
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

export const metricFamilies = {
  switchyard_requests_total: {
    type: 'counter',
    help: 'Requests that were answered, by MCP method, backend, HTTP status and outcome.',
    labels: ['method', 'backend', 'status', 'outcome'],
  },
  switchyard_requests_in_flight: { type: 'gauge', help: 'POST requests that are worked on.', labels: [] },
  switchyard_streams: { type: 'gauge', help: 'Event streams that clients have opened with GET.', labels: [] },
  switchyard_refusals_total: {
    type: 'counter',
    help: 'Requests that were refused, by the code of docs/errors.md.',
    labels: ['code'],
  },
  switchyard_request_seconds: {
    type: 'histogram',
    help: 'From the whole request to the whole answer, by MCP method; without streams that clients open.',
    labels: ['method'],
    boundsS: LATENCY_BOUNDS_S,
  },
  switchyard_gateway_seconds: {
    type: 'histogram',
    help: "The gateway's own share of requests that one backend answered: until the answer goes out, without the backend's time.",
    labels: [],
    boundsS: GATEWAY_TIME_BOUNDS_S,
  },
  switchyard_backend_seconds: {
    type: 'histogram',
    help: "From a request's sending to its backend's answer.",
    labels: ['backend'],
    boundsS: LATENCY_BOUNDS_S,
  },
  switchyard_backend_faults_total: {
    type: 'counter',
    help: 'Failures of backends, by kind: of requests, and of opening a session.',
    labels: ['backend', 'kind', 'during'],
  },
  switchyard_backend_forgiven_total: {
    type: 'counter',
    help: 'Oddities of answers that were overlooked, by the origin of the backend and the kind of docs/mcp.md.',
    labels: ['origin', 'kind'],
  },
  switchyard_upstream_connections: {
    type: 'gauge',
    help: 'Connections to backends, by what they are for.',
    labels: ['use'],
  },
  switchyard_sessions: { type: 'gauge', help: 'Sessions of clients.', labels: [] },
  switchyard_hops_total: {
    type: 'counter',
    help: 'Requests passed on to the worker that holds their session; of these, those that failed by reason.',
    labels: ['result'],
  },
  switchyard_store_reads_total: {
    type: 'counter',
    help: 'Look-ups of user configs, by where the answer came from.',
    labels: ['result'],
  },
  switchyard_store_invalidations_total: {
    type: 'counter',
    help: 'User configs forgotten because they may have changed.',
    labels: [],
  },
  switchyard_token_verifications_total: {
    type: 'counter',
    help: 'Token verifications, by result; remembered ones had been verified as valid before.',
    labels: ['result'],
  },
  switchyard_spans_total: {
    type: 'counter',
    help: 'Spans for the collector of traces: exported, dropped because the queue was full, or failed because the collector did not accept them.',
    labels: ['result'],
  },
  switchyard_event_loop_delay_seconds: {
    type: 'histogram',
    help: "How late a worker's timer was, ten times a second.",
    labels: ['worker'],
    boundsS: GATEWAY_TIME_BOUNDS_S,
  },
  switchyard_memory_bytes: {
    type: 'gauge',
    help: "A worker's memory: resident, heap in use, and buffers outside of the heap.",
    labels: ['worker', 'kind'],
  },
  switchyard_cpu_seconds_total: { type: 'counter', help: "A worker's CPU time.", labels: ['worker'] },
  switchyard_workers: { type: 'gauge', help: 'Workers, by whether they listen.', labels: ['state'] },
  switchyard_worker_deaths_total: {
    type: 'counter',
    help: 'Workers that ended unasked after they had listened.',
    labels: [],
  },
  switchyard_workers_silent: { type: 'gauge', help: 'Workers that gave no figures in time for this page.', labels: [] },
  switchyard_ready: { type: 'gauge', help: '1 when the gateway is ready, as /ready says, else 0.', labels: [] },
  switchyard_degraded: {
    type: 'gauge',
    help: '1 for each code that /ready lists under degraded: requests are served, but something needs attention.',
    labels: ['code'],
  },
  switchyard_build_info: { type: 'gauge', help: 'Always 1; the version of the primary process.', labels: ['version'] },
} as const satisfies Readonly<Record<string, MetricFamily>>;

export type MetricName = keyof typeof metricFamilies;

/** For what has no label of its own: an unknown method, or a backend beyond the maximum number. */
export const OTHER_LABEL = 'other';
