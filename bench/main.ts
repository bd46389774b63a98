// `npm run bench`: starts everything, puts the same load on each target in turn for some rounds, and publishes the results.
// Exit status 0; 1 when a response was wrong, 2 when a figure left the baseline's bounds, 64 for a wrong command line.
import { Bench } from './bench.js';
import { ChildProcesses } from './child-processes.js';
import { readResults } from './history.js';
import { describeMachine, loadAverageLine, refuseBusyBaseline } from './machine.js';
import { nginxVersion } from './nginx.js';
import { parseOptions, usage, type BenchOptions } from './options.js';
import { pointsOf } from './points.js';
import { runProgram } from './program.js';
import { publish } from './publish.js';
import type { BenchResults } from './results.js';
import { scratchDirectory } from './scratch-directory.js';
import { startStand } from './stand.js';

async function measure(options: BenchOptions): Promise<BenchResults> {
  const startedAt = new Date().toISOString();
  const directory = scratchDirectory();
  const children = new ChildProcesses(directory);
  const machine = describeMachine(nginxVersion(), children.isPinned);
  console.error(loadAverageLine(machine));
  if (options.then === 'report and save baseline') refuseBusyBaseline(machine);
  const points = pointsOf(options);
  const { peers, programBefore, firstBackendPort } = options;
  const stand = { children, scratchDirectory: directory, points, peers, programBefore, firstBackendPort };
  const running = startStand(stand).then((parts) => new Bench(parts).run(points, options));
  const runs = await Promise.race([running, children.failure]);
  await children.stop();
  const { mode, rounds, warmUpMs, measureMs } = options;
  return { startedAt, mode, rounds, warmUpMs, measureMs, machine, runs };
}

await runProgram(usage, parseOptions, async (options) => {
  const { keptResultsPath } = options;
  return publish(keptResultsPath === undefined ? await measure(options) : readResults(keptResultsPath), options);
});
