// What the list thread does, and what it keeps meanwhile: the pieces of answers until they are complete, pages until they
// are merged, merged lists until they are given away. So the event loop never holds more of a list than a part, and its
// garbage collector, which counts such memory, is not called in by every list.
import { readToolAnswer, type ToolPage } from '../../protocol/tool-page.js';
import { decodeRules } from './list-rules.js';
import { mergeTools } from './merge.js';
import {
  joined,
  receivedPage,
  type AppendTask,
  type DropTask,
  type MergeOutcome,
  type MergeTask,
  type NextOutcome,
  type NextTask,
  type ReadOutcome,
  type ReadTask,
  type SentPage,
} from './thread-tasks.js';

interface KeptList {
  readonly bytes: Buffer;
  /** What lies before was given away. */
  at: number;
}

/** Every method throws when what it needs was lost: a thread that takes another's place knows none of its keys. */
export class ListKeeper {
  readonly #answers = new Map<number, Uint8Array[]>();
  readonly #pages = new Map<number, ToolPage>();
  readonly #lists = new Map<number, KeptList>();

  append({ key, pieces }: AppendTask): void {
    const before = this.#answers.get(key);
    if (before === undefined) this.#answers.set(key, [...pieces]);
    else before.push(...pieces);
  }

  read(task: ReadTask): ReadOutcome {
    this.append(task);
    const answer = joined(this.#answers.get(task.key) ?? []);
    this.#answers.delete(task.key);
    if (answer.length !== task.bytes) throw new Error('pieces of an answer were lost');
    const outcome = readToolAnswer(answer, Buffer.from(task.id));
    if (outcome.kind !== 'page') return outcome;
    this.#pages.set(task.key, outcome.page);
    return { kind: 'page', nextCursor: outcome.nextCursor };
  }

  merge({ key, rules: rulesText, parts: sentParts, unavailable, frame }: MergeTask): MergeOutcome {
    const rules = decodeRules(rulesText);
    const parts = sentParts.map(({ backend, pages }) => ({
      backend: rules.backendsByNameLength[backend]!,
      pages: pages.map((page) => this.#takePage(page)),
    }));
    const { bytes, unreachable } = mergeTools({ rules, parts, unavailable, frame });
    this.#lists.set(key, { bytes, at: 0 });
    return { bytes: bytes.length, unreachable };
  }

  next({ key, memory }: NextTask): NextOutcome {
    const list = this.#lists.get(key);
    if (list === undefined) throw new Error('a merged list was lost');
    const bytes = list.bytes.copy(memory, 0, list.at);
    list.at += bytes;
    if (list.at === list.bytes.length) this.#lists.delete(key);
    return { memory, bytes };
  }

  drop({ keys }: DropTask): void {
    for (const key of keys) {
      this.#answers.delete(key);
      this.#pages.delete(key);
      this.#lists.delete(key);
    }
  }

  #takePage(page: number | SentPage): ToolPage {
    if (typeof page !== 'number') return receivedPage(page);
    const kept = this.#pages.get(page);
    if (kept === undefined) throw new Error('a page was lost');
    this.#pages.delete(page);
    return kept;
  }
}
