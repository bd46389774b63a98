// `npm run mutate`: makes one-line slips in a copy of the program, and shows which of them no test notices. Exit status 1
// when too few are noticed, or when a mutant no longer fits its file.
import { fileURLToPath } from 'node:url';
import { runProgram } from '../../bench/program.js';
import { isMeasuring } from '../runner/file-order.js';
import { areas } from './areas.js';
import { nameOf, type Mutant } from './mutant.js';
import { MutationRun, type Verdict } from './mutation-run.js';
import { parseOptions, usage, type MutationOptions } from './options.js';
import { isEnough, KILLED_SHARE_MIN, killedShare, scoreTable, survivorsInWords } from './score.js';

/** The longest test files take a minute; several times that on a busy machine. */
const TEST_MS_MAX = 240_000;

await runProgram(usage, (words) => parseOptions(words, Object.keys(areas)), tryMutants);

async function tryMutants(options: MutationOptions): Promise<number> {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const wanted = wantedOf(options);
  const mutants = wanted.flatMap((area) => area.mutants);
  const run = new MutationRun({ root, jobs: options.jobs, testMsMax: TEST_MS_MAX, isMeasuring: isMeasuringTest });
  process.once('exit', () => run.end());
  if (options.isList) {
    run.checkTexts(mutants);
    for (const mutant of mutants) say(nameOf(mutant));
    return 0;
  }
  await run.check(mutants);
  const verdicts = await run.try(mutants, (verdict) => say(lineOf(verdict)));
  const byArea = wanted.map(({ area, mutants: own }) => ({
    area,
    verdicts: verdicts.filter(({ mutant }) => own.includes(mutant)),
  }));
  say(`\n${scoreTable(byArea)}\n\n${survivorsInWords(verdicts)}`);
  say(`${(100 * killedShare(verdicts)).toFixed(1)} % noticed; ${100 * KILLED_SHARE_MIN} % must be.`);
  return isEnough(verdicts) ? 0 : 1;
}

/** Areas without a selected mutant are left out. */
function wantedOf({ only, match }: MutationOptions): { readonly area: string; readonly mutants: readonly Mutant[] }[] {
  const chosen = Object.entries(areas).filter(([area]) => only.includes(area));
  return chosen
    .map(([area, mutants]) => ({ area, mutants: mutants.filter((mutant) => nameOf(mutant).includes(match)) }))
    .filter(({ mutants }) => mutants.length > 0);
}

/** @param name for example `integration/tenants`. */
function isMeasuringTest(name: string): boolean {
  return isMeasuring(`build/test/${name}.test.js`);
}

function lineOf({ mutant, killedBy, hasHung, tookMs }: Verdict): string {
  const by = killedBy === undefined ? '' : `, by ${killedBy}${hasHung ? ', which hung' : ''}`;
  return `${killedBy === undefined ? 'SURVIVED' : 'killed  '} ${nameOf(mutant)} (${(tookMs / 1_000).toFixed(1)} s${by})`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
