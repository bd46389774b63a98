// The run itself, over a small built tree: which mutants are noticed, which are not, and which cannot be judged.
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { projectRoot } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import type { Mutant } from './mutant.js';
import { MutationRun } from './mutation-run.js';

const SOURCE = 'export const limit: number = 3;\nexport const spare: number = 4;\n';

/** A root with one source and its tests, as the build leaves them. */
function createRoot(t: Test): string {
  const root = createScratchDirectory(t);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const name of ['tsconfig.json', 'node_modules']) symlinkSync(join(projectRoot, name), join(root, name));
  write('package.json', '{ "type": "module" }');
  write('src/limit.ts', SOURCE);
  for (const path of ['build/src', 'dist', 'dist-bootstrap']) {
    write(`${path}/limit.js`, 'export const limit = 3;\nexport const spare = 4;\n');
  }
  write(
    'build/test/limit.test.js',
    `import { limit } from '../src/limit.js'; while (limit === 0); process.exit(limit === 3 ? 0 : 1);`,
  );
  write('build/test/passes.test.js', `import '../../dist/limit.js';`);
  write('build/test/fails.test.js', 'process.exit(1);');
  return root;
}

function mutant(text: string, becomes: string, ...noticedBy: string[]): Mutant {
  return { file: 'src/limit.ts', slip: `${text} becomes ${becomes}`, text, becomes, noticedBy };
}

function createRun(
  t: Test,
  root: string,
  testMsMax = 60_000,
  isMeasuring = (_name: string): boolean => false,
): MutationRun {
  const run = new MutationRun({ root, jobs: 2, testMsMax, isMeasuring });
  t.teardown(() => run.end());
  return run;
}

t.test('a mutant is killed by the first test that fails, or survives; the built files stay unchanged', async (t) => {
  const root = createRoot(t);
  const run = createRun(t, root);
  const noticed = mutant('= 3', '= 5', 'passes', 'limit');
  const unnoticed = mutant('= 4', '= 5', 'passes', 'limit');
  await run.check([noticed, unnoticed]);
  const told: Mutant[] = [];
  const verdicts = await run.try([noticed, unnoticed, noticed], (verdict) => told.push(verdict.mutant));
  const killedBy = new Map(verdicts.map((verdict) => [verdict.mutant, verdict.killedBy]));
  t.equal(killedBy.get(noticed), 'limit');
  t.equal(killedBy.get(unnoticed), undefined);
  t.equal(told.length, 3);
  t.equal(readFileSync(join(root, 'src/limit.ts'), 'utf8'), SOURCE);
  for (const path of ['build/src', 'dist', 'dist-bootstrap']) {
    t.match(readFileSync(join(root, path, 'limit.js'), 'utf8'), 'limit = 3');
  }
});

t.test('of the tests that notice a mutant the quickest runs first', async (t) => {
  const root = createRoot(t);
  writeFileSync(
    join(root, 'build/test/slow.test.js'),
    `import { limit } from '../src/limit.js'; setTimeout(() => process.exit(limit === 3 ? 0 : 1), 2_000);`,
  );
  const run = createRun(t, root);
  const noticed = mutant('= 3', '= 5', 'slow', 'limit');
  await run.check([noticed]);
  const [verdict] = await run.try([noticed], () => {});
  t.equal(verdict?.killedBy, 'limit');
});

t.test('a test that measures has nothing beside it, without a mutant and with one', async (t) => {
  const root = createRoot(t);
  const test = (name: string, besides: string): string => `
    import { existsSync, rmSync, writeFileSync } from 'node:fs';
    import { limit } from '../src/limit.js';
    const at = (name) => '${root}/' + name + '.runs';
    writeFileSync(at('${name}'), '');
    setTimeout(() => {
      const isAlone = !existsSync(at('${besides}'));
      rmSync(at('${name}'));
      process.exit('${name}' === 'other' ? Number(limit !== 3) : Number(!isAlone));
    }, 1_500);`;
  writeFileSync(join(root, 'build/test/measures.test.js'), test('measures', 'other'));
  writeFileSync(join(root, 'build/test/other.test.js'), test('other', 'measures'));
  const run = createRun(t, root, 60_000, (name) => name === 'measures');
  const measured = mutant('= 3', '= 5', 'measures');
  const others = [mutant('= 3', '= 6', 'other'), mutant('= 3', '= 7', 'other')];
  await run.check([measured, ...others]);
  const verdicts = await run.try([measured, ...others], () => {});
  t.equal(verdicts.find((verdict) => verdict.mutant === measured)?.killedBy, undefined, 'it saw no other');
  t.same(
    verdicts.map(({ killedBy }) => killedBy),
    ['other', 'other', undefined],
  );
});

t.test('a test that hangs because of a mutant has noticed it', async (t) => {
  const run = createRun(t, createRoot(t), 3_000);
  const [verdict] = await run.try([mutant('= 3', '= 0', 'limit')], () => {});
  t.match(verdict, { killedBy: 'limit', hasHung: true });
});

t.test('a test that fails without a mutant proves nothing, and is named', async (t) => {
  const run = createRun(t, createRoot(t));
  await t.rejects(run.check([mutant('= 3', '= 5', 'limit', 'fails')]), /fails without a mutant: fails \(failed\)/);
  await t.rejects(run.check([mutant('= 3', '= 5', 'absent')]), /fails without a mutant: absent/);
});

t.test('a source without a built file in each program cannot be mutated: it needs the by-file build', async (t) => {
  const root = createRoot(t);
  rmSync(join(root, 'dist/limit.js'));
  await t.rejects(createRun(t, root).check([mutant('= 3', '= 5', 'limit')]), /src\/limit\.ts .*npm run build:by-file/);
});

t.test('mutants that no longer fit are all named, before any test runs', async (t) => {
  const run = createRun(t, createRoot(t));
  const faults = [mutant('= 7', '= 8', 'fails'), mutant('= 3;', '= ;', 'fails')];
  await t.rejects(
    run.check([...faults, mutant('= 3', '= 5', 'limit')]),
    /= 7 becomes = 8[^]*no longer there[^]*= 3; becomes = ;[^]*expected/,
  );
});

t.test('the copy is removed at the end', async (t) => {
  const root = createRoot(t);
  const run = new MutationRun({ root, jobs: 1, testMsMax: 60_000 });
  const path = run.paths[0];
  t.ok(path !== undefined && existsSync(path));
  run.end();
  t.notOk(path !== undefined && existsSync(path));
});
