// The bench's command line: which scenarios, how many rounds, quick or full, on whose gateway, and what is done with the results.
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { RunTimes } from './load-plan.js';
import { parsePeer, type Peer } from './peer.js';
import { canBeHeldAgainstBefore } from './before.js';
import { scenarioNames, type ScenarioName } from './scenario.js';
import { scenarios as allScenarios } from './scenarios.js';

const ROUNDS_MAX = 100;
/** Scenarios that need only the two called backends behind one endpoint. With --peer, the first ones are the default. */
const peerScenarioNames: readonly ScenarioName[] = ['call', 'session', 'large-arguments', 'large-result', 'half-rate'];
const PEER_SCENARIOS_BY_DEFAULT = 2;

export interface BenchOptions extends RunTimes {
  readonly scenarios: readonly ScenarioName[];
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  /** How many turns a round is divided into where CPU time is compared. */
  readonly cpuTurns: number;
  /** What is done with the results once they are written. */
  readonly then: 'report' | 'report and save baseline' | 'report and check';
  /** Earlier results to use instead of new ones. */
  readonly keptResultsPath: string | undefined;
  /** The main.js of another build of ours, which replaces the yardsticks. */
  readonly programBefore: string | undefined;
  /** Other gateways, measured beside ours. */
  readonly peers: readonly Peer[];
  /** The first port of the called backends, which then have consecutive ports; 0: any free ones. */
  readonly firstBackendPort: number;
}

export const usage = `Usage: npm run bench [-- scenario … --quick --rounds n]
  scenario           any of ${scenarioNames.join(', ')};
                     all of them when none is named
  --quick            fewer connection counts, shorter runs, 3 rounds: under 3 minutes
  --rounds n         1 to ${ROUNDS_MAX}; 5 when not given
  --save-baseline    what comes of it is the new bench/baseline.json
  --check            compare with bench/baseline.json; exit status 2 when a figure is out of bounds
  --results file     measure nothing, take these results
  --against folder   another checkout of Switchyard, built: the yardstick is its gateway, in the same rounds
Other gateways beside ours, with the bench's backends behind them:
  --peer word        NAME=URL,token,separator,pid: its MCP endpoint, the bearer token of all connections, what stands
                     between a backend's name and a tool's (-), its process; once for each;
                     ${peerScenarioNames.join(', ')}
  --backend-port n   alpha listens here and beta one above`;

/** Throws an error fit for the user. */
export function parseOptions(words: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      'save-baseline': { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      results: { type: 'string' },
      against: { type: 'string' },
      peer: { type: 'string', multiple: true, default: [] },
      'backend-port': { type: 'string' },
    },
  });
  const { against } = values;
  const peers = values.peer.map(parsePeer);
  if (new Set(peers.map(({ name }) => name)).size < peers.length) throw new Error('each --peer has a name of its own');
  if (values['save-baseline'] && values.check) throw new Error('--save-baseline or --check, not both');
  if (peers.length > 0 && (values['save-baseline'] || values.check)) {
    throw new Error('the baseline is of our own gateway alone: without --peer');
  }
  if (against !== undefined && (peers.length > 0 || values['save-baseline'] || values.check)) {
    throw new Error('--against is a comparison of its own: without --peer, --check and --save-baseline');
  }
  return {
    scenarios: parseScenarios(positionals, peers, against !== undefined),
    programBefore: against === undefined ? undefined : join(resolve(against), 'dist', 'main.js'),
    mode: values.quick ? 'quick' : 'full',
    rounds: values.rounds === undefined ? (values.quick ? 3 : 5) : parseWhole('--rounds', values.rounds, 1, ROUNDS_MAX),
    ...(values.quick
      ? { warmUpMs: 300, measureMs: 800, cpuTurns: 1 }
      : { warmUpMs: 1_000, measureMs: 3_000, cpuTurns: 5 }),
    then: values['save-baseline'] ? 'report and save baseline' : values.check ? 'report and check' : 'report',
    keptResultsPath: values.results,
    peers,
    firstBackendPort: parseWhole('--backend-port', values['backend-port'] ?? '0', 0, 65_534),
  };
}

function parseScenarios(
  words: readonly string[],
  peers: readonly Peer[],
  isAgainstBefore: boolean,
): readonly ScenarioName[] {
  const unknown = words.filter((name) => !isScenarioName(name));
  if (unknown.length > 0) throw new Error(`unknown scenario: ${unknown.join(', ')}`);
  const named = [...new Set(words.filter(isScenarioName))];
  if (isAgainstBefore) return parseScenariosOfBoth(named);
  if (peers.length === 0) return named.length > 0 ? named : scenarioNames;
  const unfit = named.filter((name) => !peerScenarioNames.includes(name));
  if (unfit.length > 0) throw new Error(`not with --peer: ${unfit.join(', ')}`);
  return named.length > 0 ? named : peerScenarioNames.slice(0, PEER_SCENARIOS_BY_DEFAULT);
}

function parseScenariosOfBoth(named: readonly ScenarioName[]): readonly ScenarioName[] {
  const unfit = named.filter((name) => !canBeHeldAgainstBefore(allScenarios[name]));
  if (unfit.length > 0) throw new Error(`not with --against: ${unfit.join(', ')}`);
  if (named.length > 0) return named;
  return scenarioNames.filter((name) => canBeHeldAgainstBefore(allScenarios[name]));
}

function parseWhole(option: string, word: string, min: number, max: number): number {
  const number = Number(word);
  if (word === '' || !Number.isInteger(number) || number < min || number > max) {
    throw new Error(`${option} takes a whole number from ${min} to ${max}, not ${word}`);
  }
  return number;
}

function isScenarioName(name: string): name is ScenarioName {
  return (scenarioNames as readonly string[]).includes(name);
}
