// All figures of one worker, and how they are reported. The hot ones are plain additions; the rest
// is looked up when the primary asks for a report.
import {
  OTHER,
  type Histogram,
  type Series,
  LabelCounter,
  SeriesSum,
  histogramSeries,
  RequestFigures,
} from '../metrics/index.js';
import type { SpanCounts } from '../observation/index.js';
import { limits } from '../shared/index.js';
import type { OriginView } from '../upstream/index.js';

/** Figures that other parts of the worker count themselves, read when a report is made. */
export interface FigureSources {
  readonly slot: number;
  readonly loopDelay: Histogram;
  sessionCount(): number;
  origins(): readonly Pick<OriginView, 'origin' | 'forgiven'>[];
  /** Connections to backends by purpose. */
  connections(): Readonly<Record<string, number>>;
  /** By source of the answer. */
  storeReads(): Readonly<Record<string, number>>;
  storeInvalidations(): number;
  /** By outcome. */
  tokenVerifications(): Readonly<Record<string, number>>;
  /** By outcome: exported, dropped, failed. */
  spans(): Readonly<SpanCounts>;
}

export class WorkerFigures {
  readonly requests = new RequestFigures();
  readonly refusals = new LabelCounter('switchyard_refusals_total');
  readonly failedHops = new LabelCounter('switchyard_hops_total');
  passedHops = 0;
  readonly #faults = new LabelCounter('switchyard_backend_faults_total');
  requestsInFlight = 0;
  streams = 0;

  countFault(backend: string, kind: string, during: 'request' | 'opening'): void {
    this.#faults.count(this.requests.labelOf(backend), kind, during);
  }

  report(sources: FigureSources): Series[] {
    const worker = String(sources.slot);
    return [
      ...this.requests.series(),
      ...this.refusals.series(),
      { name: 'switchyard_hops_total', labels: ['passed'], value: this.passedHops },
      ...this.failedHops.series(),
      ...this.#faults.series(),
      ...forgivenSeries(sources.origins()),
      { name: 'switchyard_requests_in_flight', labels: [], value: this.requestsInFlight },
      { name: 'switchyard_streams', labels: [], value: this.streams },
      { name: 'switchyard_sessions', labels: [], value: sources.sessionCount() },
      ...byLabel('switchyard_upstream_connections', sources.connections()),
      ...byLabel('switchyard_store_reads_total', sources.storeReads()),
      { name: 'switchyard_store_invalidations_total', labels: [], value: sources.storeInvalidations() },
      ...byLabel('switchyard_token_verifications_total', sources.tokenVerifications()),
      ...byLabel('switchyard_spans_total', { ...sources.spans() }),
      ...histogramSeries('switchyard_event_loop_delay_seconds', [worker], sources.loopDelay),
      ...processSeries(worker),
    ];
  }
}

function forgivenSeries(origins: readonly Pick<OriginView, 'origin' | 'forgiven'>[]): Iterable<Series> {
  const sum = new SeriesSum();
  const odd = origins.filter(({ forgiven }) => forgiven !== undefined);
  for (const [place, { origin, forgiven = {} }] of odd.entries()) {
    const shown = place < limits.metricBackendsMax ? origin : OTHER;
    for (const [kind, value] of Object.entries(forgiven))
      sum.add({ name: 'switchyard_backend_forgiven_total', labels: [shown, kind], value });
  }
  return sum.all;
}

function byLabel(name: Series['name'], values: Readonly<Record<string, number>>): Series[] {
  return Object.entries(values).map(([label, value]) => ({ name, labels: [label], value }));
}

function processSeries(worker: string): Series[] {
  const { rss, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  const memory = { resident: rss, heap: heapUsed, external };
  const name = 'switchyard_memory_bytes';
  return [
    ...Object.entries(memory).map(([kind, value]) => ({ name, labels: [worker, kind], value }) as const),
    { name: 'switchyard_cpu_seconds_total', labels: [worker], value: (user + system) / 1e6 },
  ];
}
