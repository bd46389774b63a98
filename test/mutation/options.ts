// The command line of `npm run mutate`: which packages, how many mutants of each, and how many at once.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface MutationOptions {
  /** Names of packages; all when empty. */
  readonly only: readonly string[];
  /** Drawn in each package; `Infinity` for all that there are. */
  readonly sample: number;
  /** The same seed draws the same mutants from the same sources. */
  readonly seed: number;
  readonly jobs: number;
}

const SAMPLE = 40;
const JOBS_MAX = 64;
const SEEDS = 1_000_000;

export const usage = `Usage: npm run mutate [-- --only package … --sample n --seed s --jobs n]
  --only package  mutants of this package; may be given again
  --sample n      so many mutants of each package; ${SAMPLE} when not given
  --seed s        draws what an earlier run with this seed drew; any when not given
  --all           all mutants
  --jobs n        so many at once; 1 when not given`;

/** Throws an error fit for the user. */
export function parseOptions(words: readonly string[]): MutationOptions {
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      sample: { type: 'string', default: String(SAMPLE) },
      seed: { type: 'string', default: String(randomInt(SEEDS)) },
      all: { type: 'boolean', default: false },
      jobs: { type: 'string', default: '1' },
    },
  });
  return {
    only: values.only,
    sample: values.all ? Infinity : wholeNumber('--sample', values.sample, 1, Number.MAX_SAFE_INTEGER),
    seed: wholeNumber('--seed', values.seed, 0, 2 ** 32 - 1),
    jobs: wholeNumber('--jobs', values.jobs, 1, JOBS_MAX),
  };
}

function wholeNumber(option: string, text: string, min: number, max: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= min && number <= max) return number;
  throw new Error(`${option} takes a whole number from ${min} to ${max}`);
}
