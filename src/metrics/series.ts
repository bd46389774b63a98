// Figures on their way from a worker to the primary: plain data, one item for each combination of labels that occurred. Cold path: only
// built on demand.
import { metricFamilies, type MetricName } from './catalogue.js';

export interface Series {
  readonly name: MetricName;
  /** Values of the family's labels, in the same order. */
  readonly labels: readonly string[];
  /** Of a counter or gauge; for a histogram, the sum in seconds. */
  readonly value: number;
  /** For a histogram: the count of each bucket, and last the count above all bounds. */
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

/** Adds up series with equal names and labels. */
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
