// The outcome of the scenarios of one part: how many of the scored ones have passed, and whether each has checked something,
// without a failure or a warning. Reports a line for each.
import type { SuiteRun } from './official-suite.js';

export const REVISIONS = ['2025-11-25', '2026-07-28'] as const;

export type Revision = (typeof REVISIONS)[number];

export interface RunOptions {
  readonly revision: Revision;
  readonly workers: number;
  /** Runs only these; all when empty. */
  readonly scenarios: readonly string[];
  readonly isVerbose: boolean;
  readonly report: (line: string) => void;
}

export class Tally {
  readonly #options: RunOptions;
  runCount = 0;
  passedCount = 0;
  scoredCount = 0;
  isAllGood = true;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  add(name: string, isScored: boolean, { exitCode, output }: SuiteRun): void {
    // The suite accepts warnings, and scenarios that check nothing; here both are failures.
    const isGood = exitCode === 0 && /^Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings$/m.test(output);
    this.isAllGood &&= isGood;
    this.runCount += 1;
    if (isScored) this.scoredCount += 1;
    if (isScored && isGood) this.passedCount += 1;
    const { isVerbose, report } = this.#options;
    report(`${isGood ? 'ok    ' : 'FAILED'} ${name}${isScored ? '' : ' (not scored)'}`);
    if (isVerbose || !isGood) report(output.replaceAll(/^/gm, '         '));
  }
}
