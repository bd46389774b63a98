// Figures as workers send them to the primary: plain data for each combination of labels that occurred.
import { metricFamilies, type MetricName } from './catalogue.js';

/** Counts rare events (refusals, faults, failed hops) by labels. Nothing is evicted: labels must have few values. */
export class LabelCounter {
  readonly #name: MetricName;
  readonly #counts = new Map<string, { readonly labels: readonly string[]; value: number }>();

  constructor(name: MetricName) {
    this.#name = name;
  }

  count(...labels: readonly string[]): void {
    const key = labels.join('\0');
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { labels, value: 1 });
    else known.value += 1;
  }

  series(): Series[] {
    return Array.from(this.#counts.values(), ({ labels, value }) => ({ name: this.#name, labels, value }));
  }
}

/** A histogram. Hot path: a few comparisons and two additions per value. */
export class Histogram {
  readonly #bounds: Float64Array;
  /** The counts: one for each bound, and the last for values above all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** @param bounds ascending and inclusive. */
  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket += 1;
    this.#counts[bucket]! += 1;
    this.#sum += value;
  }

  get sum(): number {
    return this.#sum;
  }

  get counts(): number[] {
    return Array.from(this.#counts);
  }

  get isEmpty(): boolean {
    return this.#counts.every((count) => count === 0);
  }
}

export interface Series {
  readonly name: MetricName;
  /** The values of the labels, in the order of the family's labels. */
  readonly labels: readonly string[];
  /** The value; for a histogram, the sum of its values in seconds. */
  readonly value: number;
  /** The counts of a histogram's buckets; the last one is for values above all bounds. */
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
