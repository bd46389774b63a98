// Rates and times of the dataplane in words, and as a line chart.

export function rateWords(perSecond: number): string {
  if (perSecond === 0) return 'none';
  return perSecond < 10 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString();
}

/** A number that is shown large, and so never as a word. */
export function figureOf(value: number): string {
  return value === 0 ? '0' : rateWords(value);
}

/** @param share between 0 and 1. */
export function shareWords(share: number): string {
  const percent = share * 100;
  return `${percent === 0 || percent >= 10 ? Math.round(percent) : percent.toFixed(1)} %`;
}

/** @param value `null` when there are no timings. */
export function msWords(value: number | null): string {
  if (value === null) return '–';
  return value < 1_000 ? `${value < 10 ? value.toFixed(1) : Math.round(value)} ms` : `${(value / 1_000).toFixed(1)} s`;
}

/** How much higher than its highest value the chart is: what never changes is a line in the chart, not a block. */
const HEADROOM = 1.6;

/** Points of a line over the whole width, from zero at the bottom. */
export function sparkPoints(values: readonly number[], width: number, height: number): string {
  const top = Math.max(...values, 1e-9) * HEADROOM;
  const step = width / Math.max(1, values.length - 1);
  return values
    .map((value, index) => `${round(index * step)},${round(height - 1 - (value / top) * (height - 2))}`)
    .join(' ');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
