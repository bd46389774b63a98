// `npm run mutate`: draws mutants of each package at random, asks the package's own tests about them, and prints those that no test
// noticed. Exit status 1 when a package is below the floor. Stryker generates the mutants, as a library: its own
// runner draws no sample, and there are tens of thousands.
import { fileURLToPath } from 'node:url';
import { drawMutants } from './draw.js';
import { judge, type Judgement } from './judge.js';
import { MutatedTree } from './mutated-tree.js';
import { parseOptions, usage, type MutationOptions } from './options.js';
import { packagesOf, testsOf, type Package } from './packages.js';

const EXIT_USAGE = 64;
/** Of a package's drawn mutants, so many of a hundred are noticed. */
const FLOOR_PERCENT = 80;

const root = fileURLToPath(new URL('../../..', import.meta.url));
const { packages, sample, seed, jobs } = chosen(process.argv.slice(2));
const tree = new MutatedTree(root);
process.once('exit', () => tree.remove());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

process.stdout.write(`seed ${seed}\n`);
const below: string[] = [];
for (const each of packages) {
  const beganMs = performance.now();
  const drawn = await drawMutants(root, each, sample, seed);
  const tests = testsOf(root, each, [...drawn.instrumented.keys()]);
  const judgement = await judge(tree, drawn, tests, jobs);
  const percent = report(each, drawn.generated, judgement, (performance.now() - beganMs) / 1_000);
  if (percent < FLOOR_PERCENT) below.push(each.name);
}
if (below.length > 0) process.stdout.write(`below ${FLOOR_PERCENT} %: ${below.join(', ')}\n`);
process.exitCode = below.length > 0 ? 1 : 0;

function chosen(words: readonly string[]): MutationOptions & { readonly packages: readonly Package[] } {
  try {
    const options = parseOptions(words);
    const all = packagesOf(root);
    const names = all.map(({ name }) => name);
    const unknown = options.only.filter((name) => !names.includes(name));
    if (unknown.length > 0) throw new Error(`no such package: ${unknown.join(', ')}; there are ${names.join(', ')}`);
    return { ...options, packages: all.filter(({ name }) => options.only.length === 0 || options.only.includes(name)) };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}\n`);
    return process.exit(EXIT_USAGE);
  }
}

/** @returns how many of a hundred were noticed. */
function report({ name }: Package, generated: number, { verdicts, failing }: Judgement, tookS: number): number {
  const count = (outcome: string): number => verdicts.filter((verdict) => verdict.outcome === outcome).length;
  const percent = verdicts.length === 0 ? 100 : (100 * (count('killed') + count('timeout'))) / verdicts.length;
  const numbers = ['killed', 'timeout', 'survived'].map((outcome) => `${count(outcome)} ${outcome}`).join(', ');
  const of = `${verdicts.length} of ${generated} mutants`;
  process.stdout.write(`${name}: ${percent.toFixed(0)} % noticed (${of}: ${numbers}; ${tookS.toFixed(0)} s)\n`);
  for (const { mutant, outcome, tests } of verdicts) {
    if (outcome !== 'survived') continue;
    const { source, line, operator, from, to } = mutant;
    const why = tests === 0 ? '; no test comes by' : '';
    process.stdout.write(`  ${source}:${line} ${operator}: ${from} → ${to}${why}\n`);
  }
  for (const test of failing) process.stdout.write(`  not asked, because it fails without a mutant: ${test}\n`);
  return percent;
}
