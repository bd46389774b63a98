// Other gateways' figures beside ours: the ratio says how many times our figure theirs is. Pure.
import { faultCount } from './fault-counter.js';
import { figureOf } from './figures.js';
import { MeasuredPoint, type Point } from './points.js';
import type { BenchResults, Run } from './results.js';
import { median, ratios, spread } from './statistics.js';
import { renderTable } from './table.js';
import type { TargetName } from './targets.js';

interface PeerRow {
  readonly point: Point;
  readonly target: TargetName;
  readonly runs: readonly Run[];
  /** Of our own gateway. */
  readonly own: readonly Run[];
}

export function peerTable({ runs }: Pick<BenchResults, 'runs'>): string {
  const rows = MeasuredPoint.group(runs).flatMap((point) =>
    (['gateway', 'nginx', ...point.peers] as const).map((target): PeerRow => ({
      point,
      target,
      runs: point.of(target),
      own: point.of('gateway'),
    })),
  );
  return renderTable<PeerRow>(
    [
      { title: 'Scenario', align: 'left', cell: ({ point }) => point.scenario.name },
      { title: 'Connections', align: 'right', cell: ({ point }) => String(point.connections) },
      { title: 'Target', align: 'left', cell: ({ target }) => target },
      { title: 'Its figure', align: 'right', cell: figureText },
      { title: 'Times ours', align: 'right', cell: ratioText },
      { title: 'p50, ms', align: 'right', cell: (row) => latencyText(row, 'p50Us') },
      { title: 'p99, ms', align: 'right', cell: (row) => latencyText(row, 'p99Us') },
      {
        title: 'Faults',
        align: 'right',
        cell: ({ runs }) => String(runs.reduce((sum, run) => sum + faultsIn(run), 0)),
      },
    ],
    rows.filter((row) => row.runs.length > 0),
  );
}

/** A run with a wrong response has no valid figure: it must not look fast. */
const VOID = 'void';
const UNKNOWN = '–';

function figureText({ point, runs }: PeerRow): string {
  if (runs.some((run) => faultsIn(run) > 0)) return VOID;
  const { figure, unit } = point.scenario;
  const value = median(runs.map(figureOf[figure]));
  // No process uses zero CPU time: zero means that the process is not known.
  if (value === 0) return UNKNOWN;
  return figure === 'cpu' ? `${value.toFixed(1)} µs a ${unit}` : `${(value / 1_000).toFixed(2)} ms`;
}

function ratioText({ point, runs, own }: PeerRow): string {
  if (runs.some((run) => faultsIn(run) > 0)) return VOID;
  const values = (of: readonly Run[]) =>
    of.map((run) => ({ round: run.round, value: figureOf[point.scenario.figure](run) }));
  const times = ratios(values(runs), values(own));
  if (times.length === 0 || times.every((value) => value === 0)) return UNKNOWN;
  return spread(times).median.toFixed(2);
}

function latencyText({ runs }: PeerRow, percentile: 'p50Us' | 'p99Us'): string {
  if (runs.some((run) => faultsIn(run) > 0)) return VOID;
  return (median(runs.map(({ measurement }) => measurement.latency[percentile])) / 1_000).toFixed(2);
}

function faultsIn({ measurement }: Run): number {
  return faultCount(measurement.faults);
}
