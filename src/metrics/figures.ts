// A dataplane's metrics, as its admin listener reports them in JSON, and their changes between two samples.

interface FigureFamily {
  readonly name: string;
  readonly values: readonly {
    readonly metricName?: string | undefined;
    readonly labels: Readonly<Record<string, string | number>>;
    readonly value: number;
  }[];
}

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** All metrics at one time. */
export class Figures {
  readonly atMs: number;
  readonly #samples: readonly Sample[];

  constructor(families: readonly FigureFamily[], atMs: number) {
    this.atMs = atMs;
    this.#samples = families.flatMap(({ name, values }) =>
      values.map(({ metricName = name, labels, value }) => {
        const texts = Object.entries(labels).map(([label, text]): [string, string] => [label, String(text)]);
        return { name: metricName, labels: Object.fromEntries(texts), value };
      }),
    );
  }

  /** The sum of all series with these labels. */
  sum(name: string, labels: Labels = {}): number {
    return this.#samplesOf(name, labels).reduce((total, { value }) => total + value, 0);
  }

  /** The label's values in all series of the metric, sorted. */
  valuesOf(name: string, label: string): string[] {
    return [...new Set(this.#samplesOf(name, {}).flatMap(({ labels }) => labels[label] ?? []))].sort();
  }

  /** Cumulative counts by upper bound in seconds, ascending, of all histograms with these labels. */
  buckets(name: string, labels: Labels = {}): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { labels: own, value } of this.#samplesOf(`${name}_bucket`, labels)) {
      const bound = own['le'] === '+Inf' ? Infinity : Number(own['le']);
      counts.set(bound, (counts.get(bound) ?? 0) + value);
    }
    return counts;
  }

  #samplesOf(name: string, wanted: Labels): readonly Sample[] {
    const entries = Object.entries(wanted);
    return this.#samples.filter((sample) => {
      return sample.name === name && entries.every(([label, text]) => sample.labels[label] === text);
    });
  }
}

export class Interval {
  readonly after: Figures;
  readonly #before: Figures;

  constructor(before: Figures, now: Figures) {
    this.#before = before;
    this.after = now;
  }

  get seconds(): number {
    return (this.after.atMs - this.#before.atMs) / 1000;
  }

  /** The counter's rate; 0 if it has fallen, as after a restart of the dataplane. */
  perSecond(name: string, labels: Labels = {}): number {
    const rise = this.after.sum(name, labels) - this.#before.sum(name, labels);
    return this.seconds > 0 ? Math.max(0, rise) / this.seconds : 0;
  }

  /**
   * A quantile in seconds, by linear interpolation within a bucket, as Prometheus does. The last finite bound if the quantile is above it;
   * `undefined` if nothing was counted.
   * @param fraction 0.99 for the 99th percentile.
   */
  quantile(name: string, fraction: number, labels: Labels = {}): number | undefined {
    const before = this.#before.buckets(name, labels);
    const rises = [...this.after.buckets(name, labels)].map(([bound, count]) => {
      return { bound, count: Math.max(0, count - (before.get(bound) ?? 0)) };
    });
    const rank = fraction * (rises.at(-1)?.count ?? 0);
    if (rank === 0) return undefined;
    let previous = { bound: 0, count: 0 };
    for (const bucket of rises) {
      if (bucket.count >= rank) {
        if (bucket.bound === Infinity) return previous.bound;
        const part = (rank - previous.count) / (bucket.count - previous.count);
        return previous.bound + part * (bucket.bound - previous.bound);
      }
      previous = bucket;
    }
    return previous.bound;
  }
}
