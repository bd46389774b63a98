// Reads and merges lists: small lists at once on the event loop, large lists in the list thread (`LIST_BYTES_INLINE_MAX` says why), with
// the same outcome.
import type { ListEra, ListKind, ListKindName, ListPage } from '../mcp/index.js';
import type { Accounts, DeadlineWheel } from '../fair/index.js';
import { type Logger, getOrMake, limits } from '../shared/index.js';
import { LIST_BYTES_INLINE_MAX, LentPage, type KeptPage, ListMemory } from './list-memory.js';
import { AnswerReader, type ReadPage } from './answer-reader.js';
import { CatalogueCache, type ListCache, type ListRead } from './list-cache.js';
import { ListPool, type OutcomeOf, type ThreadFailure } from './list-pool.js';
import { isGranted, type GrantJob } from './grant.js';
import { type CompiledBackend, NO_CURATION, encodeRules, type ListRules } from '../user-config/index.js';
import { mergeLists, type MergeJob } from './merge.js';
import { LargeList, SmallList, type MergedList } from './merged-list.js';
import {
  joinedPieces,
  transferredPage,
  type FindTask,
  type LentPageRef,
  type KeptOutcome,
  type MergeTask,
  type PagesTask,
  type TransferredPage,
} from './thread-tasks.js';

export interface KeptInThread extends KeptOutcome {
  readonly key: number;
}

export class ListMerger {
  readonly #pool: ListPool;
  readonly #memory: ListMemory;
  /** Rules as text, encoded once per virtual host: an allow-list may have thousands of names. */
  readonly #rulesTexts = new WeakMap<ListRules, string>();

  #isWarmedUp = false;

  /** The list cache; `undefined` when lists are not cached. */
  readonly cache: ListCache | undefined;
  readonly catalogues: CatalogueCache;

  constructor(deadlines: DeadlineWheel, accounts: Accounts, logger: Logger, cache?: ListCache) {
    this.cache = cache;
    this.catalogues = new CatalogueCache(deadlines, (subject, key) => this.dropCatalogue(subject, key));
    // When a thread dies, the pages in it that the cache refers to are lost.
    this.#pool = new ListPool(deadlines, logger, () => cache?.clear());
    this.#memory = new ListMemory(accounts);
  }

  /** Called when lists of the backend have changed. @param kinds the kinds of lists; all kinds if `undefined`. */
  onChanged(backend: CompiledBackend, kinds: readonly ListKindName[] | undefined): void {
    this.cache?.onChanged(backend, kinds);
    this.catalogues.onChanged(backend, kinds);
  }

  /** Forgets all lists and catalogues, because any list may have changed. */
  forgetLists(): void {
    this.cache?.clear();
    this.catalogues.clear();
  }

  /** Creates a reader for one response. Every page that it reads must go to `merge`, `makeCatalogue`, `checkGrant` or `dropPages`. */
  createReader(subject: string, kind: ListKind, era: ListEra = 'legacy'): AnswerReader {
    return new AnswerReader(this.#pool, this.#memory, subject, kind, era);
  }

  /** Merges pages, which it consumes. @param done called once; synchronously when the list is small. */
  merge(subject: string, job: MergeJob<ReadPage>, done: (list: MergedList | ThreadFailure) => void): void {
    if (isSmall(job)) {
      const { bytes, unreachableNames } = mergeLists(job);
      done(new SmallList(bytes, unreachableNames));
      return;
    }
    const { frame, searchTools } = job;
    this.#makeInThread(subject, 'merge', job, { frame, searchTools }, (made) =>
      done(
        typeof made === 'string'
          ? made
          : new LargeList(this.#pool, this.#memory, { subject, framing: frame.framing, ...made }),
      ),
    );
  }

  /** Makes a list or a catalogue of pages, which it consumes, in the list thread. A list counts in the subject's share. */
  #makeInThread(
    subject: string,
    name: 'merge' | 'catalogue',
    job: Omit<MergeJob<ReadPage>, 'frame'>,
    more: Partial<Pick<MergeTask, 'frame' | 'searchTools'>>,
    done: (made: KeptInThread | ThreadFailure) => void,
  ): void {
    const keptPages = job.parts.flatMap(({ pages }) => pages.filter(isKept));
    const key = this.#pool.mintKey();
    const views: ArrayBufferView[] = [];
    const task = { ...this.#pagesTask(key, job, views), ...more };
    this.#pool.run(subject, name, task, views, (outcome) => {
      if (typeof outcome === 'string') {
        this.dropPages(subject, keptPages);
        // An overdue task may still leave a list or a catalogue in the thread.
        this.dropCatalogue(subject, key);
        done(outcome);
        return;
      }
      if (name === 'merge') this.#memory.take(subject, outcome.bytes);
      for (const page of keptPages) this.#releasePage(subject, page);
      done({ key, ...outcome });
    });
  }

  /** Makes a catalogue of the tools on the pages, which it consumes. The list thread keeps the catalogue until `dropCatalogue`. */
  makeCatalogue(
    subject: string,
    job: Omit<MergeJob<ReadPage>, 'frame'>,
    done: (catalogue: KeptInThread | ThreadFailure) => void,
  ): void {
    this.#makeInThread(subject, 'catalogue', job, {}, done);
  }

  /** Warms up the code that searches catalogues in the thread, while the lists of the first one are being read. */
  warmUpCatalogues(subject: string): void {
    if (this.#isWarmedUp) return;
    this.#isWarmedUp = true;
    this.#pool.run(subject, 'warmUp', undefined, [], () => {});
  }

  /** Searches a catalogue. @param done gets the whole answer. */
  searchCatalogue(
    subject: string,
    query: Omit<FindTask, 'searchKey'>,
    done: (answer: Buffer | ThreadFailure) => void,
  ): void {
    const task = { ...query, searchKey: this.#pool.mintKey() };
    const untilMs = performance.now() + limits.listTaskMsMax;
    const step = (): void => {
      this.#pool.run(subject, 'find', task, [], onStep, Math.max(0, untilMs - performance.now()));
    };
    const onStep = (outcome: OutcomeOf<'find'> | ThreadFailure): void => {
      if (outcome === 'unfinished') return step();
      if (outcome === 'overdue') this.dropCatalogue(subject, task.searchKey);
      done(typeof outcome === 'string' ? outcome : joinedPieces([outcome.buffer]));
    };
    step();
  }

  dropCatalogue(subject: string, key: number): void {
    this.#pool.drop(subject, [key], () => {});
  }

  /** Decides whether the pages, which it consumes, grant a URI. @param done called once; synchronously if no page is in the list thread. */
  checkGrant(subject: string, job: GrantJob<ReadPage>, done: (isGranted: boolean | ThreadFailure) => void): void {
    const { kind, backend, pages, uri } = job;
    if (isOnLoop(job)) {
      done(isGranted(job));
      return;
    }
    const views: ArrayBufferView[] = [];
    // No curation, because resources are never curated.
    const rules = encodeRules({ backendsByNameLength: [{ ...backend, curation: NO_CURATION }] });
    const task = { kind: kind.name, rules, pages: pages.map((page) => pageInTask(page, views)), uri };
    this.#pool.run(subject, 'grant', task, views, (outcome) => {
      this.dropPages(subject, pages);
      done(outcome);
    });
  }

  dropPages(subject: string, pages: readonly ReadPage[]): void {
    const keptPages: KeptPage[] = [];
    for (const page of pages) {
      if (page instanceof LentPage) page.giveBack();
      else if (isKept(page)) keptPages.push(page);
    }
    if (keptPages.length === 0) return;
    const keys = keptPages.map(({ key }) => key);
    const bytes = keptPages.reduce((sum, page) => sum + page.bytes, 0);
    this.#pool.drop(subject, keys, this.#memory.noteReturning(subject, bytes));
  }

  /**
   * Puts a list into the list cache, if there is room for it. @returns the pages with which the request continues: those in the list thread
   * are lent.
   */
  keep(subject: string, read: ListRead, pages: readonly ReadPage[]): readonly ReadPage[] {
    return read.keep(pages, (page) => {
      this.#memory.give(subject, page.bytes);
      return new LentPage(page, {
        onStillUsed: (bytes) => this.#memory.take(subject, bytes),
        onFree: (key, bytes) => this.#pool.drop(subject, [key], this.#memory.noteReturning(subject, bytes)),
      });
    });
  }

  /** Called when a task has used the page. A lent page is given back; any other has left the thread, so its bytes return to the share. */
  #releasePage(subject: string, page: KeptPage): void {
    if (page instanceof LentPage) page.giveBack();
    else this.#memory.give(subject, page.bytes);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** @param views receives the memory to be transferred with the task. */
  #pagesTask(key: number, job: Omit<MergeJob<ReadPage>, 'frame'>, views: ArrayBufferView[]): PagesTask {
    const { kind, rules, parts, unavailable } = job;
    const sentParts = parts.map(({ backend, pages }) => ({
      backend: rules.backendsByNameLength.indexOf(backend),
      pages: pages.map((page) => pageInTask(page, views)),
    }));
    // The parts are sorted, so that the thread recognizes a remembered list, in whatever order the backends have answered.
    sentParts.sort((one, other) => one.backend - other.backend);
    return {
      key,
      kind: kind.name,
      rules: getOrMake(this.#rulesTexts, rules, () => encodeRules(rules)),
      parts: sentParts,
      unavailable,
    };
  }
}

function isKept(page: ReadPage): page is KeptPage {
  return 'key' in page;
}

function isOnLoop(job: GrantJob<ReadPage>): job is GrantJob {
  return !job.pages.some(isKept);
}

/** A page as a task refers to it or contains it. @param views receives the memory to be transferred with the task. */
function pageInTask(page: ReadPage, views: ArrayBufferView[]): number | LentPageRef | TransferredPage {
  if (page instanceof LentPage) return { lentKey: page.key };
  if (isKept(page)) return page.key;
  const sent = transferredPage(page.isShared === true ? copiedPage(page) : page);
  views.push(sent.bytes, sent.spans);
  return sent;
}

function copiedPage({ bytes, spans }: ListPage): ListPage {
  return { bytes: Buffer.from(bytes), spans: Int32Array.from(spans) };
}

/** Whether no page is in the list thread, and all together are small enough to be merged here. */
function isSmall(job: MergeJob<ReadPage>): job is MergeJob {
  let bytes = 0;
  for (const { pages } of job.parts) {
    for (const page of pages) {
      if (isKept(page)) return false;
      bytes += page.bytes.length;
    }
  }
  return bytes <= LIST_BYTES_INLINE_MAX;
}
