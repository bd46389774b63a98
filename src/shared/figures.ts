// The figures of a running dataplane as its admin listener tells them in JSON, and what happened between two readings of them.

/** A metric with all its series. */
export interface FigureFamily {
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

/** One reading. */
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

  /** The sum of all series that have these labels. */
  sum(name: string, labels: Labels = {}): number {
    return this.#of(name, labels).reduce((total, { value }) => total + value, 0);
  }

  /** Which values a label has. */
  valuesOf(name: string, label: string): string[] {
    return [...new Set(this.#of(name, {}).flatMap(({ labels }) => labels[label] ?? []))].sort();
  }

  /** Counts up to each bound, seconds, from the lowest on: of the histograms that have these labels together. */
  buckets(name: string, labels: Labels = {}): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { labels: own, value } of this.#of(`${name}_bucket`, labels)) {
      const bound = own['le'] === '+Inf' ? Infinity : Number(own['le']);
      counts.set(bound, (counts.get(bound) ?? 0) + value);
    }
    return new Map([...counts].sort(([one], [other]) => one - other));
  }

  #of(name: string, wanted: Labels): readonly Sample[] {
    const entries = Object.entries(wanted);
    return this.#samples.filter((sample) => {
      return sample.name === name && entries.every(([label, text]) => sample.labels[label] === text);
    });
  }
}

/** What happened from one reading to the next. */
export class Interval {
  readonly now: Figures;
  readonly #before: Figures;

  constructor(before: Figures, now: Figures) {
    this.#before = before;
    this.now = now;
  }

  get seconds(): number {
    return (this.now.atMs - this.#before.atMs) / 1000;
  }

  /** By how much a counter rose in a second. 0 where the dataplane was started again in between. */
  perSecond(name: string, labels: Labels = {}): number {
    const rise = this.now.sum(name, labels) - this.#before.sum(name, labels);
    return this.seconds > 0 ? Math.max(0, rise) / this.seconds : 0;
  }

  /**
   * The value below which a share of what was counted in the interval is, seconds, as Prometheus reckons it: within its
   * bucket by straight line. The last bound where it is above that; `undefined` where nothing was counted.
   */
  quantile(name: string, share: number, labels: Labels = {}): number | undefined {
    const before = this.#before.buckets(name, labels);
    const rises = [...this.now.buckets(name, labels)].map(([bound, count]) => {
      return { bound, count: Math.max(0, count - (before.get(bound) ?? 0)) };
    });
    const wanted = share * (rises.at(-1)?.count ?? 0);
    if (wanted === 0) return undefined;
    let below = { bound: 0, count: 0 };
    for (const bucket of rises) {
      if (bucket.count >= wanted) {
        if (bucket.bound === Infinity) return below.bound;
        const part = (wanted - below.count) / (bucket.count - below.count);
        return below.bound + part * (bucket.bound - below.bound);
      }
      below = bucket;
    }
    return below.bound;
  }
}
