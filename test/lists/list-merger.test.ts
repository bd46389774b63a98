// How lists are read and merged: at once on the event loop, or part by part in the thread; and what is left when nobody wants them.
import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { listKinds, type ListKind } from '../../src/mcp/list-kinds.js';
import type { AnswerReader, ReadAnswer, ReadFailure, ReadPage } from '../../src/lists/answer-reader.js';
import { ListCache } from '../../src/lists/list-cache.js';
import { ListMerger, type KeptInThread } from '../../src/lists/list-merger.js';
import { type ThreadFailure, LIST_TASKS_IN_THREAD_MAX } from '../../src/lists/list-pool.js';
import type { MergeJob } from '../../src/lists/merge.js';
import type { AnswerFrame } from '../../src/exchange/answers.js';
import type { MergedList } from '../../src/lists/merged-list.js';
import type { Accounts } from '../../src/fair/share.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { LIST_BYTES_INLINE_MAX, TOOL_BYTES_EACH } from '../../src/lists/list-memory.js';
import { LIST_PART_BYTES } from '../../src/upstream/rpc/unparsed-answer.js';
import { limits } from '../../src/shared/limits.js';
import type { CompiledVirtualHost } from '../../src/user-config/compiled-config.js';
import { logInto } from '../support/log-lines.js';
import { Random } from '../support/random.js';
import { createAccounts, createListAccounts } from '../support/shares.js';
import { until } from '../support/until.js';
import { RecordedExchange } from '../support/recorded-exchange.js';
import { backendOf, virtualHostOf } from '../relay/virtual-host.js';
import { LIST_ID, onLoop } from './merge-ways.js';
import { TOOL_TEXT_CHARS_MAX } from '../../src/lists/tool-catalogue.js';
import { connectionBounds } from '../../src/http-client/connection-bounds.js';

const WITHIN_MS = 60_000;
const [ADA, BOB, CLEO] = ['ada', 'bob', 'cleo'] as const;
const MESSAGE: AnswerFrame = { head: '{"jsonrpc":"2.0","id":7,"result":', framing: 'message' };

/** No time passes: a machine that is busy with other things makes no task overdue. */
function startMerger(t: Test, accounts: Accounts = createAccounts(), cache?: ListCache): ListMerger {
  const deadlines = new DeadlineWheel(undefined, () => 0);
  const merger = new ListMerger(deadlines, accounts, logInto([]), cache);
  t.teardown(async () => {
    deadlines.stop();
    await merger.close();
  });
  return merger;
}

/** An answer of about this many bytes. */
function answerOf(bytes: number, name = 'tool'): Buffer {
  const count = Math.max(1, Math.round(bytes / 1_000));
  const tools = Array.from({ length: count }, (_, index) => ({
    name: `${name}${(index * 7) % count}`,
    description: 'é'.repeat(Math.min(450, bytes / 4)),
  }));
  return Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":${JSON.stringify({ tools })}}`);
}

/** Reads an answer in pieces of random size, as from a connection. */
async function read(reading: AnswerReader, answer: Buffer): Promise<ReadAnswer | ReadFailure> {
  const pieces = new Random(3).pieces(answer, connectionBounds.upstreamReadBytes).map((piece) => Buffer.from(piece));
  let held: Buffer[] = [];
  for (const piece of pieces.slice(0, -1)) {
    held.push(piece);
    if (held.length < 8) continue;
    const taken = held;
    await new Promise<void>((resolve) => reading.push(taken, resolve));
    held = [];
  }
  const last = [...held, ...pieces.slice(-1)];
  return new Promise((resolve) => reading.end(last, Buffer.from(LIST_ID), LIST_BYTES_INLINE_MAX, WITHIN_MS, resolve));
}

async function readPage(
  merger: ListMerger,
  answer: Buffer,
  subject: string = ADA,
  kind: ListKind = listKinds.tools,
): Promise<ReadPage> {
  const outcome = await read(merger.createReader(subject, kind), answer);
  if (typeof outcome === 'string' || outcome.kind !== 'page') throw new Error(JSON.stringify(outcome));
  return outcome.page;
}

async function merge(merger: ListMerger, job: MergeJob<ReadPage>, subject: string = ADA): Promise<MergedList> {
  const list = await new Promise<MergedList | ThreadFailure>((resolve) => merger.merge(subject, job, resolve));
  if (typeof list === 'string') throw new Error(list);
  return list;
}

/** The bytes that merging on the event loop gives. */
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
  return merge(merger, {
    kind: listKinds.tools,
    rules,
    parts: [{ backend: backendOf(rules, 'b'), pages }],
    unavailable: [],
    frame,
  });
}

t.test('a small list is read and merged synchronously, without a thread', async (t) => {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answer = answerOf(20_000);
  let list: MergedList | undefined;
  merger
    .createReader(ADA, listKinds.tools)
    .end([answer], Buffer.from(LIST_ID), LIST_BYTES_INLINE_MAX, WITHIN_MS, (outcome) => {
      if (typeof outcome === 'string' || outcome.kind !== 'page') throw new Error('no page');
      const parts = [{ backend: backendOf(rules, 'b'), pages: [outcome.page] }];
      merger.merge(ADA, { kind: listKinds.tools, rules, parts, unavailable: [], frame: MESSAGE }, (it) => {
        if (typeof it !== 'string') list = it;
      });
    });
  const exchange = new RecordedExchange();
  list?.respondTo(exchange);
  t.same(exchange.answer?.body, await expectedBytes(rules, [answer]));
  t.same(threads, []);
});

const sizes: Readonly<Record<string, readonly number[]>> = {
  'one large page': [3 * LIST_BYTES_INLINE_MAX],
  'a page of many parts': [5 * LIST_PART_BYTES],
  'small pages that are large together': Array.from({ length: 5 }, () => LIST_BYTES_INLINE_MAX / 2),
  'large pages among small ones': [2_000, 2 * LIST_BYTES_INLINE_MAX, 10, 2 * LIST_BYTES_INLINE_MAX],
};

for (const [what, pageBytes] of Object.entries(sizes)) {
  t.test(`${what}: given part by part, the bytes that the event loop gives`, async (t) => {
    const merger = startMerger(t);
    const rules = virtualHostOf({ b: {} });
    const answers = pageBytes.map((bytes, index) => answerOf(bytes, `page${index}-`));
    const expected = await expectedBytes(rules, answers);
    const list = await mergeAnswers(merger, rules, answers);
    const exchange = new RecordedExchange();
    list.respondTo(exchange);
    await until(() => exchange.outcome === 'ended', 'the whole list');
    t.same(exchange.body, { contentType: 'application/json', bodyBytes: expected.length });
    t.ok(exchange.written.equals(expected));
  });
}

t.test('a caller of event streams gets the list as an event', async (t) => {
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(3 * LIST_BYTES_INLINE_MAX)];
  const frame = { head: MESSAGE.head, framing: 'event' } as const;
  const list = await mergeAnswers(merger, rules, answers, frame);
  const exchange = new RecordedExchange({ acceptedTypes: 'event-stream' });
  list.respondTo(exchange);
  await until(() => exchange.outcome === 'ended', 'the whole list');
  const expected = await expectedBytes(rules, answers, frame);
  t.same(exchange.body, { contentType: 'text/event-stream', bodyBytes: expected.length });
  t.ok(exchange.written.equals(expected));
});

t.test('a slow caller is given a part at a time', async (t) => {
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(3 * LIST_PART_BYTES)];
  const list = await mergeAnswers(merger, rules, answers);
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  list.respondTo(exchange);
  const partCount = Math.ceil((exchange.body?.bodyBytes ?? 0) / LIST_PART_BYTES);
  t.ok(partCount >= 3);
  for (let part = 1; part < partCount; part += 1) {
    await until(() => exchange.writtenBytes === part * LIST_PART_BYTES, 'the next part');
    // The thread answers this after whatever it was asked before.
    await mergeAnswers(merger, rules, [answerOf(2 * LIST_BYTES_INLINE_MAX)]);
    t.equal(exchange.writtenBytes, part * LIST_PART_BYTES, 'no more before it drains');
    exchange.isSlow = part < partCount - 1;
    exchange.drain();
  }
  await until(() => exchange.outcome === 'ended', 'the whole list');
  t.ok(exchange.written.equals(await expectedBytes(rules, answers)));
});

t.test('bytes that a slow caller has not taken are not overwritten by lists for others', async (t) => {
  /** Keeps the written bytes without a copy, as an exchange may do whose connection takes nothing more. */
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
  const bytes = 1.5 * LIST_BYTES_INLINE_MAX;
  const slow = new KeepingExchange();
  (await mergeAnswers(merger, rules, [answerOf(bytes, 'slow')])).respondTo(slow);
  await until(() => slow.outcome === 'ended', 'its only part');
  for (let other = 0; other < 3; other += 1) {
    const exchange = new RecordedExchange();
    const answers = [answerOf(bytes, `other${other}`)];
    (await mergeAnswers(merger, rules, answers)).respondTo(exchange);
    await until(() => exchange.outcome === 'ended', 'a list for somebody else');
    t.ok(exchange.written.equals(await expectedBytes(rules, answers)));
  }
  t.ok(slow.written.equals(slow.kept ?? Buffer.alloc(0)));
});

t.test('a caller that goes away is given nothing more', async (t) => {
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(3 * LIST_PART_BYTES)];
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  (await mergeAnswers(merger, rules, answers)).respondTo(exchange);
  await until(() => exchange.writtenBytes > 0, 'a part');
  exchange.abort();
  exchange.drain();
  const gone = new RecordedExchange();
  gone.isAborted = true;
  (await mergeAnswers(merger, rules, answers)).respondTo(gone);
  t.equal(exchange.writtenBytes, LIST_PART_BYTES);
  t.equal(gone.outcome, 'none');
});

t.test('a caller is cut off when the thread dies in the middle of its list', async (t) => {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(3 * LIST_PART_BYTES)];
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  (await mergeAnswers(merger, rules, answers)).respondTo(exchange);
  await until(() => exchange.writtenBytes > 0, 'a part');
  await threads[0]?.terminate();
  exchange.drain();
  await until(() => exchange.outcome === 'cut', 'the cut');
  const list = await mergeAnswers(merger, rules, answers);
  const later = new RecordedExchange();
  list.respondTo(later);
  await until(() => later.outcome === 'ended', 'a later list');
});

/** An answer larger than `LIST_BYTES_INLINE_MAX`, all of whose bytes are counted. */
const LARGE = answerOf(2 * LIST_BYTES_INLINE_MAX);
/** What its page counts for: its bytes, and its tools. */
const PAGE_BYTES = LARGE.length + Math.round((2 * LIST_BYTES_INLINE_MAX) / 1_000) * TOOL_BYTES_EACH;

t.test('answers are read while there is room in their subject’s share, and in all', async (t) => {
  const accounts = createListAccounts({ subjectMax: 1.5 * PAGE_BYTES, totalMax: 2.5 * PAGE_BYTES });
  const merger = startMerger(t, accounts);
  const first = await readPage(merger, LARGE, ADA);
  t.equal(await read(merger.createReader(ADA, listKinds.tools), LARGE), 'subjectMax');
  await until(() => accounts.of(ADA).listBytes.used === PAGE_BYTES, 'room: what is not read holds nothing');
  await readPage(merger, LARGE, BOB);
  t.equal(await read(merger.createReader(CLEO, listKinds.tools), LARGE), 'totalMax');
  t.match(
    await read(merger.createReader(ADA, listKinds.tools), answerOf(100)),
    { kind: 'page' },
    'small ones need no room',
  );
  await until(() => accounts.used('listBytes') === 2 * PAGE_BYTES, 'room');
  merger.dropPages(ADA, [first]);
  await until(() => accounts.used('listBytes') === PAGE_BYTES, 'the end of the page');
  t.match(await read(merger.createReader(CLEO, listKinds.tools), LARGE), { kind: 'page' });
});

t.test('an answer that runs out of room gives back its beginning at once', async (t) => {
  const accounts = createListAccounts({ subjectMax: 1.5 * PAGE_BYTES, totalMax: 9 * LARGE.length });
  const merger = startMerger(t, accounts);
  const tooLarge = merger.createReader(ADA, listKinds.tools);
  await new Promise<void>((resolve) => tooLarge.push([Buffer.from(LARGE)], resolve));
  t.equal(accounts.used('listBytes'), LARGE.length);
  let isTaken = false;
  tooLarge.push([Buffer.from(LARGE)], () => (isTaken = true));
  await until(() => isTaken, 'what nobody will read holds nobody up');
  await until(() => accounts.used('listBytes') === 0, 'room, though its end may be long in coming');
  t.match(await read(merger.createReader(ADA, listKinds.tools), LARGE), { kind: 'page' });
  const end = new Promise((resolve) =>
    tooLarge.end([], Buffer.from(LIST_ID), LIST_BYTES_INLINE_MAX, WITHIN_MS, resolve),
  );
  t.equal(await end, 'subjectMax', 'a small rest is not taken for the whole');
  t.equal(accounts.used('listBytes'), PAGE_BYTES, 'nothing is given back twice');
});

/** Part `at` of `count` of an answer, in memory of its own. */
function part(answer: Buffer, at: number, count: number): Buffer {
  const bytes = Math.ceil(answer.length / count);
  return Buffer.from(answer.subarray(at * bytes, (at + 1) * bytes));
}

t.test('of many large lists at once, some are read whole: memory that one gives up serves another', async (t) => {
  const COUNT = 32;
  const PARTS = 8;
  const room = 6 * PAGE_BYTES;
  const accounts = createListAccounts({ subjectMax: room, totalMax: room });
  const merger = startMerger(t, accounts);
  const readings = Array.from({ length: COUNT }, (_, n) => merger.createReader(`${n % 8}`, listKinds.tools));
  // Every reading gets a part before any reading gets the next.
  for (let at = 0; at < PARTS - 1; at += 1)
    await Promise.all(
      readings.map((reading) => new Promise<void>((resolve) => reading.push([part(LARGE, at, PARTS)], resolve))),
    );
  const outcomes = await Promise.all(
    readings.map(
      (reading) =>
        new Promise<ReadAnswer | ReadFailure>((resolve) =>
          reading.end([part(LARGE, PARTS - 1, PARTS)], Buffer.from(LIST_ID), 0, WITHIN_MS, resolve),
        ),
    ),
  );
  const whole = outcomes.filter((outcome) => typeof outcome !== 'string' && outcome.kind === 'page');
  t.ok(whole.length >= 2 && whole.length <= 6, `${whole.length} are whole`);
  t.equal(outcomes.filter((outcome) => typeof outcome === 'string').length, COUNT - whole.length);
  await until(() => accounts.used('listBytes') === whole.length * PAGE_BYTES, 'all else back');
});

t.test('a part that waits for memory is taken before the end, and a dropped reading takes none', async (t) => {
  const accounts = createListAccounts({ subjectMax: 9 * PAGE_BYTES, totalMax: PAGE_BYTES + LARGE.length / 8 });
  const merger = startMerger(t, accounts);
  const first = await readPage(merger, LARGE, ADA);
  merger.dropPages(ADA, [first]);
  const dropped = merger.createReader(BOB, listKinds.tools);
  dropped.push([part(LARGE, 0, 4)], () => t.fail('nobody waits for it any more'));
  const waiting = merger.createReader(CLEO, listKinds.tools);
  let isTaken = false;
  waiting.push([part(LARGE, 0, 2)], () => (isTaken = true));
  const answer = new Promise((resolve) =>
    waiting.end([part(LARGE, 1, 2)], Buffer.from(LIST_ID), LIST_BYTES_INLINE_MAX, WITHIN_MS, resolve),
  );
  t.notOk(isTaken);
  dropped.drop();
  t.match(await answer, { kind: 'page' });
  t.ok(isTaken);
  await until(() => accounts.used('listBytes') === PAGE_BYTES, 'the one list');
});

t.test('an answer of very many small tools counts for the memory that they take', async (t) => {
  const count = 30_000;
  const tools = Array.from({ length: count }, () => '{"name":"x","inputSchema":{"type":"object"}}').join();
  const answer = Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":{"tools":[${tools}]}}`);
  const bytes = answer.length + count * TOOL_BYTES_EACH;
  const accounts = createListAccounts({ subjectMax: bytes, totalMax: 2 * bytes - 1 });
  const merger = startMerger(t, accounts);
  const page = await readPage(merger, answer, ADA);
  t.equal(accounts.used('listBytes'), bytes);
  t.equal(await read(merger.createReader(ADA, listKinds.tools), answer), 'subjectMax');
  t.equal(await read(merger.createReader(BOB, listKinds.tools), answer), 'totalMax', 'it would fit without its tools');
  await until(() => accounts.used('listBytes') === bytes, 'room: what is not merged holds nothing');
  merger.dropPages(ADA, [page]);
  await until(() => accounts.used('listBytes') === 0, 'all of it back');
});

t.test('an answer that is not a list leaves its room free', async (t) => {
  const accounts = createAccounts();
  const merger = startMerger(t, accounts);
  const nonsense = Buffer.alloc(2 * LIST_BYTES_INLINE_MAX, ' ');
  t.same(await read(merger.createReader(ADA, listKinds.tools), nonsense), { kind: 'invalid' });
  await until(() => accounts.size === 0, 'room');
});

t.test('a merged list counts until its caller has read it or is gone', async (t) => {
  const accounts = createAccounts();
  const merger = startMerger(t, accounts);
  const rules = virtualHostOf({ b: {} });
  const slow = new RecordedExchange();
  slow.isSlow = true;
  const gone = new RecordedExchange();
  gone.isSlow = true;
  (await mergeAnswers(merger, rules, [answerOf(3 * LIST_PART_BYTES)])).respondTo(slow);
  const bytes = slow.body?.bodyBytes ?? 0;
  t.ok(bytes > LIST_PART_BYTES);
  t.equal(accounts.of(ADA).listBytes.used, bytes, 'the list, and its pages no more');
  (await mergeAnswers(merger, rules, [answerOf(3 * LIST_PART_BYTES)])).respondTo(gone);
  t.equal(accounts.of(ADA).listBytes.used, 2 * bytes);
  await until(() => gone.writtenBytes > 0, 'a part');
  gone.abort();
  await until(() => accounts.of(ADA).listBytes.used === bytes, 'the end of the list that nobody wants');
  await until(() => slow.writtenBytes > 0, 'a part for who reads slowly');
  t.equal(accounts.of(ADA).listBytes.used, bytes, 'it is there still');
  slow.isSlow = false;
  slow.drain();
  await until(() => slow.outcome === 'ended', 'the whole list');
  t.equal(accounts.size, 0);
});

t.test('lent pages serve lists and catalogues repeatedly, until they are dropped', async (t) => {
  const accounts = createAccounts();
  const deadlines = new DeadlineWheel();
  const cache = new ListCache(WITHIN_MS, deadlines, () => 0);
  t.teardown(() => deadlines.stop());
  const merger = startMerger(t, accounts, cache);
  const rules = virtualHostOf({ b: {} });
  const backend = backendOf(rules, 'b');
  const answer = answerOf(2 * LIST_BYTES_INLINE_MAX);
  const identity = { subject: ADA, backend, kind: 'tools', callerHash: '' } as const;
  const jobOf = (pages: readonly ReadPage[]): MergeJob<ReadPage> => ({
    ...{ kind: listKinds.tools, rules, parts: [{ backend, pages }], unavailable: [], frame: MESSAGE },
  });
  const read = await readPage(merger, answer);
  let pages = merger.keep(ADA, cache.beginRead(identity), [read]);
  t.equal(accounts.size, 0, 'what is kept counts in its own share');
  for (const what of ['merged', 'catalogue', 'merged again', 'dropped', 'merged at last']) {
    if (what === 'catalogue') {
      const made = await new Promise<KeptInThread | ThreadFailure>((resolve) => {
        merger.makeCatalogue(ADA, jobOf(pages), resolve);
      });
      t.ok(typeof made === 'object' && made.bytes > answer.length, what);
    } else if (what === 'dropped') {
      merger.dropPages(ADA, pages);
    } else {
      const exchange = new RecordedExchange();
      (await merge(merger, jobOf(pages))).respondTo(exchange);
      await until(() => exchange.outcome === 'ended', what);
      t.ok(exchange.written.equals(await expectedBytes(rules, [answer])), what);
    }
    pages = cache.find(identity) ?? [];
    t.equal(pages.length, 1, 'it is still there');
  }
  merger.forgetLists();
  t.equal(accounts.of(ADA).listBytes.used, 'key' in read ? read.bytes : 0, 'it is lent still');
  merger.dropPages(ADA, pages);
  await until(() => accounts.size === 0, 'its end');
});

t.test(
  'queries of many invented words are answered, and the search of another subject does not wait for them',
  async (t) => {
    const merger = startMerger(t);
    const rules = virtualHostOf({ b: {} });
    const random = new Random(5);
    const similar = (): string => `abcdefghijklmno${random.below(1_000_000).toString(36)}pqrstu`;
    const textOf = (chars: number): string => {
      let text = '';
      while (text.length < chars) text += `${similar()} `;
      return text;
    };
    const attack = textOf(limits.toolQueryCharsMax - 30);
    const [first] = attack.split(' ');
    const tools = Array.from({ length: 200 }, (_, at) => ({
      name: `tool${at}`,
      title: `${first} `.concat(textOf(TOOL_TEXT_CHARS_MAX)),
      description: textOf(TOOL_TEXT_CHARS_MAX),
    }));
    const answer = Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":${JSON.stringify({ tools })}}`);
    const catalogued = async (subject: string, bytes: Buffer): Promise<number> => {
      const pages = [await readPage(merger, bytes, subject)];
      const job = { kind: listKinds.tools, rules, parts: [{ backend: backendOf(rules, 'b'), pages }], unavailable: [] };
      const made = await new Promise<KeptInThread | ThreadFailure>((resolve) =>
        merger.makeCatalogue(subject, job, resolve),
      );
      if (typeof made === 'string') throw new Error(made);
      return made.key;
    };
    const [large, small] = [await catalogued(ADA, answer), await catalogued(BOB, answerOf(2_000, 'door'))];
    const find = async (subject: string, key: number, query: string): Promise<string> =>
      new Promise((resolve) =>
        merger.searchCatalogue(subject, { key, query, toolsMax: 5, frame: MESSAGE }, (found) =>
          resolve(found.toString()),
        ),
      );
    const order: string[] = [];
    const attacks = Array.from({ length: 3 * LIST_TASKS_IN_THREAD_MAX }, async () => {
      t.match(await find(ADA, large, attack), /"structuredContent"/);
      order.push(ADA);
    });
    t.match(await find(BOB, small, 'door'), /"structuredContent"/);
    order.push(BOB);
    await Promise.all(attacks);
    t.ok(order.indexOf(BOB) <= LIST_TASKS_IN_THREAD_MAX + 1, 'his turn comes after what is in the thread already');
  },
);

t.test('a list that outlives all else of its subject counts in the account that the subject uses next', async (t) => {
  const accounts = createAccounts();
  const merger = startMerger(t, accounts);
  const rules = virtualHostOf({ b: {} });
  const halves = Array.from({ length: 3 }, (_, index) => answerOf(LIST_BYTES_INLINE_MAX / 2, `page${index}-`));
  const pages: ReadPage[] = [];
  for (const half of halves) pages.push(await readPage(merger, half));
  t.equal(accounts.size, 0, 'nothing is counted yet');
  const job = {
    kind: listKinds.tools,
    rules,
    parts: [{ backend: backendOf(rules, 'b'), pages }],
    unavailable: [],
    frame: MESSAGE,
  };
  const merging = merge(merger, job);
  accounts.of(ADA).sessions.take(1);
  const list = await merging;
  t.ok(accounts.of(ADA).listBytes.used > LIST_BYTES_INLINE_MAX);
  accounts.of(ADA).sessions.give(1);
  list.drop();
  await until(() => accounts.size === 0, 'the end of the list');
});

t.test('a URI is granted by pages in the thread and by pages that are shared, which stay as they were', async (t) => {
  const accounts = createAccounts();
  const merger = startMerger(t, accounts);
  const answerWith = (resources: readonly object[]): Buffer =>
    Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":${JSON.stringify({ resources })}}`);
  const many = Array.from({ length: 1_000 }, (_, at) => ({ uri: `x:${at}`, name: `n${at}`, title: 'é'.repeat(200) }));
  const rules = virtualHostOf({ b: { allowed_resource_names: ['n7', 'few', 'y:unnamed'] } });
  const backend = backendOf(rules, 'b');
  const few = [{ uri: 'y:few', name: 'few' }, { uri: 'y:unnamed' }, { uri: 'y:other', name: 'other' }];
  const readFew = (): Promise<ReadPage> => readPage(merger, answerWith(few), ADA, listKinds.resources);
  const small = await readFew();
  if (!('spans' in small)) throw new Error('it is small');
  const shared = { ...small, isShared: true } as const;
  const grants = async (uri: string, pages: readonly ReadPage[]): Promise<boolean | ThreadFailure> =>
    new Promise((resolve) => {
      merger.checkGrant(ADA, { kind: listKinds.resources, backend, pages, uri }, resolve);
    });
  const expected = { 'x:7': true, 'x:8': false, 'y:few': true, 'y:unnamed': true, 'y:other': false, 'y:none': false };
  for (const [uri, isGranted] of Object.entries(expected)) {
    const large = await readPage(merger, answerWith(many), ADA, listKinds.resources);
    t.notOk('spans' in large, 'it is in the thread');
    t.equal(await grants(uri, [large, shared]), isGranted, uri);
    if (uri.startsWith('y')) t.equal(await grants(uri, [await readFew()]), isGranted, `${uri}, on the event loop`);
  }
  t.equal(shared.bytes.toString().includes('"y:few"'), true);
  t.equal(shared.spans.length > 0, true);
  await until(() => accounts.size === 0, 'nothing counts any more');
});
