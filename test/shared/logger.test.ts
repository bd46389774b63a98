import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import t from 'tap';
import { subjectHash } from '../../src/shared/logger.js';

t.test('a subject in a log line is the beginning of its SHA-256', async (t) => {
  for (const subject of ['alice', '', 'é', 'alice@example.com', 'x'.repeat(10_000)]) {
    const digest = createHash('sha256').update(subject, 'utf8').digest('hex');
    t.equal(subjectHash(subject), digest.slice(0, 12));
  }
  t.equal(subjectHash('alice'), '2bd806c97f0e', 'as in any other tool');
});

t.test('the hash is short and stable, differs between subjects, and does not reveal the subject', async (t) => {
  const subjects = Array.from({ length: 1_000 }, (_, index) => `user-${index}`);
  const hashes = subjects.map(subjectHash);
  t.ok(hashes.every((hash) => /^[0-9a-f]{12}$/.test(hash)));
  t.equal(new Set(hashes).size, subjects.length);
  t.same(subjects.map(subjectHash), hashes);
});

t.test('a subject that is not valid text has a hash, too', async (t) => {
  t.match(subjectHash('\ud800'), /^[0-9a-f]{12}$/);
});

t.test('a fault of something outside has no stack trace in the log, and one of the program has', async (t) => {
  const program = [
    `import { createLogger, flushLog } from ${JSON.stringify(new URL('../../src/shared/logger.js', import.meta.url).href)};`,
    `import { OutsideFault } from ${JSON.stringify(new URL('../../src/shared/logger.js', import.meta.url).href)};`,
    `const logger = createLogger('info', {});`,
    `logger.warn({ err: new OutsideFault('lost') }, 'one'); logger.warn({ err: new TypeError('wrong') }, 'two');`,
    `await flushLog();`,
  ];
  const lines = execFileSync(process.execPath, ['--input-type=module', '-e', program.join('\n')])
    .toString()
    .split('\n');
  const [one, two] = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown);
  t.strictSame((one as { readonly err: unknown }).err, { type: 'OutsideFault', message: 'lost', name: 'OutsideFault' });
  t.match(two, { err: { message: 'wrong', stack: /at / } });
});
