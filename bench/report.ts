// Turns results into tables: cost against nginx, then rates and latencies of everything. Pure.
import { faultCount } from './fault-counter.js';
import type { Latency } from './load-plan.js';
import { cpuUsPerUnit, type BenchResults, type Run } from './results.js';
import { median, ratios, spread, type Spread } from './statistics.js';
import { renderTable, type Column } from './table.js';
import { targetNames, type TargetName } from './targets.js';

const MIB = 1024 * 1024;

/** All rounds of one scenario with one number of connections. */
class Point {
  readonly #runs: readonly Run[];
  readonly first: Run;

  constructor(first: Run, runs: readonly Run[]) {
    this.first = first;
    this.#runs = runs;
  }

  of(target: TargetName): readonly Run[] {
    return this.#runs.filter((run) => run.target === target);
  }

  /** Of a figure of a target against the same figure of nginx; `undefined` when no round has both. */
  ratioToNginx(target: TargetName, figure: (run: Run) => number): Spread | undefined {
    const figures = (name: TargetName) => this.of(name).map((run) => ({ round: run.round, value: figure(run) }));
    const each = ratios(figures(target), figures('nginx'));
    return each.length === 0 ? undefined : spread(each);
  }
}

function pointsOf(runs: readonly Run[]): Point[] {
  const groups = new Map<string, [Run, ...Run[]]>();
  for (const run of runs) {
    const key = `${run.scenario} ${run.connections}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [run]);
    else group.push(run);
  }
  return [...groups.values()].map((group) => new Point(group[0], group));
}

function pointColumns<Row>(point: (row: Row) => Point): Column<Row>[] {
  return [
    { title: 'Scenario', align: 'left', cell: (row) => point(row).first.scenario },
    { title: 'Connections', align: 'right', cell: (row) => String(point(row).first.connections) },
  ];
}

/** CPU of the gateway for a call or session, and against nginx in the same round. */
export function costTable({ runs }: BenchResults): string {
  const cpu = (target: TargetName) => (point: Point) => spreadText(spreadOf(point.of(target), cpuUsPerUnit), 1);
  return renderTable(
    [
      ...pointColumns((point: Point) => point),
      { title: 'Per', align: 'left', cell: ({ first }) => first.unit },
      { title: 'Gateway CPU, µs', align: 'right', cell: cpu('gateway') },
      { title: 'nginx CPU, µs', align: 'right', cell: cpu('nginx') },
      { title: 'CPU against nginx', align: 'right', cell: (point) => ratioText(point, cpuUsPerUnit) },
      {
        title: 'p99 against nginx',
        align: 'right',
        cell: (point) => ratioText(point, (run) => run.measurement.latency.p99Us),
      },
    ],
    pointsOf(runs),
  );
}

interface TargetRow {
  readonly point: Point;
  readonly target: TargetName;
  readonly runs: readonly Run[];
}

/** Medians of the rounds for every target. */
export function latencyTable({ runs }: BenchResults): string {
  const rows = pointsOf(runs).flatMap((point) =>
    targetNames
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

## Cost against nginx

Minimum / median / maximum of the rounds. A ratio is taken within each round.

${costTable(results)}

## Rates and latencies

Medians of the rounds; latencies are of whole bodies. "Busy" is the share of one core that the target took.

${latencyTable(results)}
`;
}

function spreadOf(runs: readonly Run[], figure: (run: Run) => number): Spread | undefined {
  return runs.length === 0 ? undefined : spread(runs.map(figure));
}

function spreadText(values: Spread | undefined, digits: number): string {
  if (values === undefined) return '–';
  return [values.minimum, values.median, values.maximum].map((value) => value.toFixed(digits)).join(' / ');
}

function ratioText(point: Point, figure: (run: Run) => number): string {
  return spreadText(point.ratioToNginx('gateway', figure), 2);
}

function busyPercent(cpuUs: number, elapsedMs: number): number {
  return cpuUs / elapsedMs / 10;
}
