// A tree with one source and a few tests, and what is found out about its mutants.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import t, { type Test } from 'tap';
import { drawMutants } from './draw.js';
import { judge, type Outcome } from './judge.js';
import { MutatedTree } from './mutated-tree.js';

const SOURCE = `export function isFew(count: number): boolean {
  return count < 3;
}
export function isMany(count: number): boolean {
  return count > 9;
}
export function untested(count: number): number {
  return count + 1;
}
`;

/** A program that says what it was asked for once its coverage is written down. Its test kills it, at writing once more. */
const PROGRAM = `import { readdirSync, writeFileSync } from 'node:fs';
import { isMany } from '../../src/sample/bound.js';
const told = String(isMany(9));
const folder = process.env.MUTANTS_REACHED;
setInterval(() => {
  if (folder && !readdirSync(folder).some((file) => file.startsWith(String(process.pid)))) return;
  if (folder) writeFileSync(folder + '/' + process.pid + '-1.part', '["');
  console.log(told);
}, 20);
`;

/** Tests that run together after the quickest, of which the last alone notices a bound that is off by one. */
const TESTS: Readonly<Record<string, string>> = {
  first: 't.equal(isFew(1), true); t.equal(isFew(7), false);',
  second: 't.equal(isFew(0), true); t.equal(isMany(20), true);',
  third: 't.equal(isFew(3), false); t.equal(isMany(0), false);',
  failing: 't.equal(isFew(1), false);',
  killing: `import { spawn } from 'node:child_process';
const program = spawn(process.execPath, [new URL('program.js', import.meta.url).pathname]);
for await (const told of program.stdout) {
  program.kill('SIGKILL');
  t.match(String(told), /^false/);
}`,
};

function treeOf(t: Test): string {
  const root = t.testdir();
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  };
  write('package.json', '{"type":"module"}');
  write('src/sample/bound.ts', SOURCE);
  write('build/src/sample/bound.js', transformSync(SOURCE, { loader: 'ts' }).code);
  write('build/test/sample/program.js', PROGRAM);
  for (const [name, text] of Object.entries(TESTS)) {
    const head = "import t from 'tap';\nimport { isFew, isMany } from '../../src/sample/bound.js';\n";
    write(`build/test/sample/${name}.test.js`, head + text);
  }
  symlinkSync(fileURLToPath(new URL('../../../node_modules', import.meta.url)), join(root, 'node_modules'));
  return root;
}

t.test('what a test notices is killed, whether it runs alone or with others; nothing else is', async (t) => {
  const root = treeOf(t);
  const tree = new MutatedTree(root);
  t.teardown(() => tree.remove());
  const drawn = await drawMutants(root, { name: 'sample', sources: ['src/sample/bound.ts'] }, Infinity, 1);
  const tests = Object.keys(TESTS).map((name) => `build/test/sample/${name}.test.js`);
  const { verdicts, failing } = await judge(tree, drawn, tests, 2);
  t.same(failing, ['build/test/sample/failing.test.js'], 'a test that fails without a mutant is not asked');
  const outcomeOf = (from: string, to: string): Outcome | undefined =>
    verdicts.find(({ mutant }) => mutant.from === from && mutant.to === to)?.outcome;
  t.equal(outcomeOf('count < 3', 'true'), 'killed');
  t.equal(outcomeOf('count < 3', 'count <= 3'), 'killed');
  t.equal(outcomeOf('count > 9', 'false'), 'killed', 'by another test: one of the two ran with others');
  t.equal(outcomeOf('count > 9', 'count >= 9'), 'killed', 'by a test that kills the program that came by');
  t.equal(outcomeOf('count > 9', 'count <= 9'), 'killed');
  t.equal(outcomeOf('count + 1', 'count - 1'), 'survived');
  t.match(
    verdicts.filter(({ mutant }) => mutant.line === 8),
    [{ tests: 0 }],
    'no test comes by',
  );
  t.match(readFileSync(join(root, 'build/src/sample/bound.js'), 'utf8'), /count < 3/, 'the sources stay as they are');
});
