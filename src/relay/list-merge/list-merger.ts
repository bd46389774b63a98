// What is done with the pages that were read: merging, searching, looking for a grant. All of it on the event loop, what is small in one go
// and the rest in steps (protocol/reading-queue.ts), so that the loop keeps serving others; except for the search, which has a thread.
import type { ListKindName } from '../../protocol/list-kinds.js';
import { ITEMS_A_STEP } from '../../protocol/list-page.js';
import { allSteps, readings, type Steps } from '../../protocol/reading-queue.js';
import { isVisibleTo } from '../../protocol/tool-mirrors.js';
import type { Accounts } from '../../shared/accounts.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { largeMemory } from '../../shared/large-memory.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import type { ShareBound } from '../../shared/share.js';
import { unavailableMeta } from '../message/unavailable.js';
import { Catalogues, type ListCache } from './list-cache.js';
import { isGranted, type GrantJob } from './grant.js';
import { itemBytes, writeItems, type MergedItem } from './item-writer.js';
import type { ReadPage } from './list-cache.js';
import type { CompiledBackend } from '../../user-config/compiled-config.js';
import { mergedItems, type MergedItems, type MergeJob } from './merge.js';
import { MergedList, PartMemory } from './merged-list.js';
import { SearchThread, type ToolSearch } from './search-thread.js';

/** A catalogue that the thread keeps. */
export interface MadeCatalogue {
  readonly key: number;
  /** Size in memory. */
  readonly bytes: number;
  /** As in `MergedItems`. */
  readonly unreachable: readonly string[];
}

export class ListMerger {
  readonly #accounts: Accounts;
  readonly #thread: SearchThread;
  readonly #partMemory = new PartMemory();
  #lastKey = 0;
  #isPrepared = false;

  /** The list cache; `undefined` when lists are not kept in memory. */
  readonly cache: ListCache | undefined;
  readonly catalogues: Catalogues;

  constructor(deadlines: DeadlineWheel, accounts: Accounts, logger: Logger, cache?: ListCache) {
    this.cache = cache;
    this.catalogues = new Catalogues(deadlines, (subject, key) => this.dropCatalogue(subject, key));
    this.#thread = new SearchThread(deadlines, logger);
    this.#accounts = accounts;
  }

  /** @param kinds of lists that have changed at this backend; all kinds if `undefined`. */
  onChanged(backend: CompiledBackend, kinds: readonly ListKindName[] | undefined): void {
    this.cache?.onChanged(backend, kinds);
    this.catalogues.onChanged(backend, kinds);
  }

  /** Any list may have changed. */
  forgetLists(): void {
    this.cache?.clear();
    this.catalogues.clear();
  }

  /** Counts more bytes of large lists in the subject's share, or fewer. @returns the bound that has no room for them. */
  tryCount(subject: string, bytes: number): ShareBound | undefined {
    if (bytes > 0) return this.#accounts.of(subject).listBytes.tryTake(bytes);
    this.giveBack(subject, -bytes);
    return undefined;
  }

  giveBack(subject: string, bytes: number): void {
    this.#accounts.of(subject).listBytes.give(bytes);
  }

  /** Merges the pages, which it consumes. @param done called once; synchronously when the list is small. */
  merge(subject: string, job: MergeJob<ReadPage>, done: (list: MergedList) => void): void {
    const pages = job.parts.flatMap((part) => part.pages);
    const choice = job.searchTools === undefined ? 'all' : 'with-page';
    this.#do(subject, pages, mergedItems(job, choice), (merged) => done(this.#listOf(subject, job, pages, merged)));
  }

  #listOf(
    subject: string,
    { kind, unavailable, frame, searchTools }: MergeJob<ReadPage>,
    pages: readonly ReadPage[],
    { items, bytes: itemsBytes, unreachable }: MergedItems,
  ): MergedList {
    const { head: beginning, form, extras } = frame;
    const { _meta: missing } = unavailableMeta(unavailable);
    const meta = extras === undefined ? missing : { ...extras.meta, ...missing };
    const before = searchTools === undefined || items.length === 0 ? (searchTools ?? '') : `${searchTools},`;
    const head = Buffer.from(`${beginning}{${extras?.members ?? ''}"${kind.member}":[${before}`);
    const tail = Buffer.from(meta === undefined ? ']}}' : `],"_meta":${JSON.stringify(meta)}}}`);
    const bytes = head.length + itemsBytes + Math.max(0, items.length - 1) + tail.length;
    const release = (): void => this.dropPages(subject, pages);
    return new MergedList({ form, head, items, tail, bytes, unreachable, release }, this.#partMemory);
  }

  /**
   * Makes a catalogue of the tools on the pages, which it consumes. The catalogue is in the search thread until it is dropped.
   */
  catalogue(
    subject: string,
    job: Omit<MergeJob<ReadPage>, 'frame'>,
    done: (catalogue: MadeCatalogue | 'failed') => void,
  ): void {
    const pages = job.parts.flatMap((part) => part.pages);
    const key = (this.#lastKey += 1);
    this.#do(subject, pages, searchedTools(job), ({ bytes, ends, names, unreachable }) => {
      this.dropPages(subject, pages);
      this.#thread.keep(subject, key, { bytes, ends, names, unavailable: job.unavailable }, (size) => {
        if (size === 'failed') this.dropCatalogue(subject, key);
        done(size === 'failed' ? size : { key, bytes: size, unreachable });
      });
    });
  }

  /** The first catalogue is about to be made: while its lists are being read, the thread warms up the code that searches it. */
  prepareCatalogues(subject: string): void {
    if (this.#isPrepared) return;
    this.#isPrepared = true;
    this.#thread.prepare(subject);
  }

  /** Searches a catalogue. @param done gets the whole answer. */
  find(subject: string, search: ToolSearch, done: (answer: Buffer | 'failed') => void): void {
    this.#thread.find(subject, search, done);
  }

  dropCatalogue(subject: string, key: number): void {
    this.#thread.drop(subject, key);
  }

  /**
   * Decides whether the pages, which it consumes, grant a URI.
   * @param done called once; synchronously when the pages are small.
   */
  grant(subject: string, job: GrantJob<ReadPage>, done: (isGranted: boolean) => void): void {
    this.#do(subject, job.pages, isGranted(job), (outcome) => {
      this.dropPages(subject, job.pages);
      done(outcome);
    });
  }

  /** These pages are not wanted any more. */
  dropPages(subject: string, pages: readonly ReadPage[]): void {
    let bytes = 0;
    for (const page of pages) {
      bytes += page.countedBytes;
      if (page.isKept !== true) largeMemory.giveBack(page.bytes);
    }
    this.giveBack(subject, bytes);
  }

  /**
   * Pages from the list cache, for one request. They stay in memory for it even when the cache drops them, so large ones count once more,
   * whatever the bounds.
   */
  borrowed(subject: string, pages: readonly ReadPage[]): readonly ReadPage[] {
    if (bytesOf(pages) <= limits.listBytesInlineMax) return pages;
    this.#accounts.of(subject).listBytes.take(bytesOf(pages));
    return pages.map((page) => ({ ...page, countedBytes: page.bytes.length }));
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  /** Takes the steps, at once if the pages are small together. */
  #do<Result>(subject: string, pages: readonly ReadPage[], steps: Steps<Result>, done: (result: Result) => void): void {
    if (bytesOf(pages) <= limits.listBytesInlineMax) done(allSteps(steps));
    else readings.work(subject, ending(steps, done));
  }
}

function bytesOf(pages: readonly ReadPage[]): number {
  return pages.reduce((sum, page) => sum + page.bytes.length, 0);
}

function* ending<Result>(steps: Steps<Result>, done: (result: Result) => void): Steps {
  done(yield* steps);
}

/** The tools that a search may find, written one after the other. */
function* searchedTools(job: Omit<MergeJob<ReadPage>, 'frame'>): Steps<{
  readonly bytes: Uint8Array;
  readonly ends: Int32Array;
  readonly names: string[];
  readonly unreachable: readonly string[];
}> {
  const { items, unreachable } = yield* mergedItems(job, 'searched');
  const found: MergedItem[] = [];
  let length = 0;
  for (const [index, item] of items.entries()) {
    if (index % STEP_ITEMS === 0) yield;
    if (!isVisibleTo('model', item.bytes.subarray(item.start, item.end))) continue;
    found.push(item);
    length += itemBytes(item);
  }
  const bytes = Buffer.allocUnsafeSlow(length);
  const ends = new Int32Array(found.length);
  let end = 0;
  for (const [index, item] of found.entries()) {
    if (index % STEP_ITEMS === 0) yield;
    end = writeItems(bytes, end, [item]);
    ends[index] = end;
  }
  return { bytes, ends, names: found.map(({ key }) => key), unreachable };
}

/** Fewer than usual, as their bytes are looked at. */
const STEP_ITEMS = ITEMS_A_STEP / 8;
