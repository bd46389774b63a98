// The tasks of the list thread, and what the thread keeps between tasks: pieces of responses until the responses are complete, pages until
// they are merged, merged lists until they are sent, and catalogues until they are dropped. So the event loop holds only one part of a
// large list at a time, and large lists do not make its garbage collector run.
import {
  isVisibleTo,
  listKinds,
  SPAN_LENGTH,
  type ListPage,
  readListAnswer,
  type ListAnswer,
  type ListEra,
  type ListKind,
} from '../mcp/index.js';
import { isGranted } from './grant.js';
import { decodeRules, type ListRules } from '../user-config/index.js';
import { mergedItems, mergeLists, type BackendPages, type MergeJob, type MergeResult } from './merge.js';
import {
  bytesOf,
  transferable,
  receivedPage,
  type AppendTask,
  type FindTask,
  type GrantTask,
  type LentPageRef,
  type KeptOutcome,
  type MergeTask,
  type NextPartOutcome,
  type NextPartTask,
  type PagesTask,
  type ReadOutcome,
  type ReadTask,
  type TransferredPage,
  joinedPieces,
} from './thread-tasks.js';
import { warmUpCatalogues, ToolCatalogue, type ToolSearch } from './tool-catalogue.js';
import { MIB, RecentMap } from '../shared/index.js';

/**
 * The bytes of dropped lists at which the list thread collects garbage. V8 alone would let them grow to a quarter of the process's memory.
 */
export const LIST_GARBAGE_BYTES_MAX = 64 * MIB;

function isLent(page: number | LentPageRef | TransferredPage): page is LentPageRef {
  return typeof page === 'object' && 'lentKey' in page;
}

/** Each public method is a task of the list thread. A task throws if it needs something that was lost with an earlier thread. */
export class ListKeeper {
  readonly #collectGarbage: () => void;
  readonly #responsePieces = new Map<number, Uint8Array[]>();
  readonly #pages = new Map<number, ListPage>();
  /** The pieces of each merged list that are still to be sent. */
  readonly #mergedLists = new Map<number, Buffer[]>();
  readonly #catalogues = new Map<number, ToolCatalogue>();
  readonly #searches = new Map<number, ToolSearch>();
  readonly #knownLists = new KnownLists();
  #garbageBytes = 0;

  constructor(collectGarbage: () => void) {
    this.#collectGarbage = collectGarbage;
  }

  append({ key, pieces }: AppendTask): void {
    this.#collectGarbageIfDue();
    const earlierPieces = this.#responsePieces.get(key);
    if (earlierPieces === undefined) this.#responsePieces.set(key, [...pieces]);
    else earlierPieces.push(...pieces);
  }

  read(task: ReadTask): ReadOutcome {
    this.append(task);
    const pieces = this.#responsePieces.get(task.key) ?? [];
    const bytes = bytesOf(pieces);
    this.#responsePieces.delete(task.key);
    this.#garbageBytes += bytes;
    if (bytes !== task.bytes) throw new Error('pieces of an answer were lost');
    const outcome = this.#knownLists.read(pieces, Buffer.from(task.id), listKinds[task.kind], task.era ?? 'legacy');
    if (outcome.kind !== 'page') return outcome;
    this.#pages.set(task.key, outcome.page);
    const { page, nextCursor, isComplete, ttlMs, mirrors } = outcome;
    return { kind: 'page', itemCount: page.spans.length / SPAN_LENGTH, nextCursor, isComplete, ttlMs, mirrors };
  }

  merge(task: MergeTask): KeptOutcome {
    const { key, kind, unavailable, frame, searchTools } = task;
    const { made } = this.#withPages(task, (rules, parts) => {
      const job = { kind: listKinds[kind], rules, parts, unavailable, frame, searchTools };
      return frame.framing === 'event' ? mergeLists(job) : this.#knownLists.merge(job, task.rules);
    });
    const { bytes: body, unreachableNames, isKnown = false } = made;
    const pieces = frame.framing === 'event' ? [body] : [Buffer.from(frame.head), body];
    const bytes = bytesOf(pieces);
    this.#mergedLists.set(key, pieces);
    this.#garbageBytes += isKnown ? bytes - body.length : bytes;
    return { bytes, unreachableNames };
  }

  catalogue(task: PagesTask): KeptOutcome {
    const { key, kind, unavailable } = task;
    const { made: catalogue, freedBytes } = this.#withPages(task, (rules, parts) => {
      const { items, unreachableNames } = mergedItems({ kind: listKinds[kind], rules, parts }, 'searched');
      const found = items.filter(({ bytes, start, end }) => isVisibleTo('model', bytes.subarray(start, end)));
      return { made: new ToolCatalogue(found, unavailable), unreachableNames };
    });
    const { made, unreachableNames } = catalogue;
    this.#catalogues.set(key, made);
    this.#garbageBytes = Math.max(0, this.#garbageBytes - Math.min(freedBytes, made.pageBytes));
    return { bytes: made.memoryBytes, unreachableNames };
  }

  warmUp(): void {
    warmUpCatalogues();
  }

  find({ key, searchKey, query, toolsMax, frame }: FindTask): { readonly buffer: Uint8Array } | 'unfinished' {
    // The catalogue may be dropped during the search.
    const search = this.#searches.get(searchKey) ?? this.#catalogues.get(key)?.beginSearch(query);
    if (search === undefined) throw new Error('a catalogue was lost');
    this.#searches.set(searchKey, search);
    if (!search.tryEnd()) return 'unfinished';
    this.#searches.delete(searchKey);
    return { buffer: transferable(search.catalogue.answerQuery(search, toolsMax, frame)) };
  }

  /** Takes a task's pages and calls `make` with them. @returns its result, and the bytes of pages to which at most the result still refers. */
  #withPages<Made>(
    { rules: rulesText, parts: sentParts }: PagesTask,
    make: (rules: ListRules, parts: readonly BackendPages[]) => Made,
  ): { readonly made: Made; readonly freedBytes: number } {
    this.#collectGarbageIfDue();
    const rules = decodeRules(rulesText);
    const parts = sentParts.map(({ backend, pages }) => ({
      backend: rules.backendsByNameLength[backend]!,
      pages: pages.map((page) => this.#takePage(page)),
    }));
    const made = make(rules, parts);
    let freedBytes = 0;
    for (const [part, { pages }] of sentParts.entries())
      for (const [at, page] of pages.entries()) if (!isLent(page)) freedBytes += parts[part]!.pages[at]!.bytes.length;
    this.#garbageBytes += freedBytes;
    return { made, freedBytes };
  }

  grant({ kind, rules, pages, uri }: GrantTask): boolean {
    const [backend] = decodeRules(rules).backendsByNameLength;
    if (backend === undefined) throw new Error('rules without a backend');
    return isGranted({ kind: listKinds[kind], backend, pages: pages.map((page) => this.#findPage(page)), uri });
  }

  next({ key, buffer }: NextPartTask): NextPartOutcome {
    const pieces = this.#mergedLists.get(key);
    if (pieces === undefined) throw new Error('a merged list was lost');
    let bytes = 0;
    for (let [piece] = pieces; piece !== undefined && bytes < buffer.length; [piece] = pieces) {
      const copied = piece.copy(buffer, bytes);
      bytes += copied;
      if (copied === piece.length) pieces.shift();
      else pieces[0] = piece.subarray(copied);
    }
    if (pieces.length === 0) this.#mergedLists.delete(key);
    return { buffer, bytes };
  }

  drop({ keys }: { readonly keys: readonly number[] }): void {
    for (const key of keys) {
      this.#garbageBytes +=
        bytesOf(this.#responsePieces.get(key) ?? []) +
        (this.#pages.get(key)?.bytes.length ?? 0) +
        (this.#catalogues.get(key)?.memoryBytes ?? 0);
      this.#responsePieces.delete(key);
      this.#pages.delete(key);
      this.#mergedLists.delete(key);
      this.#catalogues.delete(key);
      this.#searches.delete(key);
    }
  }

  /**
   * Collects garbage, if there is much, before more memory is taken: V8 does not collect it soon enough in a thread that is always busy.
   */
  #collectGarbageIfDue(): void {
    if (this.#garbageBytes < LIST_GARBAGE_BYTES_MAX) return;
    this.#garbageBytes = 0;
    this.#collectGarbage();
  }

  #takePage(page: number | LentPageRef | TransferredPage): ListPage {
    const found = this.#findPage(page);
    if (typeof page === 'number') this.#pages.delete(page);
    return found;
  }

  #findPage(page: number | LentPageRef | TransferredPage): ListPage {
    if (typeof page === 'object' && !isLent(page)) return receivedPage(page);
    const kept = this.#pages.get(typeof page === 'number' ? page : page.lentKey);
    if (kept === undefined) throw new Error('a page was lost');
    return kept;
  }
}

// Remembers the latest parsed answers and merged lists, because most backends give every caller the same list. An answer is recognized only
// if all its bytes but the request's id are the same, so no caller gets what was not sent to it.

/** Bound in bytes, once for remembered answers and once for remembered lists. Beyond it, the least recently used are forgotten. */
const KNOWN_BYTES_MAX = 16 * MIB;
/** Bound in number, once for remembered answers and once for remembered lists. */
const KNOWN_COUNT_MAX = 1_024;

type PageAnswer = Extract<ListAnswer, { kind: 'page' }>;

interface KnownMerge extends MergeResult {
  readonly key: string;
  readonly pages: readonly ListPage[];
  readonly isKnown: true;
}

export class KnownLists {
  readonly #answers = new RecentMap<PageAnswer>(KNOWN_COUNT_MAX, KNOWN_BYTES_MAX, ({ page }) => sizeOf(page));
  readonly #merges = new RecentMap<KnownMerge>(KNOWN_COUNT_MAX, KNOWN_BYTES_MAX, sizeOfMerge);

  /** Parses an answer as `readListAnswer` does, or finds it among the remembered answers, whose pages several requests may use. */
  read(pieces: readonly Uint8Array[], id: Buffer, kind: ListKind, era: ListEra): ListAnswer {
    const length = bytesOf(pieces);
    const key = `${kind.name} ${era} ${length}`;
    const known = this.#answers.get(key);
    if (known !== undefined && isSame(known, pieces, id)) return known;
    const answer = readListAnswer(joinedPieces(pieces), id, kind, era);
    // A repaired page is not remembered, because its bytes would match no answer.
    const isKept = answer.kind === 'page' && answer.mirrors?.isRepaired !== true;
    if (isKept && sizeOf(answer.page) <= KNOWN_BYTES_MAX) this.#answers.set(key, answer);
    return answer;
  }

  /** Merges lists as `mergeLists` does, but leaves out the frame's head, which has the request's id. @param rulesText the rules, encoded. */
  merge(job: MergeJob, rulesText: string): MergeResult {
    const { kind, rules, parts, unavailable, frame, searchTools } = job;
    const pages = parts.flatMap((part) => part.pages);
    const counts = parts.map((part) => [rules.backendsByNameLength.indexOf(part.backend), part.pages.length]);
    const key = JSON.stringify([kind.name, counts, unavailable, frame.extras, searchTools, rulesText]);
    const known = this.#merges.get(key);
    if (known?.pages.length === pages.length && known.pages.every((page, at) => page === pages[at])) return known;
    const merged = mergeLists({ ...job, frame: { ...frame, head: '' } });
    const kept: KnownMerge = { ...merged, key, pages, isKnown: true };
    if (sizeOfMerge(kept) <= KNOWN_BYTES_MAX) this.#merges.set(key, kept);
    return merged;
  }
}

function sizeOf({ bytes, spans }: ListPage): number {
  return bytes.length + spans.byteLength;
}

/** The bytes of a remembered list with its pages and key, which perhaps nothing else refers to any more. */
function sizeOfMerge({ bytes, key, pages }: KnownMerge): number {
  return pages.reduce((sum, page) => sum + sizeOf(page), bytes.length + 2 * key.length);
}

/** Whether the pieces equal a remembered answer of the same length, except that they answer the request with this id. */
function isSame({ page: { bytes }, idStart, idEnd }: PageAnswer, pieces: readonly Uint8Array[], id: Buffer): boolean {
  if (idEnd - idStart !== id.length) return false;
  // The id is copied into the remembered page, so that the bytes differ only if the list has changed.
  id.copy(bytes, idStart);
  let at = 0;
  return pieces.every((piece) => {
    const start = at;
    at += piece.length;
    return bytes.compare(piece, 0, piece.length, start, at) === 0;
  });
}
