// The rounds: puts the same load on each target in turn, and keeps what was measured.
import type { Backends } from './backends.js';
import { faultCount } from './fault-counter.js';
import type { LoadGenerator } from './load-generator.js';
import type { ConnectionPlan } from './load-plan.js';
import type { BenchOptions } from './options.js';
import { processTree } from './process-usage.js';
import { Progress } from './progress.js';
import type { Run } from './results.js';
import { scenarios, type Scenario } from './scenarios.js';
import type { Target } from './targets.js';
import type { User } from './users.js';

const REHEARSAL_MS = 600;

/** One scenario with one number of connections. */
export interface Point {
  readonly scenario: Scenario;
  readonly connections: number;
}

export interface BenchParts {
  readonly backends: Backends;
  readonly targets: readonly Target[];
  /** One for each connection. */
  readonly users: readonly User[];
  readonly load: LoadGenerator;
}

type RunTimes = Pick<BenchOptions, 'warmUpMs' | 'measureMs'>;

export function pointsOf({ scenarios: names, mode }: Pick<BenchOptions, 'scenarios' | 'mode'>): Point[] {
  return names.flatMap((name) => {
    const scenario = scenarios[name];
    const counts = mode === 'quick' ? scenario.quickConnectionCounts : scenario.connectionCounts;
    return counts.map((connections) => ({ scenario, connections }));
  });
}

/** Rounds are the outer loop: what the machine does to one minute hits all targets of a round, and one round only. */
export async function runRounds(parts: BenchParts, points: readonly Point[], options: BenchOptions): Promise<Run[]> {
  const progress = new Progress((options.rounds + 1) * points.length * parts.targets.length);
  await rehearse(parts, points, progress);
  const runs: Run[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const point of points) {
      for (const target of parts.targets) {
        progress.step(`round ${round}: ${describe(point, target)}`);
        runs.push(await runOnce(parts, round, point, target, options));
      }
    }
  }
  progress.end();
  return runs;
}

/** Compiles hot code before anything counts, and ends a bench that cannot succeed before it takes its minutes. */
async function rehearse(parts: BenchParts, points: readonly Point[], progress: Progress): Promise<void> {
  for (const point of points) {
    for (const target of parts.targets) {
      progress.step(`rehearsal: ${describe(point, target)}`);
      const times = { warmUpMs: 0, measureMs: REHEARSAL_MS };
      const { faults } = (await runOnce(parts, 0, point, target, times)).measurement;
      if (faultCount(faults) > 0) throw new Error(`${describe(point, target)}: ${JSON.stringify(faults)}`);
    }
  }
}

async function runOnce(
  { backends, users, load }: BenchParts,
  round: number,
  { scenario, connections }: Point,
  target: Target,
  { warmUpMs, measureMs }: RunTimes,
): Promise<Run> {
  const connectionPlans = users.slice(0, connections).map(({ token }, connection): ConnectionPlan => ({
    headers: { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' },
    script: scenario.createScript(target.hop, connection),
  }));
  const measurement = await load.run({
    origin: target.origin,
    connections: connectionPlans,
    warmUpMs,
    measureMs,
    targetPids: target.rootPid === undefined ? [] : processTree(target.rootPid),
    backendPids: [backends.pid],
  });
  const requestsPerUnit = connectionPlans[0]?.script.loop.length ?? 1;
  const { name, unit } = scenario;
  return { round, scenario: name, unit, connections, target: target.name, requestsPerUnit, measurement };
}

function describe({ scenario, connections }: Point, target: Target): string {
  return `${scenario.name}, ${connections} connections, ${target.name}`;
}
