// `npm run attack`: every experiment against every arrangement, with a line each as it ends and a table at the end. Exit
// status 1 when one had an unexpected outcome.
import { runProgram } from '../../bench/program.js';
import { renderTable } from '../../bench/table.js';
import { startNameServer } from '../support/name-server.js';
import { AttackRun, type Outcome } from './attack-run.js';
import { controlledOf, isNoticed, runControl } from './controls.js';
import { experiments } from './experiments.js';
import type { Experiment } from './experiment.js';
import { parseOptions, usage, type Arrangement, type AttackOptions } from './options.js';
import { say } from './program.js';

const MIB = 1_048_576;

await runProgram(
  usage,
  (words) =>
    parseOptions(
      words,
      experiments.flatMap(({ name, report }) => [name, ...selectorsOf(report)]),
    ),
  async (options) => (options === 'list' ? list() : options.isOfControls ? tryControls(options) : attack(options)),
);

function list(): number {
  for (const { name, report = '', control, expected } of experiments)
    say(`${name.padEnd(26)} ${report.padEnd(2)} ${(control === undefined ? '' : 'control').padEnd(7)} ${expected}`);
  return 0;
}

/** Exit status 1 when an experiment did not notice that the protection under test was missing. */
async function tryControls({ only, arrangements }: AttackOptions): Promise<number> {
  let unnoticed = 0;
  const nameServer = await startNameServer();
  try {
    for (const controlled of controlledOf(experiments, only)) {
      const { experiment, control } = controlled;
      const outcome = await runControl(controlled, arrangements[0]!, nameServer);
      const isWell = isNoticed(control, outcome);
      if (!isWell) unnoticed += 1;
      const words = `${experiment.name} (${control.options.join(' ') || experiment.expected})`;
      say(`  ${isWell ? 'noticed' : 'MISSED '} ${words}: ${cellText([outcome.seen, ...outcome.faults].join('; '))}`);
    }
  } finally {
    nameServer.close();
  }
  const without = experiments.filter(({ control }) => control === undefined).map(({ name }) => name);
  if (only.length === 0)
    say(`\nWithout a control, as no option takes away what they are about: ${without.join(', ')}.`);
  say(`\n${unnoticed === 0 ? 'Each was noticed' : `${unnoticed} were not noticed`}.`);
  return unnoticed === 0 ? 0 : 1;
}

async function attack(options: AttackOptions): Promise<number> {
  const outcomes: Outcome[] = [];
  for (const arrangement of options.arrangements) {
    say(`\n${nameOf(arrangement)}`);
    const nameServer = await startNameServer();
    const run = new AttackRun(arrangement, options.isShort, nameServer);
    try {
      for (const experiment of experiments.filter((candidate) => isWanted(candidate, arrangement, options))) {
        const outcome = await run.run(experiment);
        outcomes.push(outcome);
        const verdict = outcome.faults.length === 0 ? 'ok  ' : 'FAIL';
        say(`  ${verdict} ${experiment.name} (${(outcome.tookMs / 1_000).toFixed(1)} s): ${outcome.seen}`);
        for (const fault of outcome.faults) say(`         ${fault}`);
      }
    } finally {
      await run.end();
      nameServer.close();
    }
  }
  say(`\n${tableOf(outcomes)}`);
  const failed = outcomes.filter(({ faults }) => faults.length > 0).length;
  say(`\n${outcomes.length - failed} of ${outcomes.length} as they must be.`);
  return failed === 0 ? 0 : 1;
}

function isWanted(experiment: Experiment, arrangement: Arrangement, options: AttackOptions): boolean {
  const { only, isShort, arrangements } = options;
  if (arrangement.workerCount < (experiment.workersMin ?? 1)) return false;
  if (only.length > 0)
    return only.some((word) => word === experiment.name || selectorsOf(experiment.report).includes(word));
  if (!isShort) return true;
  const isFirst = arrangement === arrangements[0];
  return experiment.isLong !== true && (isFirst || experiment.isOnceInShort !== true);
}

/** The words that select an experiment beside its name: `X4`, and `X` for all that repeat a report. */
function selectorsOf(report: string | undefined): readonly string[] {
  return report === undefined ? [] : [report, report.slice(0, 1)];
}

function tableOf(outcomes: readonly Outcome[]): string {
  const left = 'left';
  return renderTable<Outcome>(
    [
      { title: 'experiment', align: left, cell: ({ experiment: { name, report = '' } }) => `${name} ${report}`.trim() },
      { title: 'on', align: left, cell: ({ arrangement }) => nameOf(arrangement) },
      { title: 'expected', align: left, cell: ({ experiment }) => experiment.expected },
      { title: 'seen', align: left, cell: ({ seen, faults }) => cellText([seen, ...faults].join('; ')) },
      { title: 'victim: requests, p99 alone → beside', align: left, cell: ({ victim }) => victim },
      { title: 'longest turn', align: 'right', cell: ({ turnMs }) => (turnMs === 0 ? '' : `${turnMs.toFixed(0)} ms`) },
      { title: 'MiB', align: 'right', cell: ({ residentBytesMax }) => (residentBytesMax / MIB).toFixed(0) },
      { title: 'verdict', align: left, cell: ({ faults }) => (faults.length === 0 ? 'ok' : 'FAIL') },
    ],
    outcomes,
  );
}

/** The text on one line, without the character that separates cells. */
function cellText(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '/').slice(0, 240);
}

function nameOf({ workerCount, store }: Arrangement): string {
  return `${workerCount} ${workerCount === 1 ? 'worker' : 'workers'}, ${store === 'redis' ? 'Redis' : 'embedded store'}`;
}
