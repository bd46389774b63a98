// The ways in which lists are read and merged, for tests that run the same table against both.
import type { Test } from 'tap';
import { JsonScanner } from '../../../src/protocol/json-scanner.js';
import { listKinds, type ListKindName } from '../../../src/protocol/list-kinds.js';
import { LIST_DEPTH, listAnswerIn, readListAnswer, type ListAnswer } from '../../../src/protocol/list-page.js';
import { ListMerger } from '../../../src/relay/list-merge/list-merger.js';
import type { MergedList } from '../../../src/relay/list-merge/merged-list.js';
import type { AnswerFrame } from '../../../src/relay/exchange/answers.js';
import type { UnavailableBackend } from '../../../src/relay/message/unavailable.js';
import { DeadlineWheel } from '../../../src/shared/deadline-wheel.js';
import { limits } from '../../../src/shared/limits.js';
import type { ListRules, RuledBackend } from '../../../src/user-config/list-rules.js';
import { logInto } from '../../support/log-lines.js';
import { RecordedExchange } from '../../support/recorded-exchange.js';
import { createAccounts } from '../../support/shares.js';
import { until } from '../../support/until.js';

/** The answers of backends to a list request, and how to merge them. */
export interface Answers {
  readonly kind?: ListKindName;
  readonly rules: ListRules;
  readonly parts: readonly { readonly backend: RuledBackend; readonly answers: readonly Buffer[] }[];
  readonly unavailable: readonly UnavailableBackend[];
  readonly frame: AnswerFrame;
}

export interface MergeResult {
  /** The whole answer. */
  readonly bytes: Buffer;
  readonly unreachable: readonly string[];
}

export type MergeWay = (answers: Answers) => Promise<MergeResult>;

/** The id of the list requests, as JSON. */
export const LIST_ID = '"é"';

const ID = Buffer.from(LIST_ID);

/** Runs the tests in `body` once for each way. */
export function inBothWays(t: Test, name: string, body: (t: Test, way: MergeWay) => Promise<void>): void {
  t.test(`${name}: at once`, (t) => body(t, atOnce));
  t.test(`${name}: in steps`, (t) => body(t, inSteps));
}

export const atOnce: MergeWay = (answers) =>
  merged(answers, (bytes, kind) => readListAnswer(bytes, ID, listKinds[kind]));

/** With space behind each answer, so that it is too large for one go; the readings of two lists take turns. */
export const inSteps: MergeWay = async (answers) => {
  const [list] = await Promise.all([
    merged(answers, (bytes, kind) => {
      const large = Buffer.concat([bytes, Buffer.alloc(limits.listBytesInlineMax, ' ')]);
      const [tape, other] = [new JsonScanner(), new JsonScanner()];
      if (!tape.scan(large, LIST_DEPTH) || !other.scan(large, LIST_DEPTH)) return { kind: 'invalid' };
      const [steps, others] = [tape, other].map((each) => listAnswerIn(each, large, ID, listKinds[kind], false));
      for (;;) {
        const step = steps!.next();
        if (step.done === true) return step.value;
        others!.next();
      }
    }),
    merged(answers, (bytes, kind) => readListAnswer(bytes, ID, listKinds[kind])),
  ]);
  return list;
};

async function merged(
  { kind = 'tools', rules, parts, unavailable, frame }: Answers,
  read: (bytes: Buffer, kind: ListKindName) => ListAnswer,
): Promise<MergeResult> {
  const deadlines = new DeadlineWheel();
  const merger = new ListMerger(deadlines, createAccounts(), logInto([]));
  deadlines.stop();
  const readParts = parts.map(({ backend, answers }) => ({
    backend,
    pages: answers.map((bytes) => {
      const answer = read(bytes, kind);
      if (answer.kind !== 'page') throw new Error(`not a page of ${kind}: ${bytes.toString()}`);
      return { ...answer.page, countedBytes: 0 };
    }),
  }));
  const list = await new Promise<MergedList>((resolve) =>
    merger.merge('ada', { kind: listKinds[kind], rules, parts: readParts, unavailable, frame }, resolve),
  );
  return { bytes: await bytesOf(list, frame), unreachable: list.unreachable };
}

/** The whole list, as its caller gets it. */
export async function bytesOf(list: MergedList, { form }: AnswerFrame): Promise<Buffer> {
  const exchange = new RecordedExchange({ answerForms: form === 'event' ? 'event-stream' : 'both' });
  list.respondTo(exchange);
  await until(() => ['responded', 'ended'].includes(exchange.outcome), 'the whole list');
  return exchange.answer?.body ?? exchange.written;
}
