// A worker's figures about requests. Each backend has a typed array of counters: one for each method, outcome and status. Nothing that
// callers invent becomes a label. Hot path: a few additions at the end of each request.
import { limits } from '../shared/index.js';
import { LATENCY_BOUNDS_S, OTHER_LABEL, GATEWAY_TIME_BOUNDS_S } from './catalogue.js';
import { Histogram, type Series } from './series.js';

/** MCP's methods; `response`, `batch`, `GET` and `DELETE` for other requests; `POST` for those whose message was not parsed. */
export const COUNTED_METHODS = [
  OTHER_LABEL,
  'initialize',
  'ping',
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/cancel',
  'tasks/update',
  'server/discover',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/roots/list_changed',
  'response',
  'batch',
  'POST',
  'GET',
  'DELETE',
] as const;

/**
 * `tool-error`: a result with `isError`; `rpc-error`: a JSON-RPC error, of the backend or the gateway; `fault`: a backend failed;
 * `refused` before the message was processed; `gone`: the caller left before its answer.
 */
export const OUTCOMES = ['ok', 'tool-error', 'rpc-error', 'fault', 'refused', 'gone'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The HTTP statuses that are told apart. 0 stands for all others, and for none. */
const STATUSES = [0, 200, 202, 204, 400, 401, 403, 404, 405, 406, 413, 415, 429, 500, 503] as const;

const methodNumbers: ReadonlyMap<string, number> = new Map(COUNTED_METHODS.map((method, number) => [method, number]));
const outcomeNumbers: ReadonlyMap<string, number> = new Map(OUTCOMES.map((outcome, number) => [outcome, number]));
const statusNumbers = new Uint8Array(600);
for (const [number, status] of STATUSES.entries()) statusNumbers[status] = number;

const CELL_COUNT = COUNTED_METHODS.length * OUTCOMES.length * STATUSES.length;

export interface RequestFigure {
  readonly method: string;
  /** The backend that was asked; `''` if no backend, or more than one, was. */
  readonly backend: string;
  readonly outcome: Outcome;
  readonly status: number;
  /** Time from the whole request to the whole answer; -1 for a client's stream. */
  readonly totalMs: number;
  /** Time from the whole request until the answer was available; -1 if unknown. */
  readonly answeredMs: number;
  /** The backend's part of `answeredMs`; -1 if no backend, or more than one, was asked. */
  readonly backendMs: number;
}

class BackendFigures {
  readonly seconds = new Histogram(LATENCY_BOUNDS_S);
  readonly #counts = new Float64Array(CELL_COUNT);
  /** The indexes of the counts that are not 0: few of thousands. */
  readonly #usedCells: number[] = [];

  count(cell: number): void {
    if (this.#counts[cell] === 0) this.#usedCells.push(cell);
    this.#counts[cell]! += 1;
  }

  series(backend: string): Series[] {
    return this.#usedCells.map((cell) => countSeries(backend, cell, this.#counts[cell]!));
  }
}

export class RequestFigures {
  /** The figures by backend; `''` for requests to no backend. */
  readonly #backends = new Map<string, BackendFigures>();
  readonly #otherBackends = new BackendFigures();
  readonly #methodSeconds = COUNTED_METHODS.map(() => new Histogram(LATENCY_BOUNDS_S));
  readonly #gatewaySeconds = new Histogram(GATEWAY_TIME_BOUNDS_S);

  record({ method, backend, outcome, status, totalMs, answeredMs, backendMs }: RequestFigure): void {
    const figures = this.#figuresOf(backend);
    const methodNumber = methodNumbers.get(method) ?? 0;
    const row = methodNumber * OUTCOMES.length + (outcomeNumbers.get(outcome) ?? 0);
    figures.count(row * STATUSES.length + (statusNumbers[status] ?? 0));
    if (totalMs >= 0) this.#methodSeconds[methodNumber]!.observe(totalMs / 1_000);
    if (backendMs < 0) return;
    figures.seconds.observe(backendMs / 1_000);
    if (answeredMs >= backendMs) this.#gatewaySeconds.observe((answeredMs - backendMs) / 1_000);
  }

  /** The backend's label: its name, or `other` if there are too many backends. */
  labelOf(backend: string): string {
    return this.#figuresOf(backend) === this.#otherBackends ? OTHER_LABEL : backend;
  }

  series(): Series[] {
    const all = [...this.#backends, [OTHER_LABEL, this.#otherBackends] as const];
    return [
      ...all.flatMap(([backend, figures]) => figures.series(backend)),
      ...all.flatMap(([backend, { seconds }]) => histogramSeries('switchyard_backend_seconds', [backend], seconds)),
      ...COUNTED_METHODS.flatMap((method, number) =>
        histogramSeries('switchyard_request_seconds', [method], this.#methodSeconds[number]!),
      ),
      ...histogramSeries('switchyard_gateway_seconds', [], this.#gatewaySeconds),
    ];
  }

  #figuresOf(backend: string): BackendFigures {
    const known = this.#backends.get(backend);
    if (known !== undefined) return known;
    if (this.#backends.size > limits.metricBackendsMax) return this.#otherBackends;
    const figures = new BackendFigures();
    this.#backends.set(backend, figures);
    return figures;
  }
}

export function histogramSeries(
  name:
    | 'switchyard_backend_seconds'
    | 'switchyard_request_seconds'
    | 'switchyard_gateway_seconds'
    | 'switchyard_event_loop_delay_seconds',
  labels: readonly string[],
  histogram: Histogram,
): Series[] {
  return histogram.isEmpty ? [] : [{ name, labels, value: histogram.sum, counts: histogram.counts }];
}

function countSeries(backend: string, cell: number, value: number): Series {
  const row = Math.floor(cell / STATUSES.length);
  const method = COUNTED_METHODS[Math.floor(row / OUTCOMES.length)] ?? OTHER_LABEL;
  const outcome = OUTCOMES[row % OUTCOMES.length] ?? OTHER_LABEL;
  const status = STATUSES[cell % STATUSES.length] ?? 0;
  return {
    name: 'switchyard_requests_total',
    labels: [method, backend, status === 0 ? 'none' : String(status), outcome],
    value,
  };
}
