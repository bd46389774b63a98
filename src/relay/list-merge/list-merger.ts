// Reads and merges lists: small ones at once on the event loop, large ones in the list thread, so that the loop
// keeps serving (limits.ts says from which size on, and why). Both ways give the same bytes.
import type { ListKind } from '../../protocol/list-kinds.js';
import type { ListPage } from '../../protocol/list-page.js';
import type { Accounts } from '../../shared/accounts.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import { AnswerReading, type ReadPage } from './answer-reading.js';
import type { ListCache } from './list-cache.js';
import { ListMemory } from './list-memory.js';
import { ListPool, type ThreadFailure } from './list-pool.js';
import { isGranted, type GrantJob } from './grant.js';
import { NO_CURATION } from '../../user-config/curation.js';
import { encodeRules, type ListRules } from '../../user-config/list-rules.js';
import { mergeLists, type MergeJob } from './merge.js';
import { LargeList, SmallList, type MergedList } from './merged-list.js';
import { PartMemory } from './part-memory.js';
import { handOver, sentPage, type MergeTask, type SentPage } from './thread-tasks.js';

export class ListMerger {
  readonly #pool: ListPool;
  readonly #memory: ListMemory;
  readonly #partMemory = new PartMemory();
  /** Encoded once for each compiled virtual host: an allow-list may have thousands of names. */
  readonly #rulesTexts = new WeakMap<ListRules, string>();

  /** What is answered from memory; `undefined` where nothing is. */
  readonly cache: ListCache | undefined;

  constructor(deadlines: DeadlineWheel, accounts: Accounts, logger: Logger, cache?: ListCache) {
    this.cache = cache;
    this.#pool = new ListPool(deadlines, logger);
    this.#memory = new ListMemory(accounts);
  }

  /** Every page that comes of it goes to `merge` or to `dropPages`. */
  startReading(subject: string, kind: ListKind): AnswerReading {
    return new AnswerReading(this.#pool, this.#memory, subject, kind);
  }

  /** @param done called once, from within when the list is small. */
  merge(subject: string, job: MergeJob<ReadPage>, done: (list: MergedList | ThreadFailure) => void): void {
    if (isSmall(job)) {
      const { bytes, unreachable } = mergeLists(job);
      done(new SmallList(bytes, unreachable));
      return;
    }
    const keptPages = job.parts.flatMap(({ pages }) => pages.filter(isKept));
    const key = this.#pool.mintKey();
    this.#pool.run(subject, 'merge', this.#task(key, job), limits.listTaskMsMax, (outcome) => {
      if (typeof outcome === 'string') {
        this.dropPages(subject, keptPages);
        // It may come yet, when it is only late.
        this.#pool.drop(subject, [key], () => {});
        done(outcome);
        return;
      }
      this.#memory.take(subject, outcome.bytes);
      for (const page of keptPages) this.#memory.give(subject, page.bytes);
      const parts = { pool: this.#pool, memory: this.#memory, partMemory: this.#partMemory };
      done(new LargeList(parts, { subject, key, form: job.frame.form, ...outcome }));
    });
  }

  /**
   * Whether the pages grant a URI. The pages are not wanted any more after it.
   * @param done called once, from within when the pages are small.
   */
  grant(subject: string, job: GrantJob<ReadPage>, done: (isGranted: boolean | ThreadFailure) => void): void {
    const { kind, backend, pages, uri } = job;
    if (isOnLoop(job)) {
      done(isGranted(job));
      return;
    }
    const views: ArrayBufferView[] = [];
    // Nothing of a resource is curated.
    const rules = encodeRules({ backendsByNameLength: [{ ...backend, curation: NO_CURATION }] });
    const task = { kind: kind.name, rules, pages: pages.map((page) => sentOrKept(page, views)), uri };
    this.#pool.run(subject, 'grant', handOver(task, views), limits.listTaskMsMax, (outcome) => {
      this.dropPages(subject, pages);
      done(outcome);
    });
  }

  /** Nobody wants these pages any more. */
  dropPages(subject: string, pages: readonly ReadPage[]): void {
    const keptPages = pages.filter(isKept);
    if (keptPages.length === 0) return;
    const keys = keptPages.map(({ key }) => key);
    this.#pool.drop(subject, keys, () => {
      for (const page of keptPages) this.#memory.give(subject, page.bytes);
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #task(key: number, { kind, rules, parts, unavailable, frame }: MergeJob<ReadPage>) {
    const views: ArrayBufferView[] = [];
    const sentParts = parts.map(({ backend, pages }) => ({
      backend: rules.backendsByNameLength.indexOf(backend),
      pages: pages.map((page) => sentOrKept(page, views)),
    }));
    const rulesText = this.#rulesText(rules);
    return handOver<MergeTask>({ key, kind: kind.name, rules: rulesText, parts: sentParts, unavailable, frame }, views);
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

function isOnLoop(job: GrantJob<ReadPage>): job is GrantJob {
  return !job.pages.some(isKept);
}

/** What the thread is told of a page. @param views takes the memory that goes with it. */
function sentOrKept(page: ReadPage, views: ArrayBufferView[]): number | SentPage {
  if (isKept(page)) return page.key;
  const sent = sentPage(page.isShared === true ? copied(page) : page);
  views.push(sent.bytes, sent.spans);
  return sent;
}

function copied({ bytes, spans }: ListPage): ListPage {
  return { bytes: Buffer.from(bytes), spans: Int32Array.from(spans) };
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
