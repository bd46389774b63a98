// What a dataplane did between two samples of its figures: by worker, method and backend.
import type { Interval } from './figures.js';

export interface WorkerSample {
  /** The worker's slot: a number; if there are several dataplanes, `machine/slot`. */
  readonly slot: number | string;
  readonly pid: number | null;
  readonly state: string;
  readonly health: string;
  /** The version. This member and those below are absent if the worker does not answer. */
  readonly version?: string | undefined;
  readonly sessions?: number | undefined;
  readonly requestsInFlight?: number | undefined;
  readonly memory?: { readonly rssBytes: number } | undefined;
}

interface WorkerRow extends Pick<WorkerSample, 'slot' | 'pid' | 'state' | 'health'> {
  readonly version: string;
  readonly sessions: number;
  readonly requestsInFlight: number;
  /** How much of a processor the worker used; 1 is one core fully used. */
  readonly cpuShare: number;
  readonly rssBytes: number;
  readonly eventLoopDelayP99S: number | undefined;
}

/** The load of one method or backend. */
export interface LoadRow {
  readonly name: string;
  readonly requestsPerSecond: number;
  /** Requests with any outcome but `ok`. */
  readonly failuresPerSecond: number;
  readonly p50S: number | undefined;
  readonly p99S: number | undefined;
}

export interface DataplaneLoad {
  readonly isReady: boolean;
  readonly intervalS: number;
  readonly sessions: number;
  readonly streams: number;
  readonly requestsInFlight: number;
  readonly requestsPerSecond: number;
  readonly refusalsPerSecond: number;
  readonly gatewayP99S: number | undefined;
  readonly workers: readonly WorkerRow[];
  readonly methods: readonly LoadRow[];
  readonly backends: readonly LoadRow[];
}

export function loadOf(interval: Interval, workers: readonly WorkerSample[]): DataplaneLoad {
  const { after } = interval;
  const rows = workers.map(({ slot, pid, state, health, version = '', sessions = 0, requestsInFlight = 0, memory }) => {
    const worker = { worker: String(slot) };
    return {
      ...{ slot, pid, state, health, version, sessions, requestsInFlight },
      cpuShare: interval.perSecond('switchyard_cpu_seconds_total', worker),
      rssBytes: memory?.rssBytes ?? 0,
      eventLoopDelayP99S: interval.quantile('switchyard_event_loop_delay_seconds', 0.99, worker),
    };
  });
  return {
    isReady: after.sum('switchyard_ready') > 0,
    intervalS: interval.seconds,
    sessions: after.sum('switchyard_sessions'),
    streams: after.sum('switchyard_streams'),
    requestsInFlight: after.sum('switchyard_requests_in_flight'),
    requestsPerSecond: interval.perSecond('switchyard_requests_total'),
    refusalsPerSecond: interval.perSecond('switchyard_refusals_total'),
    gatewayP99S: interval.quantile('switchyard_gateway_seconds', 0.99),
    workers: rows,
    methods: loadRows(interval, 'method', 'switchyard_request_seconds'),
    backends: loadRows(interval, 'backend', 'switchyard_backend_seconds'),
  };
}

/** The methods or backends that had requests, the busiest first. */
function loadRows(interval: Interval, label: 'method' | 'backend', histogram: string): LoadRow[] {
  const total = 'switchyard_requests_total';
  const names = interval.after.valuesOf(total, label).filter((name) => name !== '');
  return names
    .map((name) => {
      const labels = { [label]: name };
      const requestsPerSecond = interval.perSecond(total, labels);
      const goodPerSecond = interval.perSecond(total, { ...labels, outcome: 'ok' });
      return {
        ...{ name, requestsPerSecond, failuresPerSecond: requestsPerSecond - goodPerSecond },
        p50S: interval.quantile(histogram, 0.5, labels),
        p99S: interval.quantile(histogram, 0.99, labels),
      };
    })
    .filter(({ requestsPerSecond }) => requestsPerSecond > 0)
    .sort((one, other) => other.requestsPerSecond - one.requestsPerSecond);
}
