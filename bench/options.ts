// The bench's command line: which scenarios, how many rounds, quick or full.
import { parseArgs } from 'node:util';
import { scenarioNames, type ScenarioName } from './scenarios.js';

const ROUNDS_MAX = 100;

export interface BenchOptions {
  readonly scenarios: readonly ScenarioName[];
  readonly mode: 'quick' | 'full';
  readonly rounds: number;
  /** Load before a measurement, so that connections, caches and compiled code are warm. */
  readonly warmUpMs: number;
  readonly measureMs: number;
}

export const usage = `Usage: npm run bench [-- scenario … --quick --rounds n]
  scenario    any of ${scenarioNames.join(', ')}; all of them when none is named
  --quick     fewer connection counts, shorter runs, 3 rounds: under 3 minutes
  --rounds n  1 to ${ROUNDS_MAX}; 5 when not given`;

/** Throws an error fit for the user. */
export function parseOptions(words: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, rounds: { type: 'string' } },
  });
  const unknown = positionals.filter((name) => !isScenarioName(name));
  if (unknown.length > 0) throw new Error(`unknown scenario: ${unknown.join(', ')}`);
  const named = positionals.filter(isScenarioName);
  const mode = values.quick ? 'quick' : 'full';
  return {
    scenarios: named.length > 0 ? [...new Set(named)] : scenarioNames,
    mode,
    rounds: values.rounds === undefined ? (values.quick ? 3 : 5) : parseRounds(values.rounds),
    ...(values.quick ? { warmUpMs: 500, measureMs: 1_500 } : { warmUpMs: 1_000, measureMs: 3_000 }),
  };
}

function parseRounds(word: string): number {
  const rounds = Number(word);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > ROUNDS_MAX) {
    throw new Error(`--rounds takes a whole number from 1 to ${ROUNDS_MAX}, not ${word}`);
  }
  return rounds;
}

function isScenarioName(name: string): name is ScenarioName {
  return (scenarioNames as readonly string[]).includes(name);
}
