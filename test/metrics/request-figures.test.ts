import { ClientNotificationSchema, ClientRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import t from 'tap';
import { metricFamilies } from '../../src/metrics/catalogue.js';
import { COUNTED_METHODS, RequestFigures, type RequestFigure } from '../../src/metrics/request-figures.js';
import type { Series } from '../../src/metrics/series.js';
import { isMethodOf } from '../../src/calls/targets.js';
import { limits } from '../../src/shared/limits.js';

const call: RequestFigure = {
  method: 'tools/call',
  backend: 'b',
  outcome: 'ok',
  status: 200,
  totalMs: 12,
  answeredMs: 11,
  backendMs: 10,
};

function counts(series: readonly Series[]): Record<string, number> {
  const requests = series.filter(({ name }) => name === 'switchyard_requests_total');
  return Object.fromEntries(requests.map(({ labels, value }) => [labels.join(' '), value]));
}

function histogram(series: readonly Series[], name: string, label = ''): Series | undefined {
  return series.find((item) => item.name === name && (item.labels[0] ?? '') === label);
}

t.test('a request is counted by its kind and its outcome', async (t) => {
  const figures = new RequestFigures();
  figures.record(call);
  figures.record(call);
  figures.record({ ...call, outcome: 'tool-error' });
  figures.record({ ...call, method: 'ping', backend: '', status: 200, backendMs: -1 });
  figures.record({ ...call, method: 'POST', backend: '', outcome: 'refused', status: 401, totalMs: -1, backendMs: -1 });
  figures.record({ ...call, outcome: 'gone', status: 0 });
  t.same(counts(figures.series()), {
    'tools/call b 200 ok': 2,
    'tools/call b 200 tool-error': 1,
    'ping  200 ok': 1,
    'POST  401 refused': 1,
    'tools/call b none gone': 1,
  });
});

t.test('times are recorded separately: the total, the backend’s, and the gateway’s own', async (t) => {
  const figures = new RequestFigures();
  figures.record(call);
  figures.record({ ...call, method: 'tools/list', backend: '', totalMs: 400, backendMs: -1 });
  const series = figures.series();
  t.equal(histogram(series, 'switchyard_request_seconds', 'tools/call')?.value, 0.012);
  t.equal(histogram(series, 'switchyard_request_seconds', 'tools/list')?.value, 0.4);
  t.equal(histogram(series, 'switchyard_backend_seconds', 'b')?.value, 0.01);
  const own = histogram(series, 'switchyard_gateway_seconds');
  t.same(own?.labels, []);
  t.equal(own?.value, 0.001);
  const bounds = metricFamilies.switchyard_gateway_seconds.boundsS;
  t.equal(own?.counts?.indexOf(1), bounds.indexOf(0.001), 'a bound is in its bucket');
  t.equal(own?.counts?.length, bounds.length + 1);
});

t.test('names that callers and configs make up do not add series', async (t) => {
  const figures = new RequestFigures();
  for (let n = 0; n < 3 * limits.metricBackendsMax; n++) {
    figures.record({ ...call, backend: `b${n}`, method: `made/up${n}` });
  }
  const labels = figures
    .series()
    .flatMap((series) => (series.name === 'switchyard_requests_total' ? [series.labels] : []));
  t.equal(new Set(labels.map(([method]) => method)).size, 1, 'one unknown method');
  t.ok(new Set(labels.map(([, backend]) => backend)).size <= limits.metricBackendsMax + 2);
  t.equal(figures.labelOf('one more'), 'other');
  t.equal(figures.labelOf('b0'), 'b0');
  const total = Object.values(counts(figures.series())).reduce((sum, value) => sum + value, 0);
  t.equal(total, 3 * limits.metricBackendsMax, 'and nothing is lost');
});

t.test('a report reads no cell that was never counted in', async (t) => {
  const figures = new RequestFigures();
  for (let n = 0; n < limits.metricBackendsMax; n++) figures.record({ ...call, backend: `b${n}` });
  const walks = t.capture(Float64Array.prototype, 'entries', Float64Array.prototype.entries.bind(new Float64Array()));
  t.equal(Object.keys(counts(figures.series())).length, limits.metricBackendsMax);
  t.equal(walks().length, 0);
});

t.test('every request that the relay knows has its own method', async (t) => {
  const messages = [...ClientRequestSchema.options, ...ClientNotificationSchema.options];
  const relayed = messages.map(({ shape }) => shape.method.value).filter((method) => isMethodOf('legacy', method));
  t.ok(relayed.length >= 15, relayed.join());
  const named: readonly string[] = COUNTED_METHODS;
  for (const method of [...relayed, 'tasks/update', 'server/discover', 'subscriptions/listen']) {
    t.ok(named.includes(method), method);
  }
});

t.test('what never happened has no series', async (t) => {
  const figures = new RequestFigures();
  t.same(figures.series(), []);
  figures.record({ ...call, backendMs: -1, totalMs: -1 });
  t.same(
    figures.series().map(({ name }) => name),
    ['switchyard_requests_total'],
  );
});

t.test('a backend’s quick, usual and slow answers can be told apart, and an answer at once is one', async (t) => {
  const figures = new RequestFigures();
  for (const ms of [1, 8, 70, 800, 20_000, 200_000]) {
    figures.record({ ...call, totalMs: ms, answeredMs: ms, backendMs: ms });
  }
  const series = figures.series();
  for (const name of ['switchyard_request_seconds', 'switchyard_backend_seconds']) {
    const counts = series.find((item) => item.name === name)?.counts ?? [];
    t.same(
      counts.filter((count) => count > 0),
      [1, 1, 1, 1, 1, 1],
      name,
    );
  }
  const own = histogram(series, 'switchyard_gateway_seconds');
  t.equal(own?.counts?.[0], 6, 'the gateway’s own share of each was nothing that could be measured');
});
