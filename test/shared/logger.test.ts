import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { LOG_RETRY_MS, LogOutput, subjectHash } from '../../src/shared/logger.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';

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

/** A pipe that is read when a test says so. */
class Output {
  readonly #path: string;
  #readEnd: number;
  readonly output: LogOutput;
  readonly dropped: number[] = [];
  #got = Buffer.alloc(0);

  constructor(t: Test) {
    this.#path = join(createScratchDirectory(t), 'pipe');
    t.equal(spawnSync('mkfifo', [this.#path]).status, 0);
    this.#readEnd = this.#open();
    const writeEnd = openSync(this.#path, constants.O_WRONLY);
    this.output = new LogOutput(writeEnd, (lines) => this.dropped.push(lines));
    t.teardown(() => closeSync(this.#readEnd));
  }

  #open(): number {
    return openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  leave(): void {
    closeSync(this.#readEnd);
  }

  comeBack(): void {
    this.#readEnd = this.#open();
  }

  /** Takes what the pipe holds. @returns all that was ever taken. */
  read(): string {
    const buffer = Buffer.alloc(PIPE_BYTES);
    try {
      this.#got = Buffer.concat([this.#got, buffer.subarray(0, readSync(this.#readEnd, buffer))]);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
    return this.#got.toString();
  }
}

const PIPE_BYTES = 1024 * 1024;

t.test('what a slow reader has not taken waits, and arrives whole, in order and once', async (t) => {
  const slow = new Output(t);
  const lines = Array.from({ length: 300 }, (_, number) => `${number} ${'x'.repeat(1_000)}\n`);
  lines.push(`long ${'é'.repeat(100_000)}\n`, 'last\n');
  for (const line of lines) slow.output.write(line);
  t.ok(slow.read().length < lines.join('').length, 'not all of it fits');
  await until(() => slow.read().endsWith('last\n'), 'the rest, unasked');
  t.equal(slow.read(), lines.join(''));
  t.same(slow.dropped, []);
  slow.output.write('and on\n');
  t.equal(slow.read(), `${lines.join('')}and on\n`, 'at once');
});

t.test('lines beyond what may wait are counted, and the count is told once lines are accepted again', async (t) => {
  const stuck = new Output(t);
  const line = `${'x'.repeat(9_999)}\n`;
  const count = 300;
  for (let number = 0; number < count; number += 1) stuck.output.write(line);
  t.same(stuck.dropped, [], 'nobody would hear it');
  let isFlushed = false;
  const flushed = stuck.output.flush().then(() => (isFlushed = true));
  await turn();
  t.equal(isFlushed, false, 'a process that ends waits for the reader');
  await until(() => stuck.read() !== '' && stuck.dropped.length > 0, 'the end of what waited');
  t.equal(stuck.read().length, (count - stuck.dropped[0]!) * line.length, 'each line has arrived or is counted');
  await flushed;
  stuck.output.write(line);
  t.equal(stuck.dropped.length, 1, 'and is counted once');
});

t.test('while the reader is gone lines are lost and counted, and the next reader is told how many', async (t) => {
  const left = new Output(t);
  left.output.write('one\n');
  t.equal(left.read(), 'one\n');
  left.leave();
  for (const line of ['two\n', 'three\n']) left.output.write(line);
  const lostAtMs = performance.now();
  await left.output.flush();
  t.ok(performance.now() - lostAtMs < 500, 'nothing waits for a reader that is gone');
  left.comeBack();
  await until(() => performance.now() - lostAtMs > LOG_RETRY_MS, 'the end of the pause');
  left.output.write('four\n');
  t.equal(left.read(), 'one\nfour\n');
  t.same(left.dropped, [2]);
});
