// Turns results into tables: the figures that are compared with yardsticks, then rates and latencies of everything. Pure.
import { faultCount } from './fault-counter.js';
import { figuresOf, type PointFigure } from './figures.js';
import type { Latency } from './load-plan.js';
import { MeasuredPoint, type Point } from './points.js';
import type { BenchResults, Run } from './results.js';
import type { FigureKind } from './scenario.js';
import { median, type Spread } from './statistics.js';
import { renderTable, type Column } from './table.js';
import { targetNames, type TargetName } from './targets.js';

const KIB = 1024;
const MIB = 1024 * KIB;

interface FigureText {
  readonly title: string;
  readonly unit: string;
  readonly perUnit: number;
  readonly digits: number;
}

const figureTexts: Readonly<Record<FigureKind, FigureText>> = {
  cpu: { title: 'CPU', unit: 'µs', perUnit: 1, digits: 1 },
  p50: { title: 'p50', unit: 'ms', perUnit: 1_000, digits: 2 },
  p99: { title: 'p99', unit: 'ms', perUnit: 1_000, digits: 2 },
  resident: { title: 'memory', unit: 'KiB', perUnit: KIB, digits: 1 },
};

function pointColumns<Row>(point: (row: Row) => Point): Column<Row>[] {
  return [
    { title: 'Scenario', align: 'left', cell: (row) => point(row).scenario.name },
    { title: 'Connections', align: 'right', cell: (row) => String(point(row).connections) },
  ];
}

/** The figure of each point that counts, its yardstick, and the goal of their ratio. */
export function figureTable({ runs }: Pick<BenchResults, 'runs'>): string {
  const text = ({ point }: PointFigure) => figureTexts[point.scenario.figure];
  const values = (figure: PointFigure, spread: Spread | undefined) =>
    spreadText(spread, text(figure).digits, text(figure).perUnit);
  return renderTable(
    [
      ...pointColumns(({ point }: PointFigure) => point),
      { title: 'Figure', align: 'left', cell: figureTitle },
      { title: 'Gateway', align: 'right', cell: (figure) => values(figure, figure.gateway) },
      { title: 'Yardstick', align: 'left', cell: ({ point }) => yardstickTitle(point) },
      { title: 'Its figure', align: 'right', cell: (figure) => values(figure, figure.yardstick) },
      { title: 'Ratio', align: 'right', cell: ({ ratio }) => spreadText(ratio, 2) },
      { title: 'Goal', align: 'right', cell: goalText },
    ],
    figuresOf(runs),
  );
}

function figureTitle({ point: { scenario } }: PointFigure): string {
  const { title, unit } = figureTexts[scenario.figure];
  return `${title} per ${scenario.unit}, ${unit}`.replace(/^(p\d+) per \w+/, '$1');
}

function yardstickTitle({ scenario: { yardstick, yardstickWith } }: Point): string {
  return yardstickWith === undefined ? (yardstick ?? 'none') : `${yardstick} + ${yardstickWith}`;
}

/** A missed goal is marked as such wherever it is published. */
function goalText(figure: PointFigure): string {
  const { scenario } = figure.point;
  const { perUnit, digits } = figureTexts[scenario.figure];
  const goal = scenario.yardstick === undefined ? (scenario.goal / perUnit).toFixed(digits) : scenario.goal.toFixed(2);
  return isMissed(figure) ? `**missed:** ≤ ${goal}` : `≤ ${goal}`;
}

function isMissed({ point: { scenario }, gateway, ratio }: PointFigure): boolean {
  const value = scenario.yardstick === undefined ? gateway.median : ratio?.median;
  return value !== undefined && value > scenario.goal;
}

interface TargetRow {
  readonly point: MeasuredPoint;
  readonly target: TargetName;
  readonly runs: readonly Run[];
}

/** Medians of the rounds for every target. */
export function latencyTable({ runs }: Pick<BenchResults, 'runs'>): string {
  const rows = MeasuredPoint.group(runs).flatMap((point) =>
    [...targetNames, ...point.peers]
      .map((target): TargetRow => ({ point, target, runs: point.of(target) }))
      .filter((row) => row.runs.length > 0),
  );
  const column = (title: string, digits: number, figure: (run: Run) => number): Column<TargetRow> => ({
    title,
    align: 'right',
    cell: (row) => median(row.runs.map(figure)).toFixed(digits),
  });
  const percentile = (title: string, member: keyof Latency) =>
    column(title, 2, ({ measurement }) => measurement.latency[member] / 1_000);
  return renderTable(
    [
      ...pointColumns(({ point }: TargetRow) => point),
      { title: 'Target', align: 'left', cell: ({ target }) => target },
      column('Requests/s', 0, ({ measurement }) => (measurement.requests / measurement.elapsedMs) * 1_000),
      percentile('p50, ms', 'p50Us'),
      percentile('p90, ms', 'p90Us'),
      percentile('p99, ms', 'p99Us'),
      percentile('p99.9, ms', 'p99_9Us'),
      column('Busy, %', 0, ({ measurement }) => busyPercent(measurement.targetCpuUs, measurement.elapsedMs)),
      { title: 'Quiet, %', align: 'right', cell: (row) => quietText(row.runs) },
      column('Load and backends busy, %', 0, ({ measurement }) =>
        busyPercent(measurement.loadCpuUs + measurement.backendCpuUs, measurement.elapsedMs),
      ),
      column('Resident, MiB', 1, ({ measurement }) => measurement.targetResidentBytes / MIB),
      { title: 'Faults', align: 'right', cell: (row) => String(faultsOf(row.runs)) },
    ],
    rows,
  );
}

export function faultsOf(runs: readonly Run[]): number {
  return runs.reduce((sum, { measurement }) => sum + faultCount(measurement.faults), 0);
}

export function machineLine({ machine, startedAt, mode, rounds, measureMs }: BenchResults): string {
  const pinning = machine.isPinned
    ? 'target on core 0, load and backends on core 1'
    : 'nothing pinned to cores (no taskset, or one core): figures are rougher';
  return [
    `${startedAt.slice(0, 10)}, ${machine.processor}, ${machine.cores} cores, Node ${machine.node}, nginx ${machine.nginx}`,
    `commit ${machine.commit}, ${pinning}`,
    `${mode} mode: ${rounds} interleaved rounds of ${measureMs / 1_000} s, load average before: ${machine.loadAverageBefore}`,
  ].join('; ');
}

export function renderReport(results: BenchResults): string {
  return `# Results

Written by \`npm run bench\`; [README.md](README.md) says how to read it.

${machineLine(results)}.

## What counts

Minimum / median / maximum of the rounds. A ratio is taken within each round; where CPU time is compared, within each of its turns.

${figureTable(results)}

![Latency of calls over the kept results](latency.svg)

## Rates and latencies

Medians of the rounds; latencies are of whole bodies. "Busy" is the share of one core that the target took, and "Quiet" what
it took afterwards, while nothing was asked.

${latencyTable(results)}
`;
}

function spreadText(values: Spread | undefined, digits: number, perUnit = 1): string {
  if (values === undefined) return '–';
  return [values.minimum, values.median, values.maximum].map((value) => (value / perUnit).toFixed(digits)).join(' / ');
}

/** The share of a core that was used while there were no requests. */
function quietText(runs: readonly Run[]): string {
  const percents = runs.flatMap(({ measurement: { quiet } }) =>
    quiet === undefined ? [] : [busyPercent(quiet.targetCpuUs, quiet.elapsedMs)],
  );
  return percents.length === 0 ? '–' : median(percents).toFixed(1);
}

function busyPercent(cpuUs: number, elapsedMs: number): number {
  return cpuUs / elapsedMs / 10;
}
