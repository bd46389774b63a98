// A worker's report: what it counted, and what was overlooked in backends' answers, by origin and kind, and never more origins than other
// labels have values.
import t from 'tap';
import { GATEWAY_TIME_BOUNDS_S } from '../../src/metrics/catalogue.js';
import { Histogram, type Series } from '../../src/metrics/series.js';
import { limits } from '../../src/shared/limits.js';
import { WorkerFigures } from '../../src/worker/worker-figures.js';

type Sources = Parameters<WorkerFigures['report']>[0];

function reportOf(figures: WorkerFigures, changes: Partial<Sources['relay']> = {}): Series[] {
  const loopDelay = new Histogram(GATEWAY_TIME_BOUNDS_S);
  loopDelay.observe(1);
  return figures.report({
    slot: 3,
    loopDelay,
    relay: { sessionCount: 0, origins: [], ...changes },
    backends: { counts: { calls: 2 } },
    storeCounts: { reads: { store: 3 }, invalidations: 4 },
    tokens: { counts: { valid: 5 } },
    tracer: undefined,
  });
}

t.test('a worker’s report has what it counted, each under its name', async (t) => {
  const figures = new WorkerFigures();
  Object.assign(figures, { forwardedHops: 6, requestsInFlight: 7, streams: 8 });
  figures.failedHops.count('owner-lost');
  const series = reportOf(figures, { sessionCount: 9 });
  for (const [name, labels, value] of [
    ['hops_total', ['passed'], 6],
    ['hops_total', ['owner-lost'], 1],
    ['requests_in_flight', [], 7],
    ['streams', [], 8],
    ['sessions', [], 9],
    ['upstream_connections', ['calls'], 2],
    ['store_reads_total', ['store'], 3],
    ['store_invalidations_total', [], 4],
    ['token_verifications_total', ['valid'], 5],
  ] as const) {
    const told = series.filter((one) => one.name === `switchyard_${name}` && one.labels.join() === labels.join());
    t.match(told, [{ value }], `${name} ${labels.join()}`);
    t.equal(told.length, 1, name);
  }
  const ofWorker = series.filter(({ name }) => /event_loop_delay|memory_bytes|cpu_seconds/.test(name));
  t.strictSame(
    ofWorker.map(({ labels }) => labels.join()),
    ['3', '3,resident', '3,heap', '3,external', '3'],
    'by the number of its slot',
  );
});

t.test('what was overlooked is counted by origin and kind, of many origins together', async (t) => {
  const origins = Array.from({ length: limits.metricBackendsMax + 2 }, (_, place) => ({
    origin: `https://b${place}.example`,
    forgiven: { status: place + 1 },
  }));
  const sound = { origin: 'https://sound.example', forgiven: undefined };
  const series = reportOf(new WorkerFigures(), { origins: [sound, ...origins] });
  const told = series.filter(({ name }) => name === 'switchyard_backend_forgiven_total');
  t.strictSame(told[0], {
    name: 'switchyard_backend_forgiven_total',
    labels: ['https://b0.example', 'status'],
    value: 1,
  });
  const { metricBackendsMax: many } = limits;
  const others = told.filter(({ labels }) => labels[0] === 'other').map(({ value }) => value);
  t.strictSame(others, [many + 1 + many + 2], 'as one, however many they are');
  t.notOk(told.some(({ labels }) => labels[0] === 'https://sound.example'));
});
