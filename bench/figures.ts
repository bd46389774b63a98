// The one figure of each point that counts: for the gateway, for its yardstick, and their ratio. Pure.
import { MeasuredPoint } from './points.js';
import { cpuUsPerUnit, type Run } from './results.js';
import type { FigureKind } from './scenario.js';
import { ratios, spread, sums, type Spread } from './statistics.js';
import type { TargetName } from './targets.js';

export interface PointFigure {
  readonly point: MeasuredPoint;
  readonly gateway: Spread;
  /** `undefined` where a figure stands alone, and where the yardstick was not measured. */
  readonly yardstick: Spread | undefined;
  /** To the yardstick of the same round. */
  readonly ratio: Spread | undefined;
}

/** The figure of a run, in µs or in bytes. */
export const figureOf: Readonly<Record<FigureKind, (run: Run) => number>> = {
  cpu: cpuUsPerUnit,
  p50: ({ measurement }) => measurement.latency.p50Us,
  p99: ({ measurement }) => measurement.latency.p99Us,
  resident: ({ measurement }) => measurement.targetResidentBytes / measurement.requests,
};

/** Points without a run of the gateway are left out. */
export function figuresOf(runs: readonly Run[]): PointFigure[] {
  return MeasuredPoint.group(runs).flatMap((point) => {
    const { figure, yardstick, yardstickWith } = point.scenario;
    const values = (target: TargetName) =>
      point.of(target).map((run) => ({ round: run.round, value: figureOf[figure](run) }));
    const gateway = values('gateway');
    if (gateway.length === 0) return [];
    const bare = yardstick === undefined ? [] : values(yardstick);
    const yardsticks = yardstickWith === undefined ? bare : sums(bare, values(yardstickWith));
    return [
      {
        point,
        gateway: spread(gateway.map(({ value }) => value)),
        yardstick: spreadOf(yardsticks.map(({ value }) => value)),
        ratio: spreadOf(ratios(gateway, yardsticks)),
      },
    ];
  });
}

function spreadOf(values: readonly number[]): Spread | undefined {
  return values.length === 0 ? undefined : spread(values);
}
