// The two ways in which lists are read and merged, for tests that run the same table against both.
import type { Test } from 'tap';
import { listKinds, type ListKindName } from '../../src/mcp/list-kinds.js';
import { readListAnswer } from '../../src/mcp/list-page.js';
import { ListPool, type OutcomeOf, type TaskName, type TaskOf, type ThreadFailure } from '../../src/lists/list-pool.js';
import { encodeRules, type ListRules, type RuledBackend } from '../../src/user-config/routing.js';
import { mergeLists, type MergeResult } from '../../src/lists/merge.js';
import type { AnswerFrame } from '../../src/exchange/answers.js';
import type { UnavailableBackend } from '../../src/http-client/upstream-fault.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { logInto } from '../support/log-lines.js';

/** The answers of backends to a list request, and how to merge them. */
export interface Answers {
  readonly kind?: ListKindName;
  readonly rules: ListRules;
  readonly parts: readonly { readonly backend: RuledBackend; readonly answers: readonly Buffer[] }[];
  readonly unavailable: readonly UnavailableBackend[];
  readonly frame: AnswerFrame;
}

export type MergeWay = (answers: Answers) => Promise<MergeResult>;

/** The id of the list requests, as JSON. */
export const LIST_ID = '"é"';

const WITHIN_MS = 60_000;
/** An odd size, so that parts end at any place. */
const PART_BYTES = 997;

/** Runs the tests in `body` once for each way. */
export function inBothWays(t: Test, name: string, body: (t: Test, way: MergeWay) => Promise<void>): void {
  t.test(`${name}: on the event loop`, (t) => body(t, onLoop));
  t.test(`${name}: in the list thread`, (t) => body(t, inThread(startPool(t))));
}

export const onLoop: MergeWay = async ({ kind = 'tools', rules, parts, unavailable, frame }) => {
  const readParts = parts.map(({ backend, answers }) => ({
    backend,
    pages: answers.map((bytes) => {
      const answer = readListAnswer(bytes, Buffer.from(LIST_ID), listKinds[kind]);
      if (answer.kind !== 'page') throw new Error(`not a page of tools: ${bytes.toString()}`);
      return answer.page;
    }),
  }));
  return mergeLists({ kind: listKinds[kind], rules, parts: readParts, unavailable, frame });
};

export function inThread(pool: ListPool): MergeWay {
  const readInto = async (kind: ListKindName, key: number, bytes: Buffer): Promise<number> => {
    const pieces = [bytes.subarray(0, 5), bytes.subarray(5)].map((piece) => Uint8Array.from(piece));
    const task = { key, pieces, bytes: bytes.length, id: LIST_ID, kind };
    const outcome = await run(pool, 'read', handOver(task, pieces));
    if (outcome.kind !== 'page') throw new Error(`not a page of tools: ${bytes.toString()}`);
    return key;
  };
  return async ({ kind = 'tools', rules, parts, unavailable, frame }) => {
    const readParts = await Promise.all(
      parts.map(async ({ backend, answers }) => ({
        backend: rules.backendsByNameLength.indexOf(backend),
        pages: await Promise.all(answers.map((bytes) => readInto(kind, pool.mintKey(), bytes))),
      })),
    );
    const key = pool.mintKey();
    const task = { key, kind, rules: encodeRules(rules), parts: readParts, unavailable, frame };
    const { bytes, unreachableNames } = await run(pool, 'merge', handOver(task));
    return { bytes: await takeList(pool, key, bytes), unreachableNames };
  };
}

/** A whole list that the thread keeps, taken part by part. */
export async function takeList(pool: ListPool, key: number, bytes: number): Promise<Buffer> {
  const list = Buffer.alloc(bytes);
  let buffer = new Uint8Array(PART_BYTES);
  for (let at = 0; at < bytes;) {
    const part = await run(pool, 'next', handOver({ key, buffer }, [buffer]));
    buffer = part.buffer as Uint8Array<ArrayBuffer>;
    list.set(buffer.subarray(0, part.bytes), at);
    at += part.bytes;
  }
  return list;
}

/** A task, and the memory that is transferred with it. */
interface HandedOver<Task> {
  readonly task: Task;
  readonly memory: readonly ArrayBufferView[];
}

export function handOver<Task>(task: Task, memory: readonly ArrayBufferView[] = []): HandedOver<Task> {
  return { task, memory };
}

/** Runs a task in the thread; rejects with an error whose message is the failure. */
export function run<Name extends TaskName>(
  pool: ListPool,
  name: Name,
  { task, memory }: HandedOver<TaskOf<Name>>,
  withinMs = WITHIN_MS,
  subject = 'ada',
): Promise<Exclude<OutcomeOf<Name>, ThreadFailure>> {
  return new Promise((resolve, reject) => {
    const done = (outcome: OutcomeOf<Name> | ThreadFailure): void => {
      if (typeof outcome === 'string') reject(new Error(outcome));
      else resolve(outcome as Exclude<OutcomeOf<Name>, ThreadFailure>);
    };
    pool.run(subject, name, task, memory, done, withinMs);
  });
}

/** A pool that ends with the test. */
export function startPool(t: Test, lines: string[] = []): ListPool {
  const deadlines = new DeadlineWheel(10);
  const pool = new ListPool(deadlines, logInto(lines));
  t.teardown(async () => {
    deadlines.stop();
    await pool.close();
  });
  return pool;
}
