// The list thread seen from outside: order, deadlines, a thread that dies or is stuck, and the end.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { ListPool, type ThreadFailure, LIST_TASKS_IN_THREAD_MAX } from '../../src/lists/list-pool.js';
import type { ReadOutcome } from '../../src/lists/thread-tasks.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { limits } from '../../src/shared/limits.js';
import { logInto } from '../support/log-lines.js';
import { until } from '../support/until.js';
import { handOver, LIST_ID, run, startPool } from './merge-ways.js';

const LONG_MS = 60_000;
const EMPTY_PAGE = Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":{"tools":[]}}`);

/** Threads that are started from now on, until the test ends. */
function watchThreads(t: Test): Worker[] {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  return threads;
}

function readPage(
  pool: ListPool,
  bytes: Buffer = EMPTY_PAGE,
  withinMs = LONG_MS,
  subject = 'ada',
): Promise<ReadOutcome> {
  const pieces = [new Uint8Array(bytes)];
  return run(
    pool,
    'read',
    handOver({ key: pool.mintKey(), pieces, bytes: bytes.length, id: LIST_ID, kind: 'tools' }, pieces),
    withinMs,
    subject,
  );
}

/** An answer that takes the thread a while to read. */
function longAnswer(): Buffer {
  return Buffer.concat([EMPTY_PAGE.subarray(0, -1), Buffer.alloc(48 * 1024 * 1024, ' '), EMPTY_PAGE.subarray(-1)]);
}

t.test('one thread is started, when it is first needed', async (t) => {
  const threads = watchThreads(t);
  const pool = startPool(t);
  t.equal(threads.length, 0);
  await Promise.all([readPage(pool), readPage(pool)]);
  t.same(await readPage(pool), { kind: 'page', itemCount: 0, nextCursor: undefined, isComplete: true, ttlMs: 0 });
  t.equal(threads.length, 1);
});

t.test('memory is handed over to the thread without a copy', async (t) => {
  const pool = startPool(t);
  const piece = Uint8Array.from(EMPTY_PAGE);
  const task = { key: pool.mintKey(), pieces: [piece], bytes: piece.length, id: LIST_ID, kind: 'tools' } as const;
  const reading = run(pool, 'read', handOver(task, [piece]));
  t.equal(piece.length, 0);
  await reading;
});

t.test('tasks are done in their order', async (t) => {
  const pool = startPool(t);
  const key = pool.mintKey();
  const order: number[] = [];
  const pieces = [...EMPTY_PAGE].map((byte) => Uint8Array.of(byte));
  const appends = pieces.map(async (piece, index) => {
    await run(pool, 'append', handOver({ key, pieces: [piece] }, [piece]));
    order.push(index);
  });
  t.same(await run(pool, 'read', handOver({ key, pieces: [], bytes: EMPTY_PAGE.length, id: LIST_ID, kind: 'tools' })), {
    kind: 'page',
    itemCount: 0,
    nextCursor: undefined,
    isComplete: true,
    ttlMs: 0,
  });
  await Promise.all(appends);
  t.same(order, [...pieces.keys()]);
});

t.test('the first task of a new kind keeps its place in the order', async (t) => {
  const pool = startPool(t);
  await readPage(pool);
  const key = pool.mintKey();
  const piece = Uint8Array.from(EMPTY_PAGE);
  const [, outcome] = await Promise.all([
    run(pool, 'append', handOver({ key, pieces: [piece] }, [piece])),
    run(pool, 'read', handOver({ key, pieces: [], bytes: EMPTY_PAGE.length, id: LIST_ID, kind: 'tools' })),
  ]);
  t.match(outcome, { kind: 'page' });
});

t.test('a task that fails does not affect any other', async (t) => {
  const threads = watchThreads(t);
  const lines: string[] = [];
  const pool = startPool(t, lines);
  const lost = run(pool, 'next', handOver({ key: 999, buffer: new Uint8Array(1) }));
  const other = readPage(pool);
  await t.rejects(lost, { message: 'failed' });
  t.equal((await other).kind, 'page');
  t.equal(threads.length, 1);
  t.match(lines.join(''), /the list thread failed/);
});

t.test('a thread that dies fails what it was keeping, and is replaced', async (t) => {
  const threads = watchThreads(t);
  const pool = startPool(t);
  const key = pool.mintKey();
  const merging = {
    key,
    kind: 'tools',
    rules: '[]',
    parts: [],
    unavailable: [],
    frame: { head: '', framing: 'message' },
  } as const;
  const { bytes } = await run(pool, 'merge', handOver(merging));
  t.ok(bytes > 0);
  const pending = readPage(pool, longAnswer());
  await threads[0]?.terminate();
  await t.rejects(pending, { message: 'failed' });
  t.equal((await readPage(pool)).kind, 'page');
  t.equal(threads.length, 2);
  await t.rejects(run(pool, 'next', handOver({ key, buffer: new Uint8Array(10) })), { message: 'failed' });
});

t.test('when the thread dies, its tasks fail, and those that wait are done by the next thread', async (t) => {
  const threads = watchThreads(t);
  const pool = startPool(t);
  await readPage(pool);
  const outcomes = [readPage(pool, longAnswer()), readPage(pool), readPage(pool)];
  const exit = threads[0]?.terminate();
  const late = readPage(pool);
  const settled = await Promise.allSettled([...outcomes, late]);
  t.same(
    settled.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
  );
  await exit;
  t.equal((await readPage(pool)).kind, 'page');
});

t.test('an overdue task fails at once, and the thread goes on', async (t) => {
  const threads = watchThreads(t);
  const { pool, advance } = startTimedPool(t);
  const long = readPage(pool, longAnswer());
  const overdue = t.rejects(readPage(pool, EMPTY_PAGE, 1_000), { message: 'overdue' });
  advance(1_100);
  await overdue;
  t.equal((await long).kind, 'page');
  t.equal((await readPage(pool)).kind, 'page');
  t.equal(threads.length, 1);
});

t.test('a subject with many tasks delays others by only a few of them', async (t) => {
  const pool = startPool(t);
  await readPage(pool);
  const order: string[] = [];
  const readAs = async (subject: string): Promise<void> => {
    await readPage(pool, EMPTY_PAGE, LONG_MS, subject);
    order.push(subject);
  };
  const many = Array.from({ length: 50 }, () => readAs('ada'));
  const few = Array.from({ length: 3 }, () => readAs('bob'));
  await Promise.all([...many, ...few]);
  const lastOfFew = order.lastIndexOf('bob');
  t.equal(order.length, many.length + few.length);
  t.ok(lastOfFew < LIST_TASKS_IN_THREAD_MAX + 2 * few.length, `${lastOfFew} were done before`);
});

t.test('each subject’s tasks keep their order while others have turns', async (t) => {
  const pool = startPool(t);
  const subjects = ['ada', 'bob', 'cleo'];
  const keys = new Map(subjects.map((subject) => [subject, pool.mintKey()]));
  const appends: Promise<void>[] = [];
  for (const byte of EMPTY_PAGE) {
    for (const [subject, key] of keys) {
      const piece = Uint8Array.of(byte);
      appends.push(run(pool, 'append', handOver({ key, pieces: [piece] }, [piece]), LONG_MS, subject));
    }
  }
  const reads = [...keys].map(([subject, key]) => {
    const task = { key, pieces: [], bytes: EMPTY_PAGE.length, id: LIST_ID, kind: 'tools' } as const;
    return run(pool, 'read', handOver(task), LONG_MS, subject);
  });
  for (const outcome of await Promise.all(reads))
    t.same(outcome, { kind: 'page', itemCount: 0, nextCursor: undefined, isComplete: true, ttlMs: 0 });
  await Promise.all(appends);
});

/** A pool whose clock the test moves. */
function startTimedPool(t: Test): { readonly pool: ListPool; readonly advance: (ms: number) => void } {
  let nowMs = 0;
  const deadlines = new DeadlineWheel(10, () => nowMs);
  const pool = new ListPool(deadlines, logInto([]));
  t.teardown(async () => {
    deadlines.stop();
    await pool.close();
  });
  const advance = (ms: number): void => {
    nowMs += ms;
    deadlines.tick();
  };
  return { pool, advance };
}

t.test('a task that is overdue before its turn is not done', async (t) => {
  const { pool, advance } = startTimedPool(t);
  // Short tasks suffice: none is seen to be done before the current turn of the event loop ends, and all of this is asked for within it.
  const busy = Array.from({ length: LIST_TASKS_IN_THREAD_MAX }, () => readPage(pool));
  const key = pool.mintKey();
  const piece = Uint8Array.from(EMPTY_PAGE);
  const append = run(pool, 'append', handOver({ key, pieces: [piece] }, [piece]), 1_000);
  const rest = run(
    pool,
    'read',
    handOver({ key, pieces: [], bytes: EMPTY_PAGE.length, id: LIST_ID, kind: 'tools' }),
    LONG_MS,
  );
  const lost = t.rejects(rest, { message: 'failed' }, 'its bytes are not there');
  const overdue = t.rejects(append, { message: 'overdue' });
  advance(1_100);
  await overdue;
  t.ok(piece.length > 0, 'it has not been handed over');
  await Promise.all(busy);
  await lost;
});

t.test('a drop comes after the tasks that wait before it, and leaves nothing', async (t) => {
  const pool = startPool(t);
  const busy = Array.from({ length: LIST_TASKS_IN_THREAD_MAX }, () => readPage(pool));
  const key = pool.mintKey();
  const piece = Uint8Array.from(EMPTY_PAGE);
  let isAppended = false;
  const append = run(pool, 'append', handOver({ key, pieces: [piece] }, [piece])).then(() => (isAppended = true));
  await new Promise<void>((resolve) => pool.drop('ada', [key], resolve));
  t.ok(isAppended);
  await append;
  await Promise.all(busy);
  const rest = run(pool, 'read', handOver({ key, pieces: [], bytes: EMPTY_PAGE.length, id: LIST_ID, kind: 'tools' }));
  await t.rejects(rest, { message: 'failed' }, 'nothing is left of it');
});

t.test('a thread that is stuck is replaced', async (t) => {
  const threads = watchThreads(t);
  const { pool, advance } = startTimedPool(t);
  await readPage(pool);
  advance(2 * limits.listTaskMsMax);
  t.equal((await readPage(pool)).kind, 'page', 'a thread without a task is not stuck');
  t.equal(threads.length, 1);
  const stuck = readPage(pool, longAnswer(), 10 * limits.listTaskMsMax);
  advance(limits.listTaskMsMax + 10);
  await t.rejects(stuck, { message: 'failed' });
  t.equal((await readPage(pool)).kind, 'page');
  t.equal(threads.length, 2);
});

t.test('a thread that is stuck is replaced, although others go on asking', async (t) => {
  const threads = watchThreads(t);
  const { pool, advance } = startTimedPool(t);
  await readPage(pool);
  const stuck = readPage(pool, longAnswer(), 10 * limits.listTaskMsMax);
  advance(limits.listTaskMsMax / 2);
  const later = readPage(pool, EMPTY_PAGE, 10 * limits.listTaskMsMax);
  advance(limits.listTaskMsMax / 2 + 10);
  for (const lost of [stuck, later]) await t.rejects(lost, { message: 'failed' });
  t.equal((await readPage(pool)).kind, 'page');
  t.equal(threads.length, 2);
});

t.test(
  'a thread that cannot be started for want of a file descriptor fails its task, and is started later',
  async (t) => {
    const program = fileURLToPath(new URL('../support/descriptors-program.js', import.meta.url));
    const words = ['-c', 'ulimit -n 100; exec "$0" "$1"', process.execPath, program];
    const { stdout } = await promisify(execFile)('sh', words, { env: { PATH: process.env['PATH'] } });
    const [first, second] = JSON.parse(stdout) as [unknown, { readonly kind: string }];
    t.same([first, second.kind], ['failed', 'page']);
  },
);

t.test('at the end pending tasks fail, later ones fail at once, and no thread is left', async (t) => {
  const threads = watchThreads(t);
  const lines: string[] = [];
  const pool = startPool(t, lines);
  await readPage(pool);
  const pending = [longAnswer(), ...Array.from({ length: LIST_TASKS_IN_THREAD_MAX + 1 }, () => EMPTY_PAGE)].map(
    (answer) => readPage(pool, answer),
  );
  const outcomes = Promise.allSettled(pending);
  const end = pool.close();
  for (const { status } of await outcomes) t.equal(status, 'rejected');
  await end;
  let outcome: ReadOutcome | ThreadFailure | undefined;
  const task = { key: 1, pieces: [], bytes: 0, id: LIST_ID, kind: 'tools' } as const;
  pool.run('ada', 'read', task, [], (it) => (outcome = it), LONG_MS);
  t.equal(outcome, 'failed');
  await until(() => threads.every(({ threadId }) => threadId === -1), 'the exit of the thread');
  t.same(lines, [], 'an end is no failure');
  const unused = startPool(t);
  await unused.close();
});
