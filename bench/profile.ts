// `npm run profile -- <scenario>`: puts a scenario's load on a gateway and saves a CPU profile of its worker, to open in a
// browser's developer tools. The file covers the worker's whole life; the table leaves startup out.
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { canBeHeldAgainstBefore } from './before.js';
import { Bench } from './bench.js';
import { ChildProcesses } from './child-processes.js';
import { selfTimes, selfTimeTable, type CpuProfile } from './cpu-profile.js';
import { describeMachine, loadAverageLine } from './machine.js';
import { nginxVersion } from './nginx.js';
import { parseOptions, type BenchOptions } from './options.js';
import type { Point } from './points.js';
import { processTree } from './process-usage.js';
import { runProgram } from './program.js';
import { scenarioNames, type Measure } from './scenario.js';
import { scenarios } from './scenarios.js';
import { scratchDirectory } from './scratch-directory.js';
import { startStand } from './stand.js';
import type { Target } from './targets.js';

const LINES = 25;
const SECONDS_BY_DEFAULT = '5';
const SECONDS_MAX = 600;

const usage = `Usage: npm run profile -- scenario [--connections n] [--seconds n]
  scenario         one of ${scenarioNames.filter((name) => canBeHeldAgainstBefore(scenarios[name])).join(', ')}
  --connections n  those of the scenario's quick mode when not given
  --seconds n      of load; ${SECONDS_BY_DEFAULT} when not given`;

interface ProfileOptions {
  readonly point: Point;
  /** One round of the gateway alone. */
  readonly bench: BenchOptions;
}

function parse(words: readonly string[]): ProfileOptions {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: { connections: { type: 'string' }, seconds: { type: 'string', default: SECONDS_BY_DEFAULT } },
  });
  const bench = parseOptions([...positionals, '--rounds', '1']);
  const scenario = scenarios[bench.scenarios[0] ?? 'call'];
  const measure = scenario.measures.find((each) => each.target === 'gateway');
  if (positionals.length !== 1 || measure?.kind !== 'load') throw new Error('name one scenario with a load');
  const connections = Number(values.connections ?? scenario.quickConnectionCounts[0]);
  const seconds = Number(values.seconds);
  if (!Number.isInteger(connections) || connections < 1) throw new Error('--connections takes a whole number');
  if (!(seconds > 0 && seconds <= SECONDS_MAX)) throw new Error(`--seconds takes a number up to ${SECONDS_MAX}`);
  return {
    point: { scenario: { ...scenario, measures: [measure satisfies Measure] }, connections },
    bench: { ...bench, measureMs: seconds * 1_000 },
  };
}

async function profile({ point, bench }: ProfileOptions): Promise<number> {
  const directory = scratchDirectory();
  const children = new ChildProcesses(directory);
  console.error(loadAverageLine(describeMachine(nginxVersion(), children.isPinned)));
  const parts = await startStand({
    children,
    scratchDirectory: directory,
    points: [point],
    peers: [],
    firstBackendPort: 0,
    nodeWords: ['--cpu-prof', `--cpu-prof-dir=${directory}`],
  });
  const workerPid = workerOf([...parts.targets.values()]);
  const startedUs = Number(process.hrtime.bigint() / 1_000n);
  await Promise.race([new Bench(parts).run([point], bench), children.failure]);
  // Node writes a profile as its process ends.
  await children.stop();
  const path = keepProfile(directory, workerPid, point.scenario.name);
  console.log(selfTimeTable(selfTimes(JSON.parse(readFileSync(path, 'utf8')) as CpuProfile, startedUs), LINES));
  console.log(`\n${path}`);
  return 0;
}

/** The first worker of the only target: the child process of its primary. */
function workerOf([target]: readonly Target[]): number {
  const [, worker] = target?.rootPid === undefined ? [] : processTree(target.rootPid);
  if (worker === undefined) throw new Error('the gateway has no worker');
  return worker;
}

/** Copies to the current directory. Threads of the worker have files of their own; thread 0 is its event loop. */
function keepProfile(directory: string, pid: number, scenario: string): string {
  const name = readdirSync(directory).find((each) =>
    new RegExp(`^CPU\\..*\\.${pid}\\.0\\.\\d+\\.cpuprofile$`).test(each),
  );
  if (name === undefined) throw new Error('the worker left no profile');
  const path = join(
    process.cwd(),
    `${scenario}-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.cpuprofile`,
  );
  copyFileSync(join(directory, name), path);
  return path;
}

await runProgram(usage, parse, profile);
