// Splits the output of a group's process, as if each file had had a process of its own.
import type { TestFileRun } from './test-file.js';

/**
 * @returns the files that were finished, by name. Others are missing: the process ended before them, or it failed in a way that belongs
 * to no file.
 */
export function splitGroup(names: readonly string[], { output, exitStatus }: TestFileRun): Map<string, TestFileRun> {
  const runs = new Map<string, TestFileRun>();
  let lines: string[] = [];
  for (const line of output.split('\n')) {
    const {
      verdict,
      name = '',
      ms,
    } = /^(?<verdict>ok|not ok) \d+ - (?<name>.*) # time=(?<ms>[\d.]+)ms$/.exec(line)?.groups ?? {};
    if (verdict !== undefined && names.includes(name)) {
      runs.set(name, {
        output: lines.join('\n'),
        exitStatus: verdict === 'ok' ? 0 : 1,
        signal: null,
        hasHung: false,
        tookMs: Number(ms),
      });
      lines = [];
    } else if (line.startsWith('# Subtest: ') && names.includes(line.slice('# Subtest: '.length))) {
      // The lines before belong to the previous file.
      lines = [];
    } else {
      lines.push(line.replace(/^ {4}/, ''));
    }
  }
  const hasFailed = [...runs.values()].some((run) => run.exitStatus !== 0);
  // Each file passed, and yet the process failed: running each alone shows which one is at fault.
  if (runs.size === names.length && !hasFailed && exitStatus !== 0) runs.clear();
  return runs;
}
