// The outcome of a bench: every run of every round, with what it ran on. Written as JSON and read by the report.
import type { Measurement } from './load-plan.js';
import type { Machine } from './machine.js';
import type { ScenarioName, Unit } from './scenario.js';
import type { TargetName } from './targets.js';

export interface Run {
  /** Runs of one point in the same round are compared. */
  readonly round: number;
  readonly scenario: ScenarioName;
  readonly unit: Unit;
  readonly connections: number;
  readonly target: TargetName;
  /** Requests that this target needs for one unit: a session is 13 for a gateway and 16 for plain hops. */
  readonly requestsPerUnit: number;
  readonly measurement: Measurement;
}

export interface BenchResults {
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  readonly machine: Machine;
  readonly runs: readonly Run[];
}

/** CPU time of a run's target for one unit, µs. */
export function cpuUsPerUnit({ measurement, requestsPerUnit }: Run): number {
  return (measurement.targetCpuUs / measurement.requests) * requestsPerUnit;
}

/** One line per run: kept results are many, and are read line by line if at all. */
export function renderJson({ runs, ...facts }: BenchResults): string {
  const lines = runs.map((run) => `    ${JSON.stringify(run)}`).join(',\n');
  return `${JSON.stringify(facts, undefined, 2).slice(0, -2)},\n  "runs": [\n${lines}\n  ]\n}\n`;
}
