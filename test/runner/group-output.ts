// What the process of a group wrote, as if each of its files had had a process of its own.
import type { TestFileRun } from './test-file.js';

/**
 * @returns by name the files that came to an end. The others have nothing said of them: the process ended before, or something
 * went wrong in it that belongs to none of them.
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
      // What stands before it belongs to the one before.
      lines = [];
    } else {
      lines.push(line.replace(/^ {4}/, ''));
    }
  }
  const hasFailed = [...runs.values()].some((run) => run.exitStatus !== 0);
  // All is well with each, and yet it failed: whose fault that is shows when each is alone.
  if (runs.size === names.length && !hasFailed && exitStatus !== 0) runs.clear();
  return runs;
}
