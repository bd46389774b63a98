// The list cache (`--list-cache`): lists as backends last gave them, for later requests of the same subject. The key is the subject, what
// the backend sees of the caller, and the backend's config; so no subject gets the list of another. Small pages are on the event loop,
// large ones in the list thread.
import type { ListKindName, ListPage } from '../mcp/index.js';
import type { DeadlineWheel } from '../fair/index.js';
import { limits, perSubject } from '../shared/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';
import type { ReadPage } from './answer-reader.js';
import { KeptLists, ListsRead } from './kept-lists.js';
import { LentPage, type KeptPage } from './list-memory.js';

/** Memory counted for each cached list on top of its bytes. */
export const CACHED_LIST_BYTES = 1_024;

/** The bounds of the list cache, and those of the catalogues. */
const CACHE_BOUNDS = { bytesMax: limits.cacheBytesMax, bytesPerSubjectMax: perSubject(limits.cacheBytesMax) };

/** A number for each config object, which stands for it in keys. */
const numbers = new WeakMap<object, number>();
let lastNumber = 0;

function numberOf(thing: object): number {
  const number = numbers.get(thing) ?? (lastNumber += 1);
  numbers.set(thing, number);
  return number;
}

export interface ListIdentity {
  readonly subject: string;
  /** The backend's config, compared as an object: a config that has changed has new objects. */
  readonly backend: CompiledBackend;
  readonly kind: ListKindName;
  /** What the backend sees of the caller (`UpstreamSession.shown`), on which its list may depend. */
  readonly shown: string;
}

/** A read of one list of a backend. Its reader calls exactly one of `keep` and `giveUp`, once. */
export class ListRead extends ListsRead<readonly CachedPage[]> {
  readonly #key: string;

  constructor(cache: ListCache, key: string, { subject, kind, backend }: ListIdentity) {
    super(cache, subject, kind, [backend]);
    this.#key = key;
  }

  /**
   * Caches the pages, if they are not stale and there is room. @param lend called for each page in the list thread that may be cached.
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
    if (!this.lists.keep(this, this.#key, kept, bytes)) onDropped(kept);
    return lent;
  }
}

/** A page in the cache. A page on the event loop is a copy that is never transferred to the list thread. */
type CachedPage = ListPage | LentPage;

function onDropped(pages: readonly CachedPage[]): void {
  for (const page of pages) if (page instanceof LentPage) page.onDropped();
}

export class ListCache extends KeptLists<readonly CachedPage[]> {
  /** @param ageMs the age at which a list is read again even if no change was reported. */
  constructor(ageMs: number, deadlines: DeadlineWheel, nowMs: () => number) {
    super({ ageMs, ...CACHE_BOUNDS, onDropped: (_subject, pages) => onDropped(pages) }, deadlines, nowMs);
  }

  /** Finds a list. @returns pages that belong to the cache: the caller must not change them, and must give lent ones back. */
  find(identity: ListIdentity): readonly CachedPage[] | undefined {
    const pages = this.get(keyOf(identity));
    for (const page of pages ?? []) if (page instanceof LentPage) page.borrow();
    return pages;
  }

  beginRead(identity: ListIdentity): ListRead {
    return this.register(new ListRead(this, keyOf(identity), identity));
  }
}

function keyOf({ subject, backend, kind, shown }: ListIdentity): string {
  return JSON.stringify([subject, `${numberOf(backend)} ${kind} ${shown}`]);
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

// Tool catalogues in the list thread: by subject, by the virtual host's config, and by what each backend was shown. No subject gets the
// catalogue of another.

/** Age of a catalogue that lacks the tools of a backend. After that, the tools are read again. */
export const PARTIAL_CATALOGUE_AGE_MS = 5_000;

export interface CatalogueIdentity {
  readonly subject: string;
  readonly virtualHost: CompiledVirtualHost;
  /** What the backends see of the caller, on which their tools may depend. */
  readonly shown: string;
}

/** The cached catalogues. Each value is the key under which the list thread keeps the catalogue. */
export class Catalogues extends KeptLists<number> {
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
  keepFor(
    identity: CatalogueIdentity,
    read: ListsRead<number>,
    key: number,
    bytes: number,
    isComplete: boolean,
  ): boolean {
    const ageMs = isComplete ? limits.catalogueAgeMs : PARTIAL_CATALOGUE_AGE_MS;
    return this.keep(read, catalogueKeyOf(identity), key, bytes + CACHED_LIST_BYTES, ageMs);
  }
}

function catalogueKeyOf({ subject, virtualHost, shown }: CatalogueIdentity): string {
  return JSON.stringify([subject, `${numberOf(virtualHost)} ${shown}`]);
}
