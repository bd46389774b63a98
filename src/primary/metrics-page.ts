// `/metrics`: the figures in Prometheus' text format, in OpenMetrics, or as JSON for `switchyard top`. The only module that uses
// `prom-client`, which is loaded with the first request. Cold path.
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
  /** By label, the names that are shown: the first `limits.metricBackendsMax` that occurred. The figures of all others are added up. */
  readonly #shownNames = new Map<string, Set<string>>([
    ['backend', new Set()],
    ['origin', new Set()],
  ]);

  async render(series: Iterable<Series>, accept: string): Promise<AdminPage> {
    const { default: prom } = await import('prom-client');
    const isOpenMetrics = accept.includes('application/openmetrics-text');
    const { OPENMETRICS_CONTENT_TYPE, PROMETHEUS_CONTENT_TYPE } = prom.Registry;
    const contentType = isOpenMetrics ? OPENMETRICS_CONTENT_TYPE : PROMETHEUS_CONTENT_TYPE;
    const bounded = new SeriesSum();
    for (const item of series) bounded.add(this.#boundLabels(item));
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

  #boundLabels(series: Series): Series {
    const { labels } = metricFamilies[series.name];
    const index = labels.findIndex((label) => this.#shownNames.has(label));
    const shown = this.#shownNames.get(labels[index] ?? '');
    const name = series.labels[index] ?? '';
    if (shown === undefined || name === '' || name === OTHER_LABEL) return series;
    if (shown.size < limits.metricBackendsMax) shown.add(name);
    if (shown.has(name)) return series;
    return { ...series, labels: series.labels.with(index, OTHER_LABEL) };
  }
}

/** A metric in the form in which prom-client passes it between processes. */
function metricOf(name: MetricName, series: readonly Series[], isOpenMetrics: boolean): object {
  const family: MetricFamily = metricFamilies[name];
  // In OpenMetrics, prom-client adds a counter's suffix to its samples.
  const written = isOpenMetrics ? name.replace(/_total$/, '') : name;
  const values = series.flatMap((item) => samplesOf(written, family, item));
  return { name: written, help: family.help, type: family.type, aggregator: 'sum', values };
}

function samplesOf(name: string, family: MetricFamily, series: Series): Sample[] {
  const labels = Object.fromEntries(family.labels.map((label, index) => [label, series.labels[index] ?? '']));
  if (series.counts === undefined) return [{ metricName: name, labels, value: series.value }];
  let cumulativeCount = 0;
  const buckets = series.counts.map((count, bucket) => {
    cumulativeCount += count;
    const bound = family.boundsS?.[bucket];
    return { metricName: `${name}_bucket`, labels: { ...labels, le: boundText(bound) }, value: cumulativeCount };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: series.value },
    { metricName: `${name}_count`, labels, value: cumulativeCount },
  ];
}

/** A bound as text: OpenMetrics requires `1.0`, and Prometheus accepts it. */
function boundText(bound: number | undefined): string {
  if (bound === undefined) return '+Inf';
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}
