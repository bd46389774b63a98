// What a dataplane did between two readings, as `switchyard top` and the console show it.
import t from 'tap';
import { loadOf, type DataplaneLoad, type WorkerSample } from '../../src/metrics/dataplane-load.js';
import { Figures, Interval } from '../../src/metrics/figures.js';

interface Counted {
  readonly method: string;
  readonly backend: string;
  readonly outcome?: string;
  readonly count: number;
  /** The upper bound of the bucket in which all of them are. */
  readonly boundS: number;
}

const BOUNDS_S = [0.01, 0.1, 1];

/** A reading after these requests; the series are as the admin listener writes them. */
function reading(atMs: number, counted: readonly Counted[], more: Readonly<Record<string, number>> = {}): Figures {
  const buckets = (name: string, label: 'method' | 'backend') => ({
    name,
    values: counted.flatMap((item) =>
      [...BOUNDS_S, Infinity].map((boundS) => ({
        metricName: `${name}_bucket`,
        labels: { [label]: item[label], le: boundS === Infinity ? '+Inf' : boundS },
        value: boundS >= item.boundS ? item.count : 0,
      })),
    ),
  });
  const requests = counted.map(({ method, backend, outcome = 'ok', count }) => ({
    labels: { method, backend, outcome, status: 200 },
    value: count,
  }));
  return new Figures(
    [
      { name: 'switchyard_requests_total', values: requests },
      buckets('switchyard_request_seconds', 'method'),
      buckets('switchyard_backend_seconds', 'backend'),
      ...Object.entries(more).map(([name, value]) => ({ name, values: [{ labels: { worker: 0 }, value }] })),
    ],
    atMs,
  );
}

function load(before: Figures, now: Figures, workers: readonly WorkerSample[] = []): DataplaneLoad {
  return loadOf(new Interval(before, now), workers);
}

t.test('rates and times are of the interval, by method and by backend, the busiest first', async (t) => {
  const before = reading(10_000, [{ method: 'ping', backend: '', count: 7, boundS: 0.01 }]);
  const now = reading(14_000, [
    { method: 'ping', backend: '', count: 7, boundS: 0.01 },
    { method: 'tools/list', backend: 'slow', count: 4, boundS: 1 },
    { method: 'tools/call', backend: 'quick', count: 40, boundS: 0.1 },
    { method: 'tools/call', backend: 'quick', outcome: 'fault', count: 20, boundS: 0.1 },
  ]);
  const { intervalS, requestsPerSecond, methods, backends } = load(before, now);
  t.equal(intervalS, 4);
  t.equal(requestsPerSecond, 16);
  t.match(methods, [
    { name: 'tools/call', requestsPerSecond: 15, failuresPerSecond: 5 },
    { name: 'tools/list', requestsPerSecond: 1, failuresPerSecond: 0 },
  ]);
  t.same(
    backends.map(({ name }) => name),
    ['quick', 'slow'],
    'requests to no backend have no row',
  );
  for (const rows of [methods, backends]) {
    t.same(
      rows.map(({ p50S }) => p50S?.toFixed(3)),
      ['0.055', '0.550'],
      'each has its own times',
    );
  }
});

t.test('times are of what was answered in the interval, and after a restart there are none before it', async (t) => {
  const slow = { method: 'tools/call', backend: 'b', count: 100, boundS: 1 };
  const quick = { ...slow, count: 10, boundS: 0.01 };
  const { methods, backends } = load(reading(0, [slow]), reading(1_000, [slow, quick]));
  for (const [row] of [methods, backends]) {
    t.match(row, { requestsPerSecond: 10 });
    t.equal(row?.p50S?.toFixed(3), '0.005', 'what was slow before does not count');
  }
  const medium = { ...slow, count: 30, boundS: 0.1 };
  const { p50S } = load(reading(0, []), reading(1_000, [quick, medium])).methods[0]!;
  t.equal(p50S?.toFixed(3), '0.040', 'a third of the way through the second bucket');
  const restarted = new Interval(reading(0, [slow]), reading(1_000, [{ ...slow, count: 1 }]));
  t.equal(restarted.perSecond('switchyard_requests_total'), 0);
  t.equal(restarted.quantile('switchyard_request_seconds', 0.5), undefined);
});

t.test('gauges are as they are now, and a worker has the figures that it reports', async (t) => {
  const before = reading(0, [], { switchyard_cpu_seconds_total: 3, switchyard_refusals_total: 5 });
  const now = reading(2_000, [], {
    ...{ switchyard_cpu_seconds_total: 4, switchyard_refusals_total: 9, switchyard_ready: 1 },
    ...{ switchyard_sessions: 12, switchyard_streams: 3, switchyard_requests_in_flight: 2 },
  });
  const answer = load(before, now, [
    { slot: 0, pid: 7, state: 'listening', health: 'ok', version: '1', sessions: 12, memory: { rssBytes: 99 } },
    { slot: 1, pid: null, state: 'starting', health: 'absent' },
  ]);
  t.match(answer, { isReady: true, sessions: 12, streams: 3, requestsInFlight: 2, refusalsPerSecond: 2 });
  t.match(answer.workers, [
    { slot: 0, cpuShare: 0.5, rssBytes: 99, version: '1', sessions: 12 },
    { slot: 1, cpuShare: 0, rssBytes: 0, version: '', sessions: 0, requestsInFlight: 0 },
  ]);
});

t.test('two readings at the same moment have no rates', async (t) => {
  const before = reading(5, [{ method: 'ping', backend: '', count: 1, boundS: 0.01 }]);
  const now = reading(5, [{ method: 'ping', backend: '', count: 9, boundS: 0.01 }]);
  t.match(load(before, now), { requestsPerSecond: 0, methods: { length: 0 } });
});
