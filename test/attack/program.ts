// How an attack program starts and ends: whatever it started ends with it, however it ends.
import { runProgram } from '../../bench/program.js';
import { Scope } from './scope.js';

/** Does not return. @param run returns the exit status. */
export async function runInScope<Options>(
  usage: string,
  parse: (words: readonly string[]) => Options,
  run: (options: Options, scope: Scope) => Promise<number>,
): Promise<never> {
  return runProgram(usage, parse, async (options) => {
    const scope = new Scope();
    try {
      return await run(options, scope);
    } finally {
      await scope.end();
    }
  });
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
