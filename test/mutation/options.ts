// The command line of `npm run mutate`: which mutants, and how many at once.
import { parseArgs } from 'node:util';

export interface MutationOptions {
  /** Names of areas; all when empty. */
  readonly only: readonly string[];
  /** Part of the name of a file or of a slip; `''` matches any. */
  readonly match: string;
  readonly jobs: number;
  /** Only lists the mutants; no test runs. */
  readonly isList: boolean;
}

const JOBS_MAX = 64;

export const usage = `Usage: npm run mutate [-- --only area … --match text --jobs n]
  --only area    mutants of this area; may be given again
  --match text   mutants whose file or slip has this in its name
  --jobs n       so many at once; 1 when not given
  --list         the mutants, each held against its file; no test runs`;

/** Throws an error fit for the user. */
export function parseOptions(words: readonly string[], areas: readonly string[]): MutationOptions {
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      match: { type: 'string', default: '' },
      jobs: { type: 'string', default: '1' },
      list: { type: 'boolean', default: false },
    },
  });
  const unknown = values.only.filter((area) => !areas.includes(area));
  if (unknown.length > 0) throw new Error(`no such area: ${unknown.join(', ')}; there are ${areas.join(', ')}`);
  const jobs = Number(values.jobs);
  if (!Number.isInteger(jobs) || jobs < 1 || jobs > JOBS_MAX) {
    throw new Error(`--jobs takes a whole number from 1 to ${JOBS_MAX}`);
  }
  return { only: values.only.length > 0 ? values.only : areas, match: values.match, jobs, isList: values.list };
}
