// `npm run conformance`: the official suite against our fixture behind either plane, and its client scenarios with the
// gateway as the client. The last line says how many of the scored scenarios passed. Exit status 1 when a scenario failed or
// warned, scored or not.
import { parseArgs } from 'node:util';
import { runProgram } from '../../bench/program.js';
import { Scope } from '../attack/scope.js';
import { runClientScenarios } from './client-scenarios.js';
import { installSuite } from './official-suite.js';
import { runServerScenarios, type Subject } from './server-scenarios.js';
import { REVISIONS, type Revision, type Tally } from './tally.js';

const usage = `Usage: npm run conformance [-- --requirements revision --part name --scenario name --workers n --verbose]
  --requirements r  what the suite requires of this revision: 2025-11-25 when not given, or 2026-07-28. May be given again
  --part name      dataplane: the fixture behind the dataplane; control: behind the control plane's /mcp; client: the
                   gateway as the client of the suite's servers; direct: the fixture itself, without the gateway. May be
                   given again; the first three when not given
  --scenario name  this scenario alone; may be given again
  --workers n      of the dataplane; 2 when not given
  --verbose        all that the suite says`;

const PARTS = ['dataplane', 'control', 'client', 'direct'] as const;

type Part = (typeof PARTS)[number];

interface Options {
  readonly revisions: readonly Revision[];
  readonly parts: readonly Part[];
  readonly scenarios: readonly string[];
  readonly workers: number;
  readonly isVerbose: boolean;
}

await runProgram(usage, parse, conform);

function parse(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      requirements: { type: 'string', multiple: true, default: ['2025-11-25'] },
      part: { type: 'string', multiple: true, default: ['dataplane', 'control', 'client'] },
      scenario: { type: 'string', multiple: true, default: [] },
      workers: { type: 'string', default: '2' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1) throw new Error('--workers takes a whole number from 1');
  const parts = values.part.map((name) => oneOf(PARTS, name, '--part'));
  const revisions = values.requirements.map((name) => oneOf(REVISIONS, name, '--requirements'));
  return { revisions, parts, scenarios: values.scenario, workers, isVerbose: values.verbose };
}

function oneOf<T extends string>(known: readonly T[], name: string, option: string): T {
  const found = known.find((candidate) => candidate === name);
  if (found === undefined) throw new Error(`${option} takes one of ${known.join(', ')}`);
  return found;
}

async function conform(options: Options): Promise<number> {
  await installSuite();
  const tallies: Tally[] = [];
  for (const revision of options.revisions) {
    // At the same time, since each mostly waits for programs.
    const outcomes = await Promise.allSettled(options.parts.map((part) => runPart(part, revision, options)));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') throw outcome.reason;
      tallies.push(outcome.value);
    }
  }
  const sum = (count: (tally: Tally) => number): number => tallies.reduce((total, tally) => total + count(tally), 0);
  say(`${sum(({ passedCount }) => passedCount)} of ${sum(({ scoredCount }) => scoredCount)}`);
  if (sum(({ runCount }) => runCount) === 0) throw new Error('no part has a scenario of this name');
  return tallies.every(({ isAllGood }) => isAllGood) ? 0 : 1;
}

/** Writes its output in one piece, at the end. */
async function runPart(part: Part, revision: Revision, options: Options): Promise<Tally> {
  const lines = [`${part}, ${revision}:`];
  const scope = new Scope();
  try {
    const tally = await run(scope, part, revision, options, (line) => lines.push(line));
    lines.push(`${part}, ${revision}: ${tally.passedCount} of ${tally.scoredCount}`);
    return tally;
  } finally {
    lines.forEach(say);
    await scope.end();
  }
}

async function run(
  scope: Scope,
  part: Part,
  revision: Revision,
  { scenarios, workers, isVerbose }: Options,
  report: (line: string) => void,
): Promise<Tally> {
  const runOptions = { revision, workers, scenarios, isVerbose, report };
  if (part === 'client') return runClientScenarios(scope, runOptions);
  const subject: Subject = part;
  return runServerScenarios(scope, subject, runOptions);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
