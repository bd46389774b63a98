// Points: one scenario with one number of connections each. The points that a bench runs, and the runs of each.
import { heldAgainstBefore } from './before.js';
import type { BenchOptions } from './options.js';
import { besidePeers } from './peer.js';
import type { Run } from './results.js';
import type { Scenario, ScenarioName } from './scenario.js';
import { scenarios } from './scenarios.js';
import { isPeerName, type PeerName, type TargetName } from './targets.js';

export interface Point {
  readonly scenario: Scenario;
  readonly connections: number;
}

export function pointsOf({
  scenarios: names,
  mode,
  programBefore,
  peers,
}: Pick<BenchOptions, 'scenarios' | 'mode' | 'programBefore' | 'peers'>): Point[] {
  return names.flatMap((name) => {
    const own = programBefore === undefined ? scenarios[name] : heldAgainstBefore(scenarios[name]);
    const scenario =
      peers.length === 0
        ? own
        : besidePeers(
            own,
            peers.map((peer) => peer.name),
          );
    const counts = mode === 'quick' ? scenario.quickConnectionCounts : scenario.connectionCounts;
    return counts.map((connections) => ({ scenario, connections }));
  });
}

/** All runs of one point. */
export class MeasuredPoint implements Point {
  readonly scenario: Scenario;
  readonly connections: number;
  readonly #runs: readonly Run[];

  constructor(scenario: Scenario, connections: number, runs: readonly Run[]) {
    this.scenario = scenario;
    this.connections = connections;
    this.#runs = runs;
  }

  /** In the order of the runs. */
  static group(runs: readonly Run[]): MeasuredPoint[] {
    const groups = new Map<string, [Run, ...Run[]]>();
    for (const run of runs) {
      const key = `${run.scenario} ${run.connections}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [run]);
      else group.push(run);
    }
    return [...groups.values()].map(
      (group) => new MeasuredPoint(scenarioOf(group[0].scenario, group), group[0].connections, group),
    );
  }

  /** Each once, in the order of the runs. */
  get peers(): PeerName[] {
    return [...new Set(this.#runs.map(({ target }) => target).filter(isPeerName))];
  }

  of(target: TargetName): readonly Run[] {
    return this.#runs.filter((run) => run.target === target);
  }
}

/** Runs of an earlier build replace the yardstick. */
function scenarioOf(name: ScenarioName, runs: readonly Run[]): Scenario {
  const scenario = scenarios[name];
  return runs.some(({ target }) => target === 'before') ? heldAgainstBefore(scenario) : scenario;
}
