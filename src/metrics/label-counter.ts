// Counters for events rare enough to be counted by name: refusals, faults, failed hops. The names come from closed lists in the program, so
// there are few.
import type { MetricName } from './catalogue.js';
import type { Series } from './series.js';

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
