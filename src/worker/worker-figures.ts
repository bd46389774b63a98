// All figures of one worker. The hot ones are plain additions; the others are read when the primary asks for a report.
import { heapMemory, residentBytes } from '../fair/index.js';
import {
  OTHER_LABEL,
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

/** Figures that other parts of the worker count. */
export interface FigureSources {
  readonly slot: number;
  readonly loopDelay: Histogram;
  readonly relay: {
    readonly sessionCount: number;
    readonly origins: readonly Pick<OriginView, 'origin' | 'forgiven'>[];
  };
  /** Connections to backends, counted by purpose. */
  readonly backends: Counts;
  /** Reads of the store, counted by the source of the answer; and how often a cached config was dropped. */
  readonly storeCounts: { readonly reads: Counts['counts']; readonly invalidations: number };
  /** Verifications of tokens, counted by outcome. */
  readonly tokens: Counts;
  readonly tracer: { readonly counts: SpanCounts } | undefined;
}

interface Counts {
  readonly counts: Readonly<Record<string, number>>;
}

const NO_SPANS: SpanCounts = { exported: 0, dropped: 0, failed: 0 };

export class WorkerFigures {
  readonly requests = new RequestFigures();
  readonly refusals = new LabelCounter('switchyard_refusals_total');
  readonly failedHops = new LabelCounter('switchyard_hops_total');
  forwardedHops = 0;
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
      { name: 'switchyard_hops_total', labels: ['passed'], value: this.forwardedHops },
      ...this.failedHops.series(),
      ...this.#faults.series(),
      ...forgivenSeries(sources.relay.origins),
      { name: 'switchyard_requests_in_flight', labels: [], value: this.requestsInFlight },
      { name: 'switchyard_streams', labels: [], value: this.streams },
      { name: 'switchyard_sessions', labels: [], value: sources.relay.sessionCount },
      ...seriesByLabel('switchyard_upstream_connections', sources.backends.counts),
      ...seriesByLabel('switchyard_store_reads_total', sources.storeCounts.reads),
      { name: 'switchyard_store_invalidations_total', labels: [], value: sources.storeCounts.invalidations },
      ...seriesByLabel('switchyard_token_verifications_total', sources.tokens.counts),
      ...seriesByLabel('switchyard_spans_total', { ...(sources.tracer?.counts ?? NO_SPANS) }),
      ...histogramSeries('switchyard_event_loop_delay_seconds', [worker], sources.loopDelay),
      ...processSeries(worker),
    ];
  }
}

function forgivenSeries(origins: readonly Pick<OriginView, 'origin' | 'forgiven'>[]): Iterable<Series> {
  const sum = new SeriesSum();
  const withForgiven = origins.filter(({ forgiven }) => forgiven !== undefined);
  for (const [index, { origin, forgiven = {} }] of withForgiven.entries()) {
    const label = index < limits.metricBackendsMax ? origin : OTHER_LABEL;
    for (const [kind, value] of Object.entries(forgiven))
      sum.add({ name: 'switchyard_backend_forgiven_total', labels: [label, kind], value });
  }
  return sum.all;
}

function seriesByLabel(name: Series['name'], values: Readonly<Record<string, number>>): Series[] {
  return Object.entries(values).map(([label, value]) => ({ name, labels: [label], value }));
}

function processSeries(worker: string): Series[] {
  const { heapUsed, external } = heapMemory();
  const { user, system } = process.cpuUsage();
  const memory = { resident: residentBytes(), heap: heapUsed, external };
  const name = 'switchyard_memory_bytes';
  return [
    ...Object.entries(memory).map(([kind, value]) => ({ name, labels: [worker, kind], value }) as const),
    { name: 'switchyard_cpu_seconds_total', labels: [worker], value: (user + system) / 1e6 },
  ];
}
