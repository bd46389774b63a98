// Request times in ascending order, and the statistics that tests need.

export interface Latencies {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export function latenciesOf(timesMs: readonly number[]): Latencies {
  const sorted = [...timesMs].sort((a, b) => a - b);
  const at = (fraction: number): number => sorted[Math.ceil(fraction * sorted.length) - 1] ?? 0;
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}
