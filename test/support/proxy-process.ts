// A reverse proxy as a child process that ends with the test.
import { spawn } from 'node:child_process';
import type { Test } from 'tap';
import { killWithProcess } from './leftovers.js';
import { until } from './until.js';

export interface ProxyProgram {
  readonly command: string;
  readonly words: readonly string[];
  /** The Debian package to suggest when the command is missing. */
  readonly debianPackage?: string;
}

/** Resolves when it is up; rejects with its output when it ends before that. */
export async function startProxy(
  t: Pick<Test, 'teardown'>,
  { command, words, debianPackage }: ProxyProgram,
  isUp: () => Promise<boolean>,
): Promise<void> {
  const child = spawn(command, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  killWithProcess(child);
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-2_000)));
  let fault: unknown;
  child.once('error', (error) => (fault = error));
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null || fault !== undefined;
  t.teardown(async () => {
    child.kill('SIGTERM');
    await until(hasEnded, `the end of ${command}`);
  });
  await until(async () => {
    if (fault !== undefined) {
      const remedy = debianPackage === undefined ? '' : `: apt-get install ${debianPackage}`;
      throw new Error(`${command} is not installed${remedy}`, { cause: fault });
    }
    if (hasEnded()) throw new Error(`${command} ended with exit status ${child.exitCode}: ${said}`);
    return isUp().catch(() => false);
  }, command);
}
