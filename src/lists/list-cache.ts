// The list cache (`--list-cache`): lists as backends last gave them, for later requests of the same subject. The key is the subject, what
// the backend sees of the caller, and the backend's config; so no subject gets the list of another. Small pages stay on the event loop,
// large pages in the list thread.
import type { ListKindName, ListPage } from '../mcp/index.js';
import type { DeadlineWheel } from '../fair/index.js';
import { limits, perSubject } from '../shared/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';
import type { ReadPage } from './answer-reader.js';
import { KeptLists, ListsRead } from './kept-lists.js';
import { LentPage, type KeptPage } from './list-memory.js';

/** Memory counted for each cached list on top of its bytes. */
export const CACHED_LIST_BYTES = 1_024;

/** The bounds of the list cache, and as much again for the catalogues. */
const CACHE_BOUNDS = { bytesMax: limits.cacheBytesMax, bytesPerSubjectMax: perSubject(limits.cacheBytesMax) };

/** The numbers that stand for config objects in the keys of both caches. */
const identityNumbers = new WeakMap<object, number>();
let lastIdentityNumber = 0;

function identityNumberOf(thing: object): number {
  const number = identityNumbers.get(thing) ?? (lastIdentityNumber += 1);
  identityNumbers.set(thing, number);
  return number;
}

export interface ListIdentity {
  readonly subject: string;
  /** The backend's config, compared as an object: a config that has changed has new objects. */
  readonly backend: CompiledBackend;
  readonly kind: ListKindName;
  /** What the backend sees of the caller (`UpstreamSession.callerHash`), on which the list may depend. */
  readonly callerHash: string;
}

/** A read of one list of a backend. Its owner calls either `keep` or `giveUp`, once. */
export class ListRead extends ListsRead<readonly CachedPage[]> {
  readonly #key: string;

  constructor(cache: ListCache, key: string, { subject, kind, backend }: ListIdentity) {
    super(cache, subject, kind, [backend]);
    this.#key = key;
  }

  /**
   * Caches the pages, if they are not stale and there is room. @param lend makes a lent page of a page in the list thread.
   * @returns the pages with which the request continues.
   */
  keep(pages: readonly ReadPage[], lend: (page: KeptPage) => LentPage): readonly ReadPage[] {
    let bytes: number = CACHED_LIST_BYTES;
    for (const page of pages) bytes += isOnLoop(page) ? page.bytes.length + page.spans.byteLength : page.bytes;
    if (this.isStale || bytes > CACHE_BOUNDS.bytesPerSubjectMax) {
      this.giveUp();
      return pages;
    }
    const lent = pages.map((page) => (isOnLoop(page) ? page : lend(page)));
    const kept = lent.map((page) => (isOnLoop(page) ? copyForCache(page) : page));
    if (!this.lists.keep(this, this.#key, kept, bytes)) notifyDropped(kept);
    return lent;
  }
}

/** A page in the cache: a `LentPage` stands for one in the list thread; a `ListPage` is a copy on the event loop, which stays there. */
type CachedPage = ListPage | LentPage;

function notifyDropped(pages: readonly CachedPage[]): void {
  for (const page of pages) if (page instanceof LentPage) page.onDropped();
}

export class ListCache extends KeptLists<readonly CachedPage[]> {
  /** @param ageMs the age at which a list is read again even if no change was reported. */
  constructor(ageMs: number, deadlines: DeadlineWheel, nowMs: () => number) {
    super({ ageMs, ...CACHE_BOUNDS, onDropped: (_subject, pages) => notifyDropped(pages) }, deadlines, nowMs);
  }

  /** Finds a list. @returns its pages, which the caller must not change, and gives back if lent; `undefined` if it is not cached. */
  find(identity: ListIdentity): readonly CachedPage[] | undefined {
    const pages = this.get(keyOf(identity));
    for (const page of pages ?? []) if (page instanceof LentPage) page.borrow();
    return pages;
  }

  beginRead(identity: ListIdentity): ListRead {
    return this.register(new ListRead(this, keyOf(identity), identity));
  }
}

function keyOf({ subject, backend, kind, callerHash }: ListIdentity): string {
  return JSON.stringify([subject, `${identityNumberOf(backend)} ${kind} ${callerHash}`]);
}

function isOnLoop(page: ReadPage): page is ListPage {
  return 'spans' in page;
}

/** A copy in memory of its own: the original may be part of larger memory, and is transferred if the list thread merges it. */
function copyForCache(page: ListPage): ListPage {
  const bytes = Buffer.allocUnsafeSlow(page.bytes.length);
  page.bytes.copy(bytes);
  return { bytes, spans: Int32Array.from(page.spans), isShared: true };
}

// The cache of tool catalogues, which are in the list thread. The key is the subject, the virtual host's config, and what each backend sees
// of the caller; so no subject gets the catalogue of another.

/** Age at which a catalogue that lacks the tools of some backend expires. */
export const PARTIAL_CATALOGUE_AGE_MS = 5_000;

export interface CatalogueIdentity {
  readonly subject: string;
  readonly virtualHost: CompiledVirtualHost;
  /** What the backends see of the caller, on which their tools may depend. */
  readonly callerHash: string;
}

/** The cached catalogues. Each value is the key under which the list thread keeps the catalogue. */
export class CatalogueCache extends KeptLists<number> {
  constructor(deadlines: DeadlineWheel, onDropped: (subject: string, key: number) => void) {
    super({ ageMs: limits.catalogueAgeMs, ...CACHE_BOUNDS, onDropped }, deadlines, () => deadlines.nowMs());
  }

  find(identity: CatalogueIdentity): number | undefined {
    return this.get(catalogueKeyOf(identity));
  }

  remove(identity: CatalogueIdentity): void {
    this.delete(catalogueKeyOf(identity));
  }

  beginRead(subject: string, { backends }: CompiledVirtualHost): ListsRead<number> {
    return this.register(new ListsRead(this, subject, 'tools', backends.values()));
  }

  /** Keeps a catalogue. @returns whether it is cached. */
  put(identity: CatalogueIdentity, read: ListsRead<number>, key: number, bytes: number, isComplete: boolean): boolean {
    const ageMs = isComplete ? limits.catalogueAgeMs : PARTIAL_CATALOGUE_AGE_MS;
    return this.keep(read, catalogueKeyOf(identity), key, bytes + CACHED_LIST_BYTES, ageMs);
  }
}

function catalogueKeyOf({ subject, virtualHost, callerHash }: CatalogueIdentity): string {
  return JSON.stringify([subject, `${identityNumberOf(virtualHost)} ${callerHash}`]);
}
