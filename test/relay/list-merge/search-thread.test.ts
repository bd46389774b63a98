// The search thread seen from outside: order, deadlines, a thread that dies or is stuck, and the end.
import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import {
  SEARCH_TASKS_IN_THREAD_MAX,
  SearchThread,
  type ToolTexts,
} from '../../../src/relay/list-merge/search-thread.js';
import { DeadlineWheel } from '../../../src/shared/deadline-wheel.js';
import { limits } from '../../../src/shared/limits.js';
import { logInto } from '../../support/log-lines.js';
import { until } from '../../support/until.js';

const FRAME = { head: '', form: 'message' } as const;

/** Threads that are started from now on, until the test ends. */
function watchThreads(t: Test): Worker[] {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  return threads;
}

/** A thread whose deadlines the test moves. */
function start(
  t: Test,
  lines: string[] = [],
): { readonly thread: SearchThread; readonly advance: (ms: number) => void } {
  let nowMs = 0;
  const deadlines = new DeadlineWheel(10, () => nowMs);
  const thread = new SearchThread(deadlines, logInto(lines));
  t.teardown(async () => {
    deadlines.stop();
    await thread.close();
  });
  const advance = (ms: number): void => {
    nowMs += ms;
    deadlines.tick();
  };
  return { thread, advance };
}

function toolsOf(count: number): ToolTexts {
  const names = Array.from({ length: count }, (_, at) => `tool${at}`);
  const texts = names.map((name) => Buffer.from(`{"name":"${name}","description":"opens a door"}`));
  let end = 0;
  const ends = Int32Array.from(texts, ({ length }) => (end += length));
  return { bytes: Uint8Array.from(Buffer.concat(texts)), ends, names, unavailable: [] };
}

function keep(thread: SearchThread, key: number, tools = toolsOf(3), subject = 'ada'): Promise<number | 'failed'> {
  return new Promise((resolve) => thread.keep(subject, key, tools, resolve));
}

async function find(thread: SearchThread, key: number, subject = 'ada', query = 'door'): Promise<string> {
  return new Promise((resolve) =>
    thread.find(subject, { key, query, count: 1, frame: FRAME }, (answer) => resolve(answer.toString())),
  );
}

/** Tools that take the thread a while. */
const many = (): ToolTexts => toolsOf(100_000);

t.test('one thread is started, when it is first needed, and keeps tools until they are dropped', async (t) => {
  const threads = watchThreads(t);
  const { thread } = start(t);
  t.equal(threads.length, 0);
  const tools = toolsOf(3);
  const { length } = tools.bytes;
  const kept = keep(thread, 1, tools);
  t.equal(tools.bytes.length, 0, 'handed over without a copy');
  const size = await kept;
  t.ok(typeof size === 'number' && size > length, `${size}`);
  for (let time = 0; time < 2; time += 1)
    t.match(await find(thread, 1), '"structuredContent":{"tools":[{"name":"tool0","description":"opens a door"}]}');
  thread.drop('ada', 1);
  t.equal(await find(thread, 1), 'failed');
  t.equal(threads.length, 1);
});

t.test('tasks of a subject are done in their order, and a drop comes after those before it', async (t) => {
  const { thread } = start(t);
  const busy = Array.from({ length: SEARCH_TASKS_IN_THREAD_MAX }, (_, at) => keep(thread, 100 + at));
  const kept = keep(thread, 1);
  const first = find(thread, 1);
  thread.drop('ada', 1);
  const late = find(thread, 1);
  await Promise.all(busy);
  t.type(await kept, 'number');
  t.match(await first, '"tool0"');
  t.equal(await late, 'failed');
});

t.test('a subject with many tasks delays others by only a few of them', async (t) => {
  const { thread } = start(t);
  await keep(thread, 1);
  const order: string[] = [];
  const findAs = async (subject: string): Promise<void> => {
    await find(thread, 1, subject);
    order.push(subject);
  };
  const manyTasks = Array.from({ length: 50 }, () => findAs('ada'));
  const few = Array.from({ length: 3 }, () => findAs('bob'));
  await Promise.all([...manyTasks, ...few]);
  const lastOfFew = order.lastIndexOf('bob');
  t.ok(lastOfFew < SEARCH_TASKS_IN_THREAD_MAX + 2 * few.length, `${lastOfFew} were done before`);
});

t.test(
  'a task that fails affects no other; when the thread dies, what it kept is lost, and it is replaced',
  async (t) => {
    const threads = watchThreads(t);
    const lines: string[] = [];
    const { thread } = start(t, lines);
    const [lost, kept] = await Promise.all([find(thread, 9), keep(thread, 1)]);
    t.equal(lost, 'failed');
    t.type(kept, 'number');
    t.match(lines.join(''), /the search thread failed/);
    t.equal(threads.length, 1);
    const running = keep(thread, 2, many());
    await threads[0]?.terminate();
    t.equal(await running, 'failed');
    t.equal(await find(thread, 1), 'failed');
    t.type(await keep(thread, 1), 'number');
    t.match(await find(thread, 1), '"tool0"');
    t.equal(threads.length, 2);
  },
);

t.test(
  'a task that is overdue fails at once, before its turn it is not done, and a thread that is stuck is replaced',
  async (t) => {
    const threads = watchThreads(t);
    const { thread, advance } = start(t);
    await keep(thread, 1);
    advance(2 * limits.listTaskMsMax);
    t.match(await find(thread, 1), '"tool0"', 'a thread without a task is not stuck');
    const busy = Array.from({ length: SEARCH_TASKS_IN_THREAD_MAX }, (_, at) => keep(thread, 100 + at, many()));
    const waiting = toolsOf(3);
    const overdue = keep(thread, 2, waiting);
    advance(limits.listTaskMsMax + 10);
    t.same(await Promise.all([overdue, ...busy]), Array(SEARCH_TASKS_IN_THREAD_MAX + 1).fill('failed'));
    t.ok(waiting.bytes.length > 0, 'it has not been handed over');
    t.type(await keep(thread, 1), 'number');
    t.equal(threads.length, 2);
  },
);

t.test('at the end pending tasks fail, later ones fail at once, and no thread is left', async (t) => {
  const threads = watchThreads(t);
  const lines: string[] = [];
  const { thread } = start(t, lines);
  await keep(thread, 1);
  const pending = Array.from({ length: SEARCH_TASKS_IN_THREAD_MAX + 2 }, (_, at) => keep(thread, 10 + at, many()));
  const end = thread.close();
  for (const outcome of await Promise.all(pending)) t.equal(outcome, 'failed');
  await end;
  let outcome: unknown;
  thread.find('ada', { key: 1, query: 'x', count: 1, frame: FRAME }, (it) => (outcome = it));
  t.equal(outcome, 'failed');
  await until(() => threads.every(({ threadId }) => threadId === -1), 'the exit of the thread');
  t.same(lines, [], 'an end is no failure');
  await start(t).thread.close();
});
