// How lists are merged and given to their callers: at once or part by part; what is left when nobody wants them; and searches.
import type { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { listKinds } from '../../../src/protocol/list-kinds.js';
import { readListAnswer } from '../../../src/protocol/list-page.js';
import { ListCache } from '../../../src/relay/list-merge/list-cache.js';
import { ListMerger, type MadeCatalogue } from '../../../src/relay/list-merge/list-merger.js';
import type { ReadPage } from '../../../src/relay/list-merge/list-cache.js';
import type { MergeJob } from '../../../src/relay/list-merge/merge.js';
import type { AnswerFrame } from '../../../src/relay/exchange/answers.js';
import type { MergedList } from '../../../src/relay/list-merge/merged-list.js';
import { SEARCH_TASKS_IN_THREAD_MAX } from '../../../src/relay/list-merge/search-thread.js';
import { SENT_PER_TURN_BYTES } from '../../../src/relay/exchange/sending.js';
import type { Accounts } from '../../../src/shared/accounts.js';
import { DeadlineWheel } from '../../../src/shared/deadline-wheel.js';
import { largeMemory } from '../../../src/shared/large-memory.js';
import { limits } from '../../../src/shared/limits.js';
import type { CompiledVirtualHost } from '../../../src/user-config/compiled-config.js';
import { logInto } from '../../support/log-lines.js';
import { Random } from '../../support/random.js';
import { createAccounts } from '../../support/shares.js';
import { until } from '../../support/until.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { backendOf, virtualHostOf } from '../virtual-host.js';
import { LIST_ID } from './merge-ways.js';
import { TOOL_TEXT_CHARS_MAX } from '../../../src/relay/list-merge/tool-catalogue.js';

const WITHIN_MS = 60_000;
const [ADA, BOB] = ['ada', 'bob'] as const;
const MESSAGE: AnswerFrame = { head: '{"jsonrpc":"2.0","id":7,"result":', form: 'message' };
/** Larger than what is sent in one piece. */
const LARGE_BYTES = 2 * SENT_PER_TURN_BYTES;

function startMerger(t: Test, accounts: Accounts = createAccounts(), cache?: ListCache): ListMerger {
  const deadlines = new DeadlineWheel();
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

/** Reads an answer, and counts its bytes as the reader of a list does. */
function readPage(merger: ListMerger, bytes: Buffer, subject: string = ADA): ReadPage {
  const outcome = readListAnswer(bytes, Buffer.from(LIST_ID), listKinds.tools);
  if (outcome.kind !== 'page') throw new Error(outcome.kind);
  const countedBytes = bytes.length <= limits.listBytesInlineMax ? 0 : bytes.length;
  if (merger.tryCount(subject, countedBytes) !== undefined) throw new Error('no room');
  return { ...outcome.page, countedBytes };
}

function merge(merger: ListMerger, job: MergeJob<ReadPage>, subject: string = ADA): Promise<MergedList> {
  return new Promise<MergedList>((resolve) => merger.merge(subject, job, resolve));
}

function jobOf(rules: CompiledVirtualHost, pages: readonly ReadPage[], frame = MESSAGE): MergeJob<ReadPage> {
  const parts = [{ backend: backendOf(rules, 'b'), pages }];
  return { kind: listKinds.tools, rules, parts, unavailable: [], frame };
}

/** What the list of these answers is, by another way than the one that is tested. */
function expectedText(answers: readonly Buffer[]): string {
  const tools = answers.flatMap((answer) => {
    const { result } = JSON.parse(answer.toString()) as { result: { tools: { name: string }[] } };
    return result.tools.map((tool) => ({ ...tool, name: `b-${tool.name}` }));
  });
  tools.sort((one, other) => (one.name < other.name ? -1 : 1));
  return `${MESSAGE.head}${JSON.stringify({ tools })}}`;
}

function mergeAnswers(
  merger: ListMerger,
  rules: CompiledVirtualHost,
  answers: readonly Buffer[],
  frame = MESSAGE,
): Promise<MergedList> {
  const pages = answers.map((answer) => readPage(merger, Buffer.from(answer)));
  return merge(merger, jobOf(rules, pages, frame));
}

t.test('a small list is merged synchronously; no list needs a thread', async (t) => {
  const threads: Worker[] = [];
  const onWorker = (thread: Worker): void => void threads.push(thread);
  process.on('worker', onWorker);
  t.teardown(() => process.off('worker', onWorker));
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answer = answerOf(20_000);
  const exchange = new RecordedExchange();
  merger.merge(ADA, jobOf(rules, [readPage(merger, answer)]), (list) => list.respondTo(exchange));
  t.equal(exchange.answer?.body.toString(), expectedText([answer]));
  (await mergeAnswers(merger, rules, [answerOf(LARGE_BYTES)])).drop();
  t.same(threads, []);
});

const sizes: Readonly<Record<string, readonly number[]>> = {
  'one large page': [3 * limits.listBytesInlineMax],
  'a page of many parts': [10 * limits.listPartBytes],
  'small pages that are large together': Array.from({ length: 5 }, () => limits.listBytesInlineMax / 2),
  'large pages among small ones': [2_000, 2 * limits.listBytesInlineMax, 10, 4 * limits.listBytesInlineMax],
};

for (const [what, pageBytes] of Object.entries(sizes)) {
  t.test(`${what}: every byte, of the length that was announced`, async (t) => {
    const merger = startMerger(t);
    const answers = pageBytes.map((bytes, index) => answerOf(bytes, `page${index}-`));
    for (const form of ['message', 'event'] as const) {
      const list = await mergeAnswers(merger, virtualHostOf({ b: {} }), answers, { head: MESSAGE.head, form });
      const exchange = new RecordedExchange({ answerForms: form === 'event' ? 'event-stream' : 'both' });
      list.respondTo(exchange);
      await until(() => ['ended', 'responded'].includes(exchange.outcome), 'the whole list');
      const text = (exchange.answer?.body ?? exchange.written).toString();
      const expected = expectedText(answers);
      t.ok(text === (form === 'event' ? `event: message\ndata: ${expected}\n\n` : expected), form);
      if (exchange.body !== undefined) t.equal(exchange.body.bodyBytes, Buffer.byteLength(expected));
    }
  });
}

t.test('the memory of pages is used again once they are merged, that of a list once it was given back', async (t) => {
  /** Keeps the answer without a copy. */
  class KeepingExchange extends RecordedExchange {
    kept: Uint8Array = new Uint8Array(0);

    override respond(...answer: Parameters<RecordedExchange['respond']>): void {
      super.respond(...answer);
      this.kept = answer[2] as Uint8Array;
    }
  }
  const answer = answerOf(120_000);
  const give = (): { page: ArrayBufferLike; list: Uint8Array } => {
    const merger = startMerger(t);
    const bytes = largeMemory.take(answer.length).subarray(0, answer.length);
    answer.copy(bytes);
    const exchange = new KeepingExchange();
    merger.merge(ADA, jobOf(virtualHostOf({ b: {} }), [readPage(merger, bytes)]), (list) => list.respondTo(exchange));
    t.equal(Buffer.from(exchange.kept).toString(), expectedText([answer]));
    return { page: bytes.buffer, list: exchange.kept };
  };
  const first = give();
  const second = give();
  t.equal(second.page, first.page);
  t.not(second.list.buffer, first.list.buffer, 'not before');
  largeMemory.giveBack(first.list);
  const third = give();
  t.ok([third.page, third.list.buffer].includes(first.list.buffer));
});

t.test('an item longer than a part, among short ones', async (t) => {
  const tools = ['a', 'b', 'c'].map((name) => ({ name, x: name === 'b' ? 'x'.repeat(3 * LARGE_BYTES) : '' }));
  const answers = [Buffer.from(`{"jsonrpc":"2.0","id":${LIST_ID},"result":${JSON.stringify({ tools })}}`)];
  const exchange = new RecordedExchange();
  (await mergeAnswers(startMerger(t), virtualHostOf({ b: {} }), answers)).respondTo(exchange);
  await until(() => exchange.outcome === 'ended', 'the whole list');
  t.ok(exchange.written.toString() === expectedText(answers));
});

t.test('a slow caller is given a part at a time', async (t) => {
  const merger = startMerger(t);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(LARGE_BYTES)];
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  (await mergeAnswers(merger, rules, answers)).respondTo(exchange);
  let parts = 0;
  while (exchange.outcome !== 'ended') {
    const { writtenBytes } = exchange;
    const other = new RecordedExchange();
    (await mergeAnswers(merger, rules, [answerOf(LARGE_BYTES, 'other')])).respondTo(other);
    await until(() => other.outcome === 'ended', 'a list for somebody else');
    t.equal(exchange.writtenBytes, writtenBytes, 'no more before it drains');
    parts += 1;
    exchange.drain();
    t.ok(exchange.writtenBytes - writtenBytes <= limits.listPartBytes);
  }
  t.ok(parts > LARGE_BYTES / limits.listPartBytes);
  t.ok(exchange.written.toString() === expectedText(answers));
});

t.test('a caller that goes away is given nothing more, and its list counts no longer', async (t) => {
  const accounts = createAccounts();
  const merger = startMerger(t, accounts);
  const rules = virtualHostOf({ b: {} });
  const answers = [answerOf(LARGE_BYTES)];
  const exchange = new RecordedExchange();
  exchange.isSlow = true;
  (await mergeAnswers(merger, rules, answers)).respondTo(exchange);
  const { writtenBytes } = exchange;
  t.ok(writtenBytes > 0 && writtenBytes <= limits.listPartBytes);
  exchange.abort();
  exchange.drain();
  const gone = new RecordedExchange();
  gone.isAborted = true;
  (await mergeAnswers(merger, rules, answers)).respondTo(gone);
  t.equal(exchange.writtenBytes, writtenBytes);
  t.equal(gone.outcome, 'none');
  t.equal(accounts.size, 0);
});

t.test('pages count until they are merged, and those of a large list until its caller has read it', async (t) => {
  const accounts = createAccounts();
  const merger = startMerger(t, accounts);
  const rules = virtualHostOf({ b: {} });
  const held = (): number => accounts.of(ADA).listBytes.held;
  (await mergeAnswers(merger, rules, [answerOf(3 * limits.listBytesInlineMax)])).respondTo(new RecordedExchange());
  t.equal(held(), 0);
  const large = answerOf(LARGE_BYTES);
  const slow = new RecordedExchange();
  slow.isSlow = true;
  (await mergeAnswers(merger, rules, [large])).respondTo(slow);
  const dropped = await mergeAnswers(merger, rules, [large]);
  t.equal(held(), 2 * large.length);
  dropped.drop();
  t.equal(held(), large.length, 'it is there still');
  slow.isSlow = false;
  slow.drain();
  await until(() => slow.outcome === 'ended', 'the whole list');
  t.equal(accounts.size, 0);
});

t.test(
  'pages of the cache serve lists and catalogues repeatedly, and those who use them after it has dropped them',
  async (t) => {
    const accounts = createAccounts();
    const deadlines = new DeadlineWheel();
    const cache = new ListCache(WITHIN_MS, deadlines, () => 0);
    t.teardown(() => deadlines.stop());
    const merger = startMerger(t, accounts, cache);
    const rules = virtualHostOf({ b: {} });
    const backend = backendOf(rules, 'b');
    const answer = answerOf(2 * limits.listBytesInlineMax);
    const identity = { subject: ADA, backend, kind: 'tools', shown: '' } as const;
    let pages = cache.begin(identity).keep([readPage(merger, answer)]);
    for (const what of ['merged', 'catalogue', 'merged again', 'dropped', 'merged at last']) {
      t.equal(accounts.of(ADA).listBytes.held, answer.length, 'it counts while somebody uses it');
      if (what === 'catalogue') {
        const made = await new Promise<MadeCatalogue | 'failed'>((resolve) => {
          merger.catalogue(ADA, jobOf(rules, pages), resolve);
        });
        t.ok(typeof made === 'object' && made.bytes > answer.length, what);
      } else if (what === 'dropped') {
        merger.dropPages(ADA, pages);
      } else {
        const exchange = new RecordedExchange();
        (await merge(merger, jobOf(rules, pages))).respondTo(exchange);
        t.ok(exchange.answer?.body.toString() === expectedText([answer]), what);
      }
      t.equal(accounts.size, 0);
      pages = merger.borrowed(ADA, cache.find(identity) ?? []);
      t.equal(pages.length, 1, 'it is still there');
    }
    merger.forgetLists();
    const exchange = new RecordedExchange();
    (await merge(merger, jobOf(rules, pages))).respondTo(exchange);
    t.ok(exchange.answer?.body.toString() === expectedText([answer]));
    t.equal(accounts.size, 0);
  },
);

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
      const pages = [readPage(merger, bytes, subject)];
      const made = await new Promise<MadeCatalogue | 'failed'>((resolve) =>
        merger.catalogue(subject, jobOf(rules, pages), resolve),
      );
      if (typeof made === 'string') throw new Error(made);
      return made.key;
    };
    const [large, small] = [await catalogued(ADA, answer), await catalogued(BOB, answerOf(2_000, 'door'))];
    const find = async (subject: string, key: number, query: string): Promise<string> =>
      new Promise((resolve) =>
        merger.find(subject, { key, query, count: 5, frame: MESSAGE }, (found) => resolve(found.toString())),
      );
    const order: string[] = [];
    const attacks = Array.from({ length: 20 }, async () => {
      t.match(await find(ADA, large, attack), /"structuredContent"/);
      order.push(ADA);
    });
    t.match(await find(BOB, small, 'door'), /"structuredContent"/, 'within the time that a task has');
    order.push(BOB);
    await Promise.all(attacks);
    t.ok(order.indexOf(BOB) <= SEARCH_TASKS_IN_THREAD_MAX + 1, 'his turn comes after what is in the thread already');
  },
);
