// `npm run bench`: starts the backends, the gateway and nginx, puts the same load on each in turn for some rounds, and
// writes what came of it. Exit status 0, 1 when anything was answered wrongly, 64 for a wrong command line.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { directTarget, startBackends } from './backends.js';
import { pointsOf, runRounds } from './bench.js';
import { ChildProcesses } from './child-processes.js';
import { faultCount } from './fault-counter.js';
import { startGateway } from './gateway.js';
import { LoadGenerator } from './load-generator.js';
import { describeMachine } from './machine.js';
import { nginxVersion, startNginx } from './nginx.js';
import { parseOptions, usage, type BenchOptions } from './options.js';
import { costTable, faultsOf, latencyTable, machineLine, renderReport } from './report.js';
import { renderJson, type BenchResults, type Run } from './results.js';
import { createUsers } from './users.js';

const benchDirectory = fileURLToPath(new URL('../../bench/', import.meta.url));

async function main(options: BenchOptions): Promise<number> {
  const startedAt = new Date().toISOString();
  const scratchDirectory = mkdtempSync(join(tmpdir(), 'switchyard-bench-'));
  const children = new ChildProcesses(scratchDirectory);
  process.once('exit', () => rmSync(scratchDirectory, { recursive: true, force: true }));
  const machine = describeMachine(nginxVersion(), children.isPinned);
  const runs = await Promise.race([measure(options, children, scratchDirectory), children.failure]);
  await children.stop();
  const { mode, rounds, warmUpMs, measureMs } = options;
  return publish({ startedAt, mode, rounds, warmUpMs, measureMs, machine, runs });
}

async function measure(options: BenchOptions, children: ChildProcesses, scratchDirectory: string): Promise<Run[]> {
  const points = pointsOf(options);
  const users = await createUsers(Math.max(...points.map(({ connections }) => connections)));
  const backends = await startBackends(children);
  const targets = [
    await startGateway(children, scratchDirectory, backends, users),
    await startNginx(children, scratchDirectory, backends),
    directTarget(backends),
  ];
  const load = await LoadGenerator.start(children);
  return runRounds({ backends, targets, users: users.list, load }, points, options);
}

/** Figures of a bench with faults are shown and kept, but are no report. Answers the exit status. */
function publish(results: BenchResults): number {
  const directory = join(benchDirectory, 'results');
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${results.startedAt.slice(0, 19).replaceAll(':', '-')}.json`);
  writeFileSync(path, renderJson(results));
  console.log(`${machineLine(results)}\n\n${costTable(results)}\n\n${latencyTable(results)}\n\n${path}`);
  if (faultsOf(results.runs) === 0) {
    writeFileSync(join(benchDirectory, 'RESULTS.md'), renderReport(results));
    return 0;
  }
  for (const { round, scenario, connections, target, measurement } of results.runs) {
    if (faultCount(measurement.faults) === 0) continue;
    console.error(`round ${round}, ${scenario}, ${connections} connections, ${target}:`, measurement.faults);
  }
  console.error('The figures are void: not everything was answered rightly. RESULTS.md is left as it was.');
  return 1;
}

/** The children and the channels to them would keep the process alive; they are killed as it exits. */
async function runAndExit(): Promise<never> {
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  let options: BenchOptions;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    process.exit(64);
  }
  try {
    process.exit(await main(options));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}

await runAndExit();
