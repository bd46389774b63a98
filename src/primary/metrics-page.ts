// `/metrics`: the figures in Prometheus' text format, in OpenMetrics, or as JSON for `switchyard top`. The only module that uses prom-
// client, which is loaded with the first request. Cold path.
import {
  metricFamilies,
  OTHER_LABEL,
  type MetricFamily,
  type MetricName,
  SeriesSum,
  type Series,
} from '../metrics/index.js';
import { limits } from '../shared/index.js';
import type { AdminPage } from './admin-server.js';

const JSON_TYPE = 'application/json';

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export class MetricsPage {
  /** The first label values to arrive: each worker bounds its own, but together they may have more. */
  readonly #shown = { backend: new Set<string>(), origin: new Set<string>() };

  async write(series: Iterable<Series>, accept: string): Promise<AdminPage> {
    const { default: prom } = await import('prom-client');
    const isOpenMetrics = accept.includes('application/openmetrics-text');
    const { OPENMETRICS_CONTENT_TYPE, PROMETHEUS_CONTENT_TYPE } = prom.Registry;
    const contentType = isOpenMetrics ? OPENMETRICS_CONTENT_TYPE : PROMETHEUS_CONTENT_TYPE;
    const bounded = new SeriesSum();
    for (const item of series) bounded.add(this.#bound(item));
    const families = new Map<MetricName, Series[]>();
    for (const item of bounded.all) {
      const known = families.get(item.name);
      if (known === undefined) families.set(item.name, [item]);
      else known.push(item);
    }
    const metrics = (Object.keys(metricFamilies) as MetricName[]).map((name) =>
      metricOf(name, families.get(name) ?? [], isOpenMetrics),
    );
    const registry = prom.AggregatorRegistry.aggregate([metrics]);
    if (accept === JSON_TYPE) {
      return { status: 200, contentType: JSON_TYPE, body: JSON.stringify(await registry.getMetricsAsJSON()) };
    }
    registry.setContentType(contentType);
    return { status: 200, contentType, body: await registry.metrics() };
  }

  #bound(series: Series): Series {
    const { labels } = metricFamilies[series.name];
    const label = labels.find((each) => each === 'backend' || each === 'origin');
    if (label === undefined) return series;
    const index = labels.findIndex((each) => each === label);
    const name = series.labels[index];
    if (name === undefined || name === '' || name === OTHER_LABEL || this.#isShown(label, name)) return series;
    return { ...series, labels: series.labels.map((each, at) => (at === index ? OTHER_LABEL : each)) };
  }

  #isShown(label: 'backend' | 'origin', name: string): boolean {
    const shown = this.#shown[label];
    if (shown.size < limits.metricBackendsMax) shown.add(name);
    return shown.has(name);
  }
}

/** As prom-client passes metrics between processes. */
function metricOf(name: MetricName, series: readonly Series[], isOpenMetrics: boolean): object {
  const family: MetricFamily = metricFamilies[name];
  const values = series.flatMap((item) => samplesOf(name, family, item, isOpenMetrics));
  // In OpenMetrics, prom-client adds a counter's suffix to its samples.
  const written = isOpenMetrics ? name.replace(/_total$/, '') : name;
  return { name: written, help: family.help, type: family.type, aggregator: 'sum', values };
}

function samplesOf(name: MetricName, family: MetricFamily, series: Series, isOpenMetrics: boolean): Sample[] {
  const labels = Object.fromEntries(family.labels.map((label, index) => [label, series.labels[index] ?? '']));
  if (series.counts === undefined) {
    const metricName = isOpenMetrics && family.type === 'counter' ? name.replace(/_total$/, '') : name;
    return [{ metricName, labels, value: series.value }];
  }
  let below = 0;
  const buckets = series.counts.map((count, bucket) => {
    below += count;
    const bound = family.boundsS?.[bucket];
    return { metricName: `${name}_bucket`, labels: { ...labels, le: boundText(bound) }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: series.value },
    { metricName: `${name}_count`, labels, value: below },
  ];
}

/** OpenMetrics requires `1.0`, and Prometheus accepts it. */
function boundText(bound: number | undefined): string {
  if (bound === undefined) return '+Inf';
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}
