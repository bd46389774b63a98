// The command line of `npm test`: which files to run, and how many at once.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { TIERS, type Tier } from './tiers.js';

export interface TestOptions {
  /** Parts of file names; all files when empty. */
  readonly words: readonly string[];
  /** All tiers when not given. */
  readonly tier: Tier | undefined;
  /** Only what a change since the last commit can reach. */
  readonly isChanged: boolean;
  readonly jobs: number;
  /** A file that fails has failed: it is not run a second time. */
  readonly isStrict: boolean;
}

const JOBS_MAX = 64;
/** A file keeps less than half a core busy, and waits for the rest of the time. */
const JOBS_BESIDE_CORES = 2;

export const usage = `Usage: npm test [-- --jobs n] [word …]
  --tier t   only the files of one tier: ${TIERS.join(', ')}
  --changed  only the files that a change since the last commit can reach
  --jobs n   so many files at once; two more than there are cores when not given
  --strict   a file that failed does not run once more, alone
  word       the files that have this in their name, as relay/ or drain; all when there is none`;

/** Throws an error fit for the user. */
export function parseOptions(given: readonly string[]): TestOptions {
  const { values, positionals } = parseArgs({
    args: [...given],
    allowPositionals: true,
    options: {
      tier: { type: 'string' },
      changed: { type: 'boolean', default: false },
      jobs: { type: 'string' },
      strict: { type: 'boolean', default: false },
    },
  });
  const jobs = Number(values.jobs ?? Math.min(availableParallelism() + JOBS_BESIDE_CORES, JOBS_MAX));
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > JOBS_MAX) {
    throw new Error(`--jobs takes a whole number from 1 to ${JOBS_MAX}`);
  }
  const tier = TIERS.find((each) => each === values.tier);
  if (values.tier !== undefined && tier === undefined) throw new Error(`--tier takes one of ${TIERS.join(', ')}`);
  return { words: positionals, tier, isChanged: values.changed, jobs, isStrict: values.strict };
}
