// The baseline: the figures when they were last found to be right. A figure that moves away from it, up or down, is a change
// that needs an explanation. Pure.
import { figuresOf } from './figures.js';
import type { BenchResults } from './results.js';
import type { ScenarioName } from './scenario.js';
import { renderTable } from './table.js';

/** Below this, the baseline is outdated, or the bench no longer measures the same: write a new one once that is clear. */
export const RELATIVE_MIN = 0.85;
/** Above this, the gateway has become slower relative to its yardstick. */
export const RELATIVE_MAX = 1.2;

export interface BaselineFigure {
  readonly scenario: ScenarioName;
  readonly connections: number;
  /** Median of the rounds: the ratio to the yardstick, or bytes where there is none. */
  readonly value: number;
}

export interface Baseline {
  /** When the results were measured that the baseline was made from. */
  readonly startedAt: string;
  readonly commit: string;
  readonly processor: string;
  /** Below 0.5: otherwise no baseline is written. */
  readonly loadAverageBefore: number;
  readonly figures: readonly BaselineFigure[];
}

export interface Comparison {
  readonly scenario: ScenarioName;
  readonly connections: number;
  readonly before: number | undefined;
  readonly now: number;
  /** `new`: the baseline lacks the figure. */
  readonly verdict: 'ok' | 'slower' | 'faster' | 'new';
}

export function createBaseline(results: BenchResults): Baseline {
  const { startedAt, machine } = results;
  const { commit, processor, loadAverageBefore } = machine;
  return { startedAt, commit, processor, loadAverageBefore, figures: baselineFigures(results) };
}

/** Compares every figure of the results with the baseline's. Figures that only the baseline has were not run, and are skipped. */
export function compareWithBaseline(results: Pick<BenchResults, 'runs'>, { figures }: Baseline): Comparison[] {
  return baselineFigures(results).map(({ scenario, connections, value }) => {
    const before = figures.find((each) => each.scenario === scenario && each.connections === connections)?.value;
    return { scenario, connections, before, now: value, verdict: verdictOf(before, value) };
  });
}

/** An empty comparison is no success. */
export function isWithinBounds(comparisons: readonly Comparison[]): boolean {
  return (
    comparisons.some(({ verdict }) => verdict === 'ok') &&
    comparisons.every(({ verdict }) => verdict === 'ok' || verdict === 'new')
  );
}

export function comparisonTable(comparisons: readonly Comparison[]): string {
  return renderTable<Comparison>(
    [
      { title: 'Scenario', align: 'left', cell: ({ scenario }) => scenario },
      { title: 'Connections', align: 'right', cell: ({ connections }) => String(connections) },
      { title: 'Baseline', align: 'right', cell: ({ before }) => before?.toFixed(2) ?? '–' },
      { title: 'Now', align: 'right', cell: ({ now }) => now.toFixed(2) },
      {
        title: 'Now / baseline',
        align: 'right',
        cell: ({ before, now }) => (before === undefined ? '–' : (now / before).toFixed(2)),
      },
      { title: 'Verdict', align: 'left', cell: ({ verdict }) => verdict },
    ],
    comparisons,
  );
}

function baselineFigures({ runs }: Pick<BenchResults, 'runs'>): BaselineFigure[] {
  return figuresOf(runs).flatMap(({ point, gateway, ratio }) => {
    const { name, yardstick } = point.scenario;
    const value = yardstick === undefined ? gateway.median : ratio?.median;
    return value === undefined ? [] : [{ scenario: name, connections: point.connections, value: rounded(value) }];
  });
}

/** More digits would suggest a precision that no run has. */
function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function verdictOf(before: number | undefined, now: number): Comparison['verdict'] {
  if (before === undefined) return 'new';
  const relative = now / before;
  if (relative > RELATIVE_MAX) return 'slower';
  // A baseline of zero has no ratio; any change leaves it.
  return relative >= RELATIVE_MIN ? 'ok' : 'faster';
}
