// A worker's report of what was overlooked in backends' answers: by origin and kind, and never more origins than other labels have values.
import t from 'tap';
import { GATEWAY_TIME_BOUNDS_S } from '../../src/metrics/catalogue.js';
import { Histogram } from '../../src/metrics/series.js';
import { limits } from '../../src/shared/limits.js';
import { WorkerFigures } from '../../src/worker/worker-figures.js';

t.test('what was overlooked is counted by origin and kind, of many origins together', async (t) => {
  const origins = Array.from({ length: limits.metricBackendsMax + 2 }, (_, place) => ({
    origin: `https://b${place}.example`,
    forgiven: { status: place + 1 },
  }));
  const series = new WorkerFigures().report({
    slot: 0,
    loopDelay: new Histogram(GATEWAY_TIME_BOUNDS_S),
    relay: { sessionCount: 0, origins: [{ origin: 'https://sound.example', forgiven: undefined }, ...origins] },
    backends: { counts: {} },
    storeCounts: { reads: {}, invalidations: 0 },
    tokens: { counts: {} },
    tracer: undefined,
  });
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
