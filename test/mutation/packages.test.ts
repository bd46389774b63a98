import { fileURLToPath } from 'node:url';
import t from 'tap';
import { packagesOf, testsOf } from './packages.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

void t.test('every source in a folder of the program is in one package', (t) => {
  const packages = packagesOf(root);
  t.ok(packages.some(({ name }) => name === 'auth'));
  t.ok(packages.some(({ name }) => name === 'worker/hop'));
  t.equal(new Set(packages.flatMap(({ sources }) => sources)).size, packages.flatMap(({ sources }) => sources).length);
  t.end();
});

void t.test(
  'a package is judged by the tests in its folder and those that import it, and by no test of whole systems',
  (t) => {
    const auth = packagesOf(root).find(({ name }) => name === 'auth');
    const tests = auth ? testsOf(root, auth, auth.sources) : [];
    t.ok(tests.includes('build/test/auth/token-verifier.test.js'));
    t.notOk(tests.some((test) => /^build\/test\/(?:integration|spec)\//.test(test)));
    t.end();
  },
);

void t.test(
  'a package that the relay joins is judged by the tests of the relay and of the modern handler, too',
  (t) => {
    const session = packagesOf(root).find(({ name }) => name === 'session');
    const tests = session ? testsOf(root, session, ['src/session/unsolicited-messages.ts']) : [];
    for (const test of ['session/subscriptions', 'relay/own-streams', 'modern/suspended-request'])
      t.ok(tests.includes(`build/test/${test}.test.js`), test);
    t.end();
  },
);

void t.test('the tests in the folder of a package are asked even if they start programs', (t) => {
  const primary = packagesOf(root).find(({ name }) => name === 'primary');
  const tests = primary ? testsOf(root, primary, ['src/primary/slot.ts']) : [];
  t.ok(tests.includes('build/test/primary/slot.test.js'));
  t.ok(
    tests.includes('build/test/primary/ready-page.test.js'),
    'which reaches the package only through such a program',
  );
  t.end();
});
