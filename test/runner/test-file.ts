// Runs one test file, or a group of them, in a process of plain Node, without the loader hooks of `tap run`: those would be inherited by
// every program that the test starts, handle its signals, add a thread, and double or triple its startup time. What is inherited is the
// poison for reused memory.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killWithProcess } from '../support/leftovers.js';

/**
 * tap's timeout for a file, unless the file sets another: tap ends a file that hangs, and reports where. The longest take two minutes,
 * and several times that on a busy machine.
 */
const FILE_S_MAX = 600;
/** A file that has written nothing for so long is ended, as tap cannot end all: rows prolong the timeout above, and a loop ignores it. */
const SILENT_MS_MAX = 600_000;
/** After this a process that ignores the signal is killed. */
const SIGNAL_MS_MAX = 10_000;

const GROUP = fileURLToPath(new URL('./file-group.js', import.meta.url));

const NODE_OPTIONS = `${process.env['NODE_OPTIONS'] ?? ''} --import ${new URL('../support/poison.js', import.meta.url).href}`;

export interface TestFileSetup {
  /** Working directory of the test. */
  readonly root: string;
  /** The file that collects its output. */
  readonly outputPath: string;
  /** Beside that of the run. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Aborts when the file has hung, for whoever knows. */
  readonly hung?: AbortSignal;
  readonly silentMsMax?: number;
  readonly signalMsMax?: number;
}

export interface TestFileRun {
  /** TAP, and anything else that was written. */
  readonly output: string;
  readonly exitStatus: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly hasHung: boolean;
  readonly tookMs: number;
}

/** @param name of the compiled file, for example `build/test/main.test.js`. */
export async function runTestFile(name: string, setup: TestFileSetup): Promise<TestFileRun> {
  return runProcess(name, setup.environment ?? {}, setup);
}

/** Runs files in one process, and returns its output. */
export async function runTestGroup(names: readonly string[], setup: TestFileSetup): Promise<TestFileRun> {
  return runProcess(GROUP, { ...setup.environment, TEST_FILES: JSON.stringify(names) }, setup);
}

async function runProcess(
  module: string,
  environment: Readonly<Record<string, string>>,
  setup: TestFileSetup,
): Promise<TestFileRun> {
  const beganMs = performance.now();
  const TEST_KEYS = join(dirname(setup.outputPath), 'keys');
  // A file instead of a pipe: a process that outlives its test does not block the run, and no output is lost.
  const output = openSync(setup.outputPath, 'w');
  const child = spawn(process.execPath, [module], {
    cwd: setup.root,
    env: { ...process.env, ...environment, NODE_OPTIONS, TEST_KEYS, TAP: '1', TAP_TIMEOUT: String(FILE_S_MAX) },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  killWithProcess(child);
  let hasHung = false;
  const { hung, silentMsMax = SILENT_MS_MAX, signalMsMax = SIGNAL_MS_MAX } = setup;
  const onHung = (): void => {
    clearInterval(watch);
    hasHung = true;
    endHung(child, signalMsMax);
  };
  let [bytes, sinceMs] = [0, beganMs];
  // Not the whole time counts: on a busy machine, some files take long without hanging.
  const watch = setInterval(() => {
    const { size } = statSync(setup.outputPath);
    if (size !== bytes) [bytes, sinceMs] = [size, performance.now()];
    else if (performance.now() - sinceMs > silentMsMax) onHung();
  }, silentMsMax / 20);
  hung?.addEventListener('abort', onHung);
  const [exitStatus, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  clearInterval(watch);
  hung?.removeEventListener('abort', onHung);
  const tookMs = performance.now() - beganMs;
  return { output: readFileSync(setup.outputPath, 'utf8'), exitStatus, signal, hasHung, tookMs };
}

/** Sends the signal that tap sends to a hanging file: what the file has started and created goes with it. */
function endHung(child: ChildProcess, signalMsMax: number): void {
  child.kill('SIGALRM');
  const timer = setTimeout(() => child.kill('SIGKILL'), signalMsMax);
  child.once('exit', () => clearTimeout(timer));
}
