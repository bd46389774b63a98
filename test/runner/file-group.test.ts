// Files that share a process are reported, and judged, as if each had its own.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Parser, type Result } from 'tap-parser';
import t, { type Test } from 'tap';
import { projectRoot } from '../support/gateway.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { isMeasuring, testFiles } from './tiers.js';
import { groupFiles } from './shared-processes.js';
import { runTestFiles } from './test-run.js';

function treeOf(t: Test, files: Readonly<Record<string, string>>): string {
  const root = createScratchDirectory(t);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

/** Runs the files as one group. */
async function run(t: Test, files: Readonly<Record<string, string>>) {
  let tap = '';
  const isPassed = await runTestFiles(Object.keys(files), {
    root: treeOf(t, files),
    jobs: 2,
    isStrict: true,
    groupFiles: (names) => [names],
    write: (text) => (tap += text),
  });
  const parser = new Parser();
  const results: Record<string, boolean> = {};
  parser.on('assert', ({ name, ok }: Result) => {
    results[name] = ok;
  });
  parser.end(tap);
  return { isPassed, results, isTapGood: parser.ok, tap };
}

const GOOD = `
  import t from 'tap';
  t.test('good', async (t) => { t.ok(true, 'holds'); });`;

/** In a group the file does as the text says; run by itself, where tap is not found, it passes. */
function passesAlone(inGroup: string): string {
  return `
    const t = await import('tap').then((tap) => tap.default, () => undefined);
    if (t === undefined) console.log('ok 1 - alone\\n1..1');
    else { ${inGroup} }`;
}

t.test('files of a group share a process, but no test state', async (t) => {
  const { isPassed, results, isTapGood, tap } = await run(t, {
    'a.mjs': `
      import t from 'tap';
      globalThis.seen = process.pid;
      t.beforeEach(() => { globalThis.isHooked = true; });
      t.teardown(() => { globalThis.isTornDown = true; });
      t.test('first', async (t) => { t.ok(globalThis.isHooked); globalThis.isHooked = false; });`,
    'b.mjs': `
      import t from 'tap';
      t.test('second', async (t) => {
        t.equal(globalThis.seen, process.pid, 'one process');
        t.equal(globalThis.isTornDown, true, 'the one before is over');
        t.equal(globalThis.isHooked, false, 'its hooks are not called for others');
      });`,
  });
  t.same(results, { 'a.mjs': true, 'b.mjs': true });
  t.equal(isPassed, true);
  t.equal(isTapGood, true);
  t.match(tap, /^ {12}ok 1 - one process$|^ {8}ok 1 - one process$/m);
});

for (const [what, text] of Object.entries({
  'an assertion fails': "import t from 'tap'; t.test('bad', async (t) => { t.fail('does not hold'); });",
  'an assertion fails at the top': "import t from 'tap'; t.fail('does not hold');",
  'it throws when it is loaded': "throw new Error('too early');",
  'it has no test': '',
  'it does not do what it planned': "import t from 'tap'; t.test('bad', (t) => { t.plan(2); t.pass(); t.end(); });",
})) {
  t.test(`a file of a group fails, and no other with it: ${what}`, async (t) => {
    const { isPassed, results, isTapGood } = await run(t, { 'a.mjs': GOOD, 'bad.mjs': text, 'c.mjs': GOOD });
    t.same(results, { 'a.mjs': true, 'bad.mjs': false, 'c.mjs': true });
    t.equal(isPassed, false);
    t.equal(isTapGood, false);
  });
}

t.test('when a process ends too early, the files that it did not finish run by themselves', async (t) => {
  const { isPassed, results, tap } = await run(t, {
    'a.mjs': GOOD,
    'ends.mjs': passesAlone("t.test('x', async () => process.kill(process.pid, 'SIGKILL'));"),
    'c.mjs': passesAlone("t.fail('not reached');"),
  });
  t.same(results, { 'a.mjs': true, 'ends.mjs': true, 'c.mjs': true });
  t.equal(isPassed, true);
  t.equal(tap.match(/ok 1 - alone$/gm)?.length, 2);
});

t.test('when a process fails but none of its files does, each file runs by itself', async (t) => {
  const { results, tap } = await run(t, {
    'a.mjs': passesAlone("t.pass('holds');"),
    'b.mjs': passesAlone("t.pass('holds'); process.on('exit', () => process.exit(3));"),
  });
  t.same(results, { 'a.mjs': true, 'b.mjs': true });
  t.equal(tap.match(/ok 1 - alone$/gm)?.length, 2);
});

t.test('a file that starts programs, or inspects the process, has a process of its own', async (t) => {
  const files = {
    'build/test/one.test.js': "import './support/calm.js';\nimport t from 'tap';",
    'build/test/starts.test.js': "import { helper } from './support/helper.js';",
    'build/test/looks.test.js': "console.log(process.env['HOME']);",
    'build/test/spec/system.test.js': '',
    'build/test/two.test.js': '// node:child_process is for others.',
    'build/test/support/calm.js': "export * from '../../src/program.js';",
    'build/test/support/helper.js': "import {\n  spawn,\n} from 'node:child_process';",
  };
  const names = Object.keys(files).filter((name) => name.endsWith('.test.js'));
  const [one, starts, looks, system, two] = names;
  t.same(groupFiles(treeOf(t, files), names), [[one, two], [starts], [looks], [system]]);
});

t.test('each file of this project runs once, and most small ones share processes', async (t) => {
  const files = testFiles(projectRoot, []).filter((name) => !isMeasuring(name));
  const groups = groupFiles(projectRoot, files);
  t.same(groups.flat().sort(), [...files].sort(), 'each is run once');
  t.ok(groups.filter((group) => group.length > 10).length > 8, 'most of the small ones share processes');
  t.notOk(groups.some((group) => group.length > 20));
});
