// Reads and merges lists of tools: small ones at once on the event loop, large ones in the list thread, so that the loop
// keeps serving (limits.ts says from which size on, and why). Both ways give the same bytes.
import type { ToolPage } from '../../protocol/tool-page.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import { AnswerReading, type ReadPage } from './answer-reading.js';
import { ByteBudget } from './byte-budget.js';
import { ListPool, type ThreadFailure } from './list-pool.js';
import { encodeRules, type ListRules } from './list-rules.js';
import { mergeTools, type MergeJob } from './merge.js';
import { LargeList, SmallList, type MergedList } from './merged-list.js';
import { PartMemory } from './part-memory.js';
import { handOver, sentPage, type MergeTask, type SentPage } from './thread-tasks.js';

export class ListMerger {
  readonly #pool: ListPool;
  readonly #budget = new ByteBudget(limits.listThreadBytesMax);
  readonly #partMemory = new PartMemory();
  /** Encoded once for each compiled virtual host: an allow-list may have thousands of names. */
  readonly #rulesTexts = new WeakMap<ListRules, string>();

  constructor(deadlines: DeadlineWheel, logger: Logger) {
    this.#pool = new ListPool(deadlines, logger);
  }

  /** Every page that comes of it goes to `merge` or to `dropPages`. */
  startReading(): AnswerReading {
    return new AnswerReading(this.#pool, this.#budget);
  }

  /** @param done called once, from within when the list is small. */
  merge(job: MergeJob<ReadPage>, done: (list: MergedList | ThreadFailure) => void): void {
    if (isSmall(job)) {
      const { bytes, unreachable } = mergeTools(job);
      done(new SmallList(bytes, unreachable));
      return;
    }
    const keptPages = job.parts.flatMap(({ pages }) => pages.filter(isKept));
    const key = this.#pool.mintKey();
    this.#pool.run('merge', this.#task(key, job), limits.listTaskMsMax, (outcome) => {
      if (typeof outcome === 'string') {
        this.dropPages(keptPages);
        // It may come yet, when it is only late.
        this.#pool.drop([key]);
        done(outcome);
        return;
      }
      for (const page of keptPages) this.#budget.give(page.bytes);
      this.#budget.take(outcome.bytes);
      done(new LargeList(this.#pool, this.#budget, this.#partMemory, key, outcome, job.frame.form));
    });
  }

  /** Nobody wants these pages any more. */
  dropPages(pages: readonly ReadPage[]): void {
    const keptPages = pages.filter(isKept);
    for (const page of keptPages) this.#budget.give(page.bytes);
    this.#pool.drop(keptPages.map(({ key }) => key));
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #task(key: number, { rules, parts, unavailable, frame }: MergeJob<ReadPage>) {
    const views: ArrayBufferView[] = [];
    const send = (page: ToolPage): SentPage => {
      const sent = sentPage(page);
      views.push(sent.bytes, sent.spans);
      return sent;
    };
    const sentParts = parts.map(({ backend, pages }) => ({
      backend: rules.backendsByNameLength.indexOf(backend),
      pages: pages.map((page) => (isKept(page) ? page.key : send(page))),
    }));
    return handOver<MergeTask>({ key, rules: this.#rulesText(rules), parts: sentParts, unavailable, frame }, views);
  }

  #rulesText(rules: ListRules): string {
    let text = this.#rulesTexts.get(rules);
    if (text === undefined) {
      text = encodeRules(rules);
      this.#rulesTexts.set(rules, text);
    }
    return text;
  }
}

function isKept(page: ReadPage): page is Extract<ReadPage, { key: number }> {
  return 'key' in page;
}

/** Whether everything is on the event loop still, and small together. */
function isSmall(job: MergeJob<ReadPage>): job is MergeJob {
  let bytes = 0;
  for (const { pages } of job.parts) {
    for (const page of pages) {
      if (isKept(page)) return false;
      bytes += page.bytes.length;
    }
  }
  return bytes <= limits.listBytesInlineMax;
}
