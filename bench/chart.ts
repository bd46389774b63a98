// The chart of latencies over the kept results, as a standalone SVG: readable on light and dark pages. Pure.
import type { BenchResults, Run } from './results.js';
import { median } from './statistics.js';
import type { TargetName } from './targets.js';

const WIDTH = 860;
const HEIGHT = 400;
/** Around the plot: the axes' labels on two sides, the legend on the right. */
const PLOT = { left: 70, top: 50, right: 700, bottom: 320 };
/** How many dates fit below the plot. */
const DATES_MAX = 8;
/** The number of connections of the point that is drawn. */
const CONNECTIONS = 16;

interface Series {
  readonly title: string;
  readonly target: TargetName;
  readonly percentile: 'p50Us' | 'p99Us';
  readonly className: string;
}

const allSeries: readonly Series[] = [
  { title: 'gateway, p99', target: 'gateway', percentile: 'p99Us', className: 'gateway' },
  { title: 'gateway, p50', target: 'gateway', percentile: 'p50Us', className: 'gateway dashed' },
  { title: 'nginx, p99', target: 'nginx', percentile: 'p99Us', className: 'nginx' },
  { title: 'nginx, p50', target: 'nginx', percentile: 'p50Us', className: 'nginx dashed' },
];

/** One bench: a latency for each series that it measured. */
interface Sample {
  readonly label: string;
  readonly valuesMs: ReadonlyMap<Series, number>;
}

/** Scenario `call` with 16 connections; results without it are left out. */
export function renderLatencyChart(history: readonly BenchResults[]): string {
  const samples = history.map(sampleOf).filter(({ valuesMs }) => valuesMs.size > 0);
  const scale = new LogScale(samples.flatMap(({ valuesMs }) => [...valuesMs.values()]));
  const x = (index: number) => PLOT.left + ((index + 0.5) / Math.max(1, samples.length)) * (PLOT.right - PLOT.left);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="sans-serif" font-size="12">`,
    '<title>Latency of calls over the kept results</title>',
    style,
    text(PLOT.left, 25, 'Latency of one tools/call, 16 connections in a closed loop (medians of rounds)', 'title'),
    ...scale.ticks.flatMap((tick) => [
      line(PLOT.left, scale.y(tick), PLOT.right, scale.y(tick), 'grid'),
      text(PLOT.left - 8, scale.y(tick) + 4, String(tick), 'end'),
    ]),
    line(PLOT.left, PLOT.top, PLOT.left, PLOT.bottom, 'axis'),
    line(PLOT.left, PLOT.bottom, PLOT.right, PLOT.bottom, 'axis'),
    `<text transform="translate(22 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)" class="middle">whole answer, ms (log)</text>`,
    text((PLOT.left + PLOT.right) / 2, HEIGHT - 12, 'date and commit of the bench', 'middle'),
    ...dateLabels(samples, x),
    ...allSeries.flatMap((series) => seriesLines(series, samples, x, scale)),
    ...allSeries.flatMap(({ title, className }, index) => {
      const y = PLOT.top + 10 + index * 22;
      return [line(PLOT.right + 20, y, PLOT.right + 48, y, className), text(PLOT.right + 56, y + 4, title, '')];
    }),
    '</svg>',
    '',
  ].join('\n');
}

const style = `<style>
text { fill: #24292f } .title { font-size: 14px } .end { text-anchor: end } .middle { text-anchor: middle }
.grid { stroke: #d0d7de } .axis { stroke: #57606a } .gateway, .nginx { stroke-width: 2; fill: none }
.gateway { stroke: #0969da } .nginx { stroke: #bc4c00 } .dashed { stroke-dasharray: 5 4 }
circle.gateway { fill: #0969da } circle.nginx { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #8b949e }
.gateway { stroke: #58a6ff } .nginx { stroke: #f0883e } circle.gateway { fill: #58a6ff } circle.nginx { fill: #f0883e }
}
</style>`;

/** Puts medians of a tenth of a millisecond and p99s of tens into one picture. Ticks are 1, 2 and 5 of each decade. */
class LogScale {
  readonly ticks: readonly number[];
  readonly #low: number;
  readonly #high: number;

  constructor(values: readonly number[]) {
    const all = [-3, -2, -1, 0, 1, 2, 3, 4].flatMap((decade) => [1, 2, 5].map((digit) => Number(`${digit}e${decade}`)));
    const from = all.findLastIndex((tick) => tick <= Math.min(...values));
    const to = all.findIndex((tick) => tick >= Math.max(...values));
    const [low, high] = values.length === 0 || from === -1 || to === -1 ? [9, 12] : [from, Math.max(to, from + 1)];
    this.ticks = all.slice(low, high + 1);
    this.#low = this.ticks[0] ?? 1;
    this.#high = this.ticks.at(-1) ?? 10;
  }

  y(value: number): number {
    const share = Math.log(value / this.#low) / Math.log(this.#high / this.#low);
    return PLOT.bottom - share * (PLOT.bottom - PLOT.top);
  }
}

function sampleOf({ startedAt, machine, runs }: BenchResults): Sample {
  const calls = runs.filter((run) => run.scenario === 'call' && run.connections === CONNECTIONS);
  const entries = allSeries.flatMap((series): [Series, number][] => {
    const values = calls.filter((run) => run.target === series.target).map(latencyOf(series));
    return values.length === 0 ? [] : [[series, median(values) / 1_000]];
  });
  return { label: `${startedAt.slice(0, 10)} ${machine.commit}`, valuesMs: new Map(entries) };
}

function latencyOf({ percentile }: Series): (run: Run) => number {
  return ({ measurement }) => measurement.latency[percentile];
}

function seriesLines(
  series: Series,
  samples: readonly Sample[],
  x: (index: number) => number,
  scale: LogScale,
): string[] {
  const points = samples.flatMap(({ valuesMs }, index): [string, string][] => {
    const value = valuesMs.get(series);
    return value === undefined ? [] : [[fixed(x(index)), fixed(scale.y(value))]];
  });
  if (points.length === 0) return [];
  const path = points.map((point) => point.join(',')).join(' ');
  const dots = points.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" class="${series.className}"/>`);
  return [`<polyline points="${path}" class="${series.className}"/>`, ...dots];
}

/** Labels every nth date, slanted, so that no two overlap. */
function dateLabels(samples: readonly Sample[], x: (index: number) => number): string[] {
  const stride = Math.ceil(samples.length / DATES_MAX);
  return samples.flatMap(({ label }, index) => {
    if (index % stride !== 0) return [];
    const place = `translate(${fixed(x(index) + 6)} ${PLOT.bottom + 16}) rotate(-18)`;
    return [`<text transform="${place}" class="end">${escaped(label)}</text>`];
  });
}

function line(x1: number, y1: number, x2: number, y2: number, className: string): string {
  return `<line x1="${x1}" y1="${fixed(y1)}" x2="${x2}" y2="${fixed(y2)}" class="${className}"/>`;
}

function text(x: number, y: number, content: string, className: string): string {
  return `<text x="${x}" y="${fixed(y)}" class="${className}">${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function fixed(value: number): string {
  return value.toFixed(1);
}
