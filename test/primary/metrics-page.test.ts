import t from 'tap';
import { metricFamilies } from '../../src/metrics/catalogue.js';
import type { Series } from '../../src/metrics/series.js';
import { MetricsPage } from '../../src/primary/metrics-page.js';
import { limits } from '../../src/shared/limits.js';

const requests = (backend: string, value: number): Series => {
  return { name: 'switchyard_requests_total', labels: ['tools/call', backend, '200', 'ok'], value };
};
const own: Series = {
  name: 'switchyard_gateway_seconds',
  labels: [],
  value: 0.5,
  counts: metricFamilies.switchyard_gateway_seconds.boundsS.map(() => 1).concat(2),
};

t.test('the page is text that Prometheus reads', async (t) => {
  const page = await new MetricsPage().render([requests('a"\n', 2), requests('a"\n', 3), own], '*/*');
  t.match(page.contentType, /^text\/plain; version=0\.0\.4/);
  const lines = page.body.split('\n');
  t.ok(lines.includes('# TYPE switchyard_requests_total counter'));
  t.ok(lines.includes('switchyard_requests_total{method="tools/call",backend="a\\"\\n",status="200",outcome="ok"} 5'));
  t.ok(lines.includes('switchyard_gateway_seconds_bucket{le="0.0001"} 1'));
  t.ok(lines.includes('switchyard_gateway_seconds_bucket{le="1.0"} 13'));
  t.ok(lines.includes('switchyard_gateway_seconds_bucket{le="+Inf"} 16'));
  t.ok(lines.includes('switchyard_gateway_seconds_sum 0.5'));
  t.ok(lines.includes('switchyard_gateway_seconds_count 16'));
  for (const [name, { type }] of Object.entries(metricFamilies)) {
    t.ok(lines.includes(`# TYPE ${name} ${type}`), `${name} is there, if only by name`);
  }
});

t.test('a label that a worker of another version leaves out is empty, which Prometheus reads as absent', async (t) => {
  const series: Series = { name: 'switchyard_requests_total', labels: ['tools/call', 'a', '200'], value: 2 };
  const { body } = await new MetricsPage().render([series], '*/*');
  t.match(body, 'switchyard_requests_total{method="tools/call",backend="a",status="200",outcome=""} 2\n');
});

t.test('the page is in OpenMetrics for a client that asks for it', async (t) => {
  const accept = 'application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5';
  const page = await new MetricsPage().render([requests('a', 2), own], accept);
  t.match(page.contentType, /^application\/openmetrics-text; version=1\.0\.0/);
  const lines = page.body.split('\n');
  t.ok(lines.includes('# TYPE switchyard_requests counter'));
  t.ok(lines.includes('switchyard_requests_total{method="tools/call",backend="a",status="200",outcome="ok"} 2'));
  t.ok(lines.includes('switchyard_gateway_seconds_count 16'));
  t.same(lines.slice(-2), ['# EOF', '']);
});

t.test('all workers together have no more backends than one worker may have', async (t) => {
  const page = new MetricsPage();
  const series = Array.from({ length: limits.metricBackendsMax + 5 }, (_, n) => requests(`b${n}`, 1));
  // A worker that has too many counts some of them as others itself.
  for (const order of [series, series.toReversed()]) {
    const { body } = await page.render([requests('other', 2), requests('', 3), ...order], '');
    t.match(body, /backend="",status="200",outcome="ok"} 3\n/, 'requests of no backend take no place');
    t.match(body, /backend="other",status="200",outcome="ok"} 7\n/);
    t.match(body, /backend="b0"/, 'who was told first stays');
  }
});

t.test('however many origins are odd, backends keep their names', async (t) => {
  const page = new MetricsPage();
  const odd = Array.from({ length: limits.metricBackendsMax + 5 }, (_, n): Series => ({
    name: 'switchyard_backend_forgiven_total',
    labels: [`https://b${n}.example`, 'status'],
    value: 1,
  }));
  const { body } = await page.render([...odd, requests('a', 1)], '');
  t.match(body, /backend_forgiven_total{origin="other",kind="status"} 5\n/);
  t.match(body, /backend="a",status="200",outcome="ok"} 1\n/);
});

t.test('the page is JSON for a client that takes nothing else', async (t) => {
  const page = await new MetricsPage().render([requests('a', 2), own], 'application/json');
  t.equal(page.contentType, 'application/json');
  const families = JSON.parse(page.body) as { name: string; values: { metricName?: string; value: number }[] }[];
  const valuesOf = (name: string) => families.find((family) => family.name === name)?.values;
  t.match(valuesOf('switchyard_requests_total'), [{ value: 2, labels: { backend: 'a' } }]);
  t.match(valuesOf('switchyard_gateway_seconds')?.at(-1), {
    metricName: 'switchyard_gateway_seconds_count',
    value: 16,
  });
});
