// Memory and open files of the workers over a long run, and whether they grow.
import { openFiles, residentBytes } from './worker-watch.js';

const MIB = 1_048_576;

export interface Sample {
  readonly atMinutes: number;
  /** Of all workers together. */
  readonly residentMib: number;
  readonly openFiles: number;
}

export function takeSample(pids: readonly number[], atMinutes: number): Sample {
  const residentMib = pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / MIB;
  return { atMinutes, residentMib, openFiles: openFiles(pids) };
}

/** MiB a minute, by least squares. */
export function growthPerMinute(samples: readonly Sample[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const minutes = mean(samples.map(({ atMinutes }) => atMinutes));
  const mib = mean(samples.map(({ residentMib }) => residentMib));
  const above = samples.reduce((sum, at) => sum + (at.atMinutes - minutes) * (at.residentMib - mib), 0);
  const below = samples.reduce((sum, at) => sum + (at.atMinutes - minutes) ** 2, 0);
  return below === 0 ? 0 : above / below;
}
