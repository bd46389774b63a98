// What becomes of lists: at once on the event loop, or in the thread, part by part; and what is left when nobody wants them.
import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { AnswerReading, type ReadAnswer, type ReadPage } from '../../../src/relay/list-merge/answer-reading.js';
import { ByteBudget } from '../../../src/relay/list-merge/byte-budget.js';
import { ListMerger } from '../../../src/relay/list-merge/list-merger.js';
import type { ThreadFailure } from '../../../src/relay/list-merge/list-pool.js';
import type { AnswerFrame, MergeJob } from '../../../src/relay/list-merge/merge.js';
import type { MergedList } from '../../../src/relay/list-merge/merged-list.js';
import { DeadlineWheel } from '../../../src/shared/deadline-wheel.js';
import { limits } from '../../../src/shared/limits.js';
import type { CompiledVirtualHost } from '../../../src/store/compiled-config.js';
import { logInto } from '../../support/log-lines.js';
import { Random } from '../../support/random.js';
import { until } from '../../support/until.js';
import { RecordedExchange } from '../../worker/affinity/recorded-exchange.js';
import { backendOf, virtualHostOf } from '../virtual-host.js';
import { LIST_ID, onLoop, startPool } from './merge-ways.js';

const WITHIN_MS = 60_000;
const MESSAGE: AnswerFrame = { head: '{"jsonrpc":"2.0","id":7,"result":', form: 'message' };

function startMerger(t: Test): ListMerger {
  const deadlines = new DeadlineWheel();
  const merger = new ListMerger(deadlines, logInto([]));
  t.teardown(async () => {
    deadlines.stop();
    await merger.close();
  });
  return merger;
}

/** An answer of about so many bytes. */
function answerOf(bytes: number, name = 'tool'): Buffer {
  const count = Math.max(1, Math.round(bytes / 1_000));
  const tools = Array.from({ length: count }, (_, index) => ({
    name: `${name}${(index * 7) % count}`,
    description: 'é'.repeat(Math.min(450, bytes / 4)),
  }));
  return Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":${JSON.stringify({ tools })}}`);
}

/** Reads an answer in pieces of random size, as it would come. */
async function read(reading: AnswerReading, answer: Buffer): Promise<ReadAnswer | ThreadFailure> {
  const pieces = new Random(3).pieces(answer, limits.upstreamReadBytes).map((piece) => Buffer.from(piece));
  let held: Buffer[] = [];
  for (const piece of pieces.slice(0, -1)) {
    held.push(piece);
    if (held.length < 8) continue;
    const taken = held;
    await new Promise<void>((resolve) => reading.push(taken, resolve));
    held = [];
  }
  const last = [...held, ...pieces.slice(-1)];
  return new Promise((resolve) => reading.end(last, Buffer.from(LIST_ID), WITHIN_MS, resolve));
}

async function readPage(merger: ListMerger, answer: Buffer): Promise<ReadPage> {
  const outcome = await read(merger.startReading(), answer);
  if (typeof outcome === 'string' || outcome.kind !== 'page') throw new Error(JSON.stringify(outcome));
  return outcome.page;
}

async function merge(merger: ListMerger, job: MergeJob<ReadPage>): Promise<MergedList> {
  const list = await new Promise<MergedList | ThreadFailure>((resolve) => merger.merge(job, resolve));
  if (typeof list === 'string') throw new Error(list);
  return list;
}

/** What merging on the event loop gives. */
async function expectedBytes(rules: CompiledVirtualHost, answers: readonly Buffer[], frame = MESSAGE): Promise<Buffer> {
  const parts = [{ backend: backendOf(rules, 'b'), answers }];
  return (await onLoop({ rules, parts, unavailable: [], frame })).bytes;
}

async function mergeAnswers(
  merger: ListMerger,
  rules: CompiledVirtualHost,
  answers: readonly Buffer[],
  frame = MESSAGE,
): Promise<MergedList> {
  const pages: ReadPage[] = [];
  for (const answer of answers) pages.push(await readPage(merger, answer));
  return merge(merger, { rules, parts: [{ backend: backendOf(rules, 'b'), pages }], unavailable: [], frame });
}

t.test('a small list is read and merged from within the calls, without a thread', async (t) => {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answer = answerOf(20_000);
  let list: MergedList | undefined;
  merger.startReading().end([answer], Buffer.from(LIST_ID), WITHIN_MS, (outcome) => {
    if (typeof outcome === 'string' || outcome.kind !== 'page') throw new Error('no page');
    const parts = [{ backend: backendOf(rules, 'b'), pages: [outcome.page] }];
    merger.merge({ rules, parts, unavailable: [], frame: MESSAGE }, (it) => {
      if (typeof it !== 'string') list = it;
    });
  });
  const exchange = new RecordedExchange();
  list?.giveTo(exchange);
  t.same(exchange.answer?.body, await expectedBytes(rules, [answer]));
  t.same(threads, []);
});

const sizes: Readonly<Record<string, readonly number[]>> = {
  'one large page': [3 * limits.listBytesInlineMax],
  'a page of many parts': [5 * limits.listPartBytes],
  'small pages that are large together': Array.from({ length: 5 }, () => limits.listBytesInlineMax / 2),
  'large pages among small ones': [2_000, 2 * limits.listBytesInlineMax, 10, 2 * limits.listBytesInlineMax],
};

for (const [what, pageBytes] of Object.entries(sizes)) {
  t.test(`${what}: given part by part, the bytes that the event loop gives`, async (t) => {
    const merger = startMerger(t);
    const rules = virtualHostOf({ b: {} });
    const answers = pageBytes.map((bytes, index) => answerOf(bytes, `page${index}-`));
    const expected = await expectedBytes(rules, answers);
    const list = await mergeAnswers(merger, rules, answers);
    const exchange = new RecordedExchange();
    list.giveTo(exchange);
    await until(() => exchange.outcome === 'ended', 'the whole list');
    t.same(exchange.body, { contentType: 'application/json', bodyBytes: expected.length });
    t.ok(exchange.written.equals(expected));
  });
}

t.test('for a caller of event streams it is an event', async (t) => {
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(3 * limits.listBytesInlineMax)];
  const frame = { head: MESSAGE.head, form: 'event' } as const;
  const list = await mergeAnswers(merger, rules, answers, frame);
  const exchange = new RecordedExchange({ answerForms: 'event-stream' });
  list.giveTo(exchange);
  await until(() => exchange.outcome === 'ended', 'the whole list');
  const expected = await expectedBytes(rules, answers, frame);
  t.same(exchange.body, { contentType: 'text/event-stream', bodyBytes: expected.length });
  t.ok(exchange.written.equals(expected));
});

t.test('a slow caller is given a part at a time', async (t) => {
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(3 * limits.listPartBytes)];
  const list = await mergeAnswers(merger, rules, answers);
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  list.giveTo(exchange);
  const partCount = Math.ceil((exchange.body?.bodyBytes ?? 0) / limits.listPartBytes);
  t.ok(partCount >= 3);
  for (let part = 1; part < partCount; part += 1) {
    await until(() => exchange.writtenBytes === part * limits.listPartBytes, 'the next part');
    // The thread answers this after whatever it was asked before.
    await mergeAnswers(merger, rules, [answerOf(2 * limits.listBytesInlineMax)]);
    t.equal(exchange.writtenBytes, part * limits.listPartBytes, 'no more before it drains');
    exchange.isSlow = part < partCount - 1;
    exchange.drain();
  }
  await until(() => exchange.outcome === 'ended', 'the whole list');
  t.ok(exchange.written.equals(await expectedBytes(rules, answers)));
});

t.test('what a slow caller has not taken yet stays as it is, whoever is given a list meanwhile', async (t) => {
  /** Keeps what was written without a copy, as an exchange may that has no room. */
  class KeepingExchange extends RecordedExchange {
    kept: Uint8Array | undefined;

    override write(bytes: Uint8Array): boolean {
      super.write(bytes);
      this.kept = bytes;
      return false;
    }
  }
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const bytes = 1.5 * limits.listBytesInlineMax;
  const slow = new KeepingExchange();
  (await mergeAnswers(merger, rules, [answerOf(bytes, 'slow')])).giveTo(slow);
  await until(() => slow.outcome === 'ended', 'its only part');
  for (let other = 0; other < 3; other += 1) {
    const exchange = new RecordedExchange();
    const answers = [answerOf(bytes, `other${other}`)];
    (await mergeAnswers(merger, rules, answers)).giveTo(exchange);
    await until(() => exchange.outcome === 'ended', 'a list for somebody else');
    t.ok(exchange.written.equals(await expectedBytes(rules, answers)));
  }
  t.ok(slow.written.equals(slow.kept ?? Buffer.alloc(0)));
});

t.test('a caller that goes away is given nothing more', async (t) => {
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(3 * limits.listPartBytes)];
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  (await mergeAnswers(merger, rules, answers)).giveTo(exchange);
  await until(() => exchange.writtenBytes > 0, 'a part');
  exchange.abort();
  exchange.drain();
  const gone = new RecordedExchange();
  gone.isAborted = true;
  (await mergeAnswers(merger, rules, answers)).giveTo(gone);
  t.equal(exchange.writtenBytes, limits.listPartBytes);
  t.equal(gone.outcome, 'none');
});

t.test('a caller is cut off when the thread dies in the middle of its list', async (t) => {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(3 * limits.listPartBytes)];
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  (await mergeAnswers(merger, rules, answers)).giveTo(exchange);
  await until(() => exchange.writtenBytes > 0, 'a part');
  await threads[0]?.terminate();
  exchange.drain();
  await until(() => exchange.outcome === 'cut', 'the cut');
  const list = await mergeAnswers(merger, rules, answers);
  const later = new RecordedExchange();
  list.giveTo(later);
  await until(() => later.outcome === 'ended', 'a later list');
});

t.test('answers are read as long as there is room for them', async (t) => {
  const pool = startPool(t);
  const budget = new ByteBudget(3 * limits.listBytesInlineMax);
  const large = answerOf(2 * limits.listBytesInlineMax);
  const first = new AnswerReading(pool, budget);
  t.match(await read(first, large), { kind: 'page' });
  t.equal(await read(new AnswerReading(pool, budget), large), 'failed');
  const tooMuch = new AnswerReading(pool, budget);
  let isTaken = false;
  tooMuch.push([Buffer.from(large)], () => (isTaken = true));
  t.ok(isTaken, 'what nobody will read holds nobody up');
  const end = new Promise((resolve) => tooMuch.end([], Buffer.from(LIST_ID), WITHIN_MS, resolve));
  t.equal(await end, 'failed', 'a small rest is not taken for the whole');
  t.match(await read(new AnswerReading(pool, budget), answerOf(100)), { kind: 'page' }, 'small ones need no room');
  first.drop();
  t.match(await read(new AnswerReading(pool, budget), large), { kind: 'page' });
});

t.test('what is not read leaves room', async (t) => {
  const pool = startPool(t);
  const budget = new ByteBudget(3 * limits.listBytesInlineMax);
  const nonsense = Buffer.alloc(2 * limits.listBytesInlineMax, ' ');
  t.same(await read(new AnswerReading(pool, budget), nonsense), { kind: 'invalid' });
  t.ok(budget.tryTake(3 * limits.listBytesInlineMax));
  t.notOk(budget.tryTake(1));
});
