// Figures on their way from a worker to the primary: plain data, one item for each combination of labels that has been
// seen. Cold: made when somebody asks.
import { metricFamilies, type MetricName } from './catalogue.js';

export interface Series {
  readonly name: MetricName;
  /** Values of the family's labels, in their order. */
  readonly labels: readonly string[];
  /** Of a counter or gauge; of a histogram the sum, seconds. */
  readonly value: number;
  /** Of a histogram: how many lay in each bucket, and last those above all. */
  readonly counts?: readonly number[];
}

export function isSeries(value: unknown): value is Series {
  if (typeof value !== 'object' || value === null) return false;
  const { name, labels, value: figure, counts } = value as Readonly<Record<string, unknown>>;
  return (
    typeof name === 'string' &&
    Object.hasOwn(metricFamilies, name) &&
    Array.isArray(labels) &&
    typeof figure === 'number' &&
    (counts === undefined || Array.isArray(counts))
  );
}

/** Series by name and labels, added up. */
export class SeriesSum {
  readonly #series = new Map<string, Series>();

  get all(): Iterable<Series> {
    return this.#series.values();
  }

  add(series: Series): void {
    const key = `${series.name}\0${series.labels.join('\0')}`;
    const known = this.#series.get(key);
    this.#series.set(key, known === undefined ? series : sumOf(known, series));
  }
}

function sumOf(one: Series, other: Series): Series {
  const value = one.value + other.value;
  if (one.counts === undefined) return { ...one, value };
  return { ...one, value, counts: one.counts.map((count, bucket) => count + (other.counts?.[bucket] ?? 0)) };
}
