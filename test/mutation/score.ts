// The outcome of the mutants, by area, as a table and as one verdict.
import { renderTable } from '../../bench/table.js';
import { nameOf } from './mutant.js';
import type { Verdict } from './mutation-run.js';

/** Below this share the tests promise too little. Not 1, because a change may be invisible from outside. */
export const KILLED_SHARE_MIN = 0.92;

export interface AreaVerdicts {
  readonly area: string;
  readonly verdicts: readonly Verdict[];
}

export function killedShare(verdicts: readonly Verdict[]): number {
  return verdicts.length === 0 ? 0 : killedOf(verdicts).length / verdicts.length;
}

export function isEnough(verdicts: readonly Verdict[]): boolean {
  return killedShare(verdicts) >= KILLED_SHARE_MIN;
}

export function scoreTable(areas: readonly AreaVerdicts[]): string {
  const all = { area: 'all', verdicts: areas.flatMap(({ verdicts }) => verdicts) };
  return renderTable<AreaVerdicts>(
    [
      { title: 'area', align: 'left', cell: ({ area }) => area },
      { title: 'mutants', align: 'right', cell: ({ verdicts }) => String(verdicts.length) },
      { title: 'killed', align: 'right', cell: ({ verdicts }) => String(killedOf(verdicts).length) },
      { title: 'survived', align: 'right', cell: ({ verdicts }) => String(survivorsOf(verdicts).length) },
      { title: '%', align: 'right', cell: ({ verdicts }) => (100 * killedShare(verdicts)).toFixed(1) },
    ],
    [...areas, all],
  );
}

/** Lists each survivor with its change, as needed for writing the missing test. */
export function survivorsInWords(verdicts: readonly Verdict[]): string {
  return survivorsOf(verdicts)
    .map(({ mutant }) => `survived: ${nameOf(mutant)}\n  - ${mutant.text}\n  + ${mutant.becomes}`)
    .join('\n');
}

function killedOf(verdicts: readonly Verdict[]): readonly Verdict[] {
  return verdicts.filter(({ killedBy }) => killedBy !== undefined);
}

function survivorsOf(verdicts: readonly Verdict[]): readonly Verdict[] {
  return verdicts.filter(({ killedBy }) => killedBy === undefined);
}
