// `npm run call-path`: how many files and functions of ours a plain `tools/call` runs through in a worker, in a warm session with a known
// token, counted by V8. What does not run once for every call (timers, other work) is left out.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { closeSession, openSession, sendStep } from './bench-session.js';
import { ChildProcesses } from './child-processes.js';
import { processTree } from './process-usage.js';
import { runProgram } from './program.js';
import { scenarios } from './scenarios.js';
import { scratchDirectory } from './scratch-directory.js';
import { startStand } from './stand.js';
import { renderTable } from './table.js';

const WARM_CALLS = 300;
const COUNTED_CALLS = 100;
const preload = fileURLToPath(new URL('call-counts.js', import.meta.url));

const usage = `Usage: npm run call-path [-- --files]
  --files  also the functions of each file`;

/** A function of ours that runs for every call. */
interface Step {
  /** For example `calls/relayed-request.js`. */
  readonly file: string;
  readonly name: string;
  readonly perCall: number;
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

function parse(words: readonly string[]): { readonly hasFiles: boolean } {
  const { values } = parseArgs({ args: [...words], options: { files: { type: 'boolean', default: false } } });
  return { hasFiles: values.files };
}

async function callPath({ hasFiles }: { readonly hasFiles: boolean }): Promise<number> {
  const directory = scratchDirectory();
  process.env['CALL_COUNTS'] = directory;
  const children = new ChildProcesses(directory);
  const scenario = scenarios.call;
  const parts = await startStand({
    children,
    scratchDirectory: directory,
    points: [{ scenario, connections: 1 }],
    peers: [],
    firstBackendPort: 0,
    nodeWords: ['--import', preload],
  });
  const target = parts.targets.get('gateway');
  const [, worker] = target?.rootPid === undefined ? [] : processTree(target.rootPid);
  const [user] = parts.users;
  if (target === undefined || worker === undefined || user === undefined) throw new Error('the gateway has no worker');
  const plan = {
    headers: { authorization: `Bearer ${user.token}`, accept: 'application/json, text/event-stream' },
    script: scenario.createScript(target.hop, 0),
  };
  const session = await openSession(target.origin, plan);
  const call = async (count: number): Promise<void> => {
    const [step] = plan.script.loop;
    if (step === undefined) throw new Error('the scenario has no loop');
    for (let n = 0; n < count; n += 1) await sendStep(target.origin, plan, step, session.sessionId);
  };
  await call(WARM_CALLS);
  await signalled(worker, join(directory, `${worker}.counting`));
  await call(COUNTED_CALLS);
  const counts = join(directory, `${worker}.json`);
  await signalled(worker, counts);
  const { steps, scripts } = stepsOf(JSON.parse(readFileSync(counts, 'utf8')) as ScriptCoverage[]);
  await closeSession(target.origin, session);
  await children.stop();
  print(steps, scripts, hasFiles);
  return 0;
}

/** Sends the signal, and waits for the file that answers it. */
async function signalled(pid: number, file: string): Promise<void> {
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file) || (file.endsWith('.json') && !readFileSync(file, 'utf8').endsWith(']'))) await sleep(10);
}

function stepsOf(coverage: readonly ScriptCoverage[]): { readonly steps: Step[]; readonly scripts: number } {
  const ours = coverage.filter(({ url }) => /\/dist\/(?!parts\/)/.test(url));
  const steps = ours.flatMap(({ url, functions }) =>
    functions
      .map(({ functionName, ranges: [range] }) => ({
        file: url.replace(/^.*\/dist\//, ''),
        name: functionName || `(at ${range?.startOffset})`,
        perCall: (range?.count ?? 0) / COUNTED_CALLS,
      }))
      .filter(({ perCall }) => perCall >= 1),
  );
  return { steps, scripts: ours.length };
}

function print(steps: readonly Step[], scripts: number, hasFiles: boolean): void {
  if (scripts < 50) throw new Error('the build has no file for each source: run npm run build:by-file');
  const files = [...new Set(steps.map(({ file }) => file))].sort();
  if (hasFiles) {
    const inFile = (file: string): readonly string[] =>
      steps.filter((step) => step.file === file).map(({ name }) => name);
    console.log(
      renderTable(
        [
          { title: 'file', align: 'left', cell: (file) => file },
          { title: 'functions', align: 'right', cell: (file) => String(inFile(file).length) },
          { title: 'names', align: 'left', cell: (file) => inFile(file).join(' ') },
        ],
        files,
      ),
    );
  }
  const calls = steps.reduce((sum, { perCall }) => sum + Math.floor(perCall), 0);
  console.log(`a tools/call passes ${files.length} files, ${steps.length} functions, ${calls} calls of functions`);
}

await runProgram(usage, parse, callPath);
