// Memory and open files of the workers during a long run, and whether they grow.
import { openFiles, residentBytes } from './worker-watch.js';

const MIB = 1_048_576;

export interface Sample {
  readonly atMinutes: number;
  /** The sum over all workers. */
  readonly residentMib: number;
  readonly openFiles: number;
}

export function takeSample(pids: readonly number[], atMinutes: number): Sample {
  const residentMib = pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / MIB;
  return { atMinutes, residentMib, openFiles: openFiles(pids) };
}

/**
 * MiB a minute between the peaks of the second quarter and the last: caches are full by then, and comparing peaks ignores what a garbage
 * collection frees for a while.
 */
export function growthPerMinute(samples: readonly Sample[]): number {
  const quarter = Math.floor(samples.length / 4);
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(3 * quarter);
  const peak = (of: readonly Sample[]): number => Math.max(0, ...of.map(({ residentMib }) => residentMib));
  const minutes = (late.at(-1)?.atMinutes ?? 0) - (early.at(-1)?.atMinutes ?? 0);
  return minutes > 0 ? (peak(late) - peak(early)) / minutes : 0;
}
