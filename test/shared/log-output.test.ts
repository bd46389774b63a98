// A process that logs while its output is not read, in several ways. With real pipes, sockets and files.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { killWithProcess } from '../support/leftovers.js';
import { createScratchDirectory } from '../support/scratch-directory.js';
import { until } from '../support/until.js';
import { LOG_RETRY_MS } from '../../src/shared/logger.js';

const program = fileURLToPath(new URL('../support/log-program.js', import.meta.url));
/** More than a pipe or a socket buffers, plus the lines that may wait. */
const MANY_LINES = 20_000;

interface LogLine {
  readonly number?: number;
  readonly msg: string;
  readonly droppedLines?: number;
}

/** Starts the program; it has logged everything when this resolves, and waits for `finish`. */
async function startProgram(t: Test, lines: number, stdout: number | 'pipe'): Promise<ChildProcess> {
  const environment = { ...process.env, NODE_OPTIONS: '' };
  const child = spawn(process.execPath, [program, String(lines)], {
    stdio: ['pipe', stdout, 'pipe'],
    env: environment,
  });
  killWithProcess(child);
  t.teardown(() => child.kill('SIGKILL'));
  t.equal(String((await once(child.stderr!, 'data'))[0]), 'logged\n', 'it was not held up');
  return child;
}

async function finish(child: ChildProcess): Promise<number | null> {
  const exited = once(child, 'exit');
  child.stdin?.write('go on\n');
  return ((await exited) as [number | null])[0];
}

function parse(text: string): LogLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine);
}

/** Checks that every line either arrived, whole and in order, or was counted as dropped. */
function checkComplete(t: Test, lines: readonly LogLine[], count: number): void {
  const numbers = lines.flatMap(({ number }) => number ?? []);
  t.same(
    numbers,
    [...numbers].sort((a, b) => a - b),
  );
  t.equal(new Set(numbers).size, numbers.length);
  const dropped = lines.reduce((sum, { droppedLines = 0 }) => sum + droppedLines, 0);
  t.equal(numbers.length + dropped, count);
}

/** A named pipe, opened so that its other end need not be open. */
function makePipe(t: Test): { readEnd: number; writeEnd: number } {
  const path = join(createScratchDirectory(t), 'pipe');
  t.equal(spawnSync('mkfifo', [path]).status, 0);
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  return { readEnd, writeEnd };
}

/** Reads until the program has exited and nothing is left. */
async function readAll(readEnd: number, isEnded: () => boolean): Promise<string> {
  const buffer = Buffer.alloc(64 * 1024);
  let text = '';
  await until(() => {
    for (;;) {
      const wasEnded = isEnded();
      try {
        const bytes = readSync(readEnd, buffer, 0, buffer.length, null);
        text += buffer.toString('utf8', 0, bytes);
        if (bytes === 0) return wasEnded;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        return wasEnded;
      }
    }
  }, 'the end of the log');
  return text;
}

t.test('a pipe that nobody reads for a while blocks nothing; lines that it did not take are counted', async (t) => {
  const { readEnd, writeEnd } = makePipe(t);
  const child = await startProgram(t, MANY_LINES, writeEnd);
  closeSync(writeEnd);
  let isEnded = false;
  child.once('exit', () => (isEnded = true));
  const reading = readAll(readEnd, () => isEnded);
  await new Promise((resolve) => setTimeout(resolve, 4 * LOG_RETRY_MS)); // by then the reader has begun
  t.equal(await finish(child), 0);
  const lines = parse(await reading);
  closeSync(readEnd);
  checkComplete(t, lines, MANY_LINES);
  t.ok(lines.some(({ droppedLines = 0 }) => droppedLines > 0));
  t.ok(lines.some(({ msg }) => msg === 'the last line'));
});

t.test('a pipe that is never read does not keep the process from exiting', async (t) => {
  const { readEnd, writeEnd } = makePipe(t);
  const child = await startProgram(t, MANY_LINES, writeEnd);
  t.equal(await finish(child), 0);
  closeSync(writeEnd);
  closeSync(readEnd);
});

t.test('a pipe whose reader is gone neither ends the process nor keeps it alive', async (t) => {
  const { readEnd, writeEnd } = makePipe(t);
  const child = await startProgram(t, 10, writeEnd);
  closeSync(writeEnd);
  closeSync(readEnd);
  t.equal(await finish(child), 0);

  const gone = makePipe(t);
  closeSync(gone.readEnd);
  const other = await startProgram(t, MANY_LINES, gone.writeEnd);
  t.equal(await finish(other), 0, 'nor one that was never there');
  closeSync(gone.writeEnd);
});

t.test('a socket that nobody reads, as from Node.js and systemd, blocks nothing', async (t) => {
  const child = await startProgram(t, MANY_LINES, 'pipe');
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  const ended = once(child.stdout!, 'end');
  await until(() => text.includes('droppedLines'), 'the end of what waited');
  t.equal(await finish(child), 0);
  await ended;
  checkComplete(t, parse(text), MANY_LINES);
});

t.test('a socket whose reader is gone does not end the process', async (t) => {
  const child = await startProgram(t, 10, 'pipe');
  child.stdout?.destroy();
  t.equal(await finish(child), 0);
});

t.test('a file gets every line', async (t) => {
  const path = join(createScratchDirectory(t), 'log');
  const file = openSync(path, 'a');
  const child = await startProgram(t, MANY_LINES, file);
  t.equal(await finish(child), 0);
  closeSync(file);
  const lines = parse(readFileSync(path, 'utf8'));
  checkComplete(t, lines, MANY_LINES);
  t.equal(lines.length, MANY_LINES + 1);
});

t.test('a disk that is full', { skip: !existsSync('/dev/full') && 'there is no /dev/full here' }, async (t) => {
  const file = openSync('/dev/full', 'w');
  const child = await startProgram(t, MANY_LINES, file);
  t.equal(await finish(child), 0);
  closeSync(file);
});
