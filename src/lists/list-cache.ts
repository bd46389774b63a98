// The list cache (`--list-cache`): lists as backends last gave them, for the next request of the same caller. A list is found by subject,
// by what the backend was shown, and by the backend's config; no subject gets the list of another. Small lists are on the event loop, large
// ones in the list thread.
import type { ListKindName, ListPage } from '../mcp/index.js';
import type { DeadlineWheel } from '../fair/index.js';
import { limits, perSubject } from '../shared/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';
import type { ReadPage } from './answer-reader.js';
import { KeptLists, ListsRead } from './kept-lists.js';
import { LentPage, type KeptPage } from './list-memory.js';

/** Memory counted for each cached list on top of its bytes. */
export const CACHED_LIST_BYTES = 1_024;

/** The limits of each of the two caches. */
const BYTES = { bytesMax: limits.cacheBytesMax, bytesPerSubjectMax: perSubject(limits.cacheBytesMax) };

/** Numbers that stand for objects in keys. */
const numbers = new WeakMap<object, number>();
let lastNumber = 0;

function numberOf(thing: object): number {
  const number = numbers.get(thing) ?? (lastNumber += 1);
  numbers.set(thing, number);
  return number;
}

export interface ListIdentity {
  readonly subject: string;
  /** The backend as configured: another config has other objects. */
  readonly backend: CompiledBackend;
  readonly kind: ListKindName;
  /** What the backend sees of the caller (`UpstreamSession.shown`): it may give others another list. */
  readonly shown: string;
}

/** A read of a list. Exactly one of `keep` and `giveUp` is called, once. */
export class ListRead extends ListsRead<readonly CachedPage[]> {
  readonly #key: string;

  constructor(cache: ListCache, key: string, { subject, kind, backend }: ListIdentity) {
    super(cache, subject, kind, [backend]);
    this.#key = key;
  }

  /**
   * Keeps the pages. @param lend called only when the list is cached, for pages in the list thread.
   * @returns the pages with which the request continues.
   */
  keep(pages: readonly ReadPage[], lend: (page: KeptPage) => LentPage): readonly ReadPage[] {
    let bytes: number = CACHED_LIST_BYTES;
    for (const page of pages) bytes += isOnLoop(page) ? page.bytes.length + page.spans.byteLength : page.bytes;
    if (this.isStale || bytes > BYTES.bytesPerSubjectMax) {
      this.giveUp();
      return pages;
    }
    const lent = pages.map((page) => (isOnLoop(page) ? page : lend(page)));
    const kept = lent.map((page) => (isOnLoop(page) ? ownPage(page) : page));
    if (!this.lists.keep(this, this.#key, kept, bytes)) onDropped(kept);
    return lent;
  }
}

/** A page in the cache. Small ones are copies that are never transferred to the list thread. */
type CachedPage = ListPage | LentPage;

function onDropped(pages: readonly CachedPage[]): void {
  for (const page of pages) if (page instanceof LentPage) page.onDropped();
}

export class ListCache extends KeptLists<readonly CachedPage[]> {
  /** @param ageMs the age at which a list is read again even if no change was reported. */
  constructor(ageMs: number, deadlines: DeadlineWheel, nowMs: () => number) {
    super({ ageMs, ...BYTES, onDropped: (_subject, pages) => onDropped(pages) }, deadlines, nowMs);
  }

  /** Finds a list. @returns pages that belong to the cache: they must not be changed, and lent ones must be given back. */
  find(identity: ListIdentity): readonly CachedPage[] | undefined {
    const pages = this.get(keyOf(identity));
    for (const page of pages ?? []) if (page instanceof LentPage) page.borrow();
    return pages;
  }

  begin(identity: ListIdentity): ListRead {
    return this.register(new ListRead(this, keyOf(identity), identity));
  }
}

function keyOf({ subject, backend, kind, shown }: ListIdentity): string {
  return JSON.stringify([subject, `${numberOf(backend)} ${kind} ${shown}`]);
}

function isOnLoop(page: ReadPage): page is ListPage {
  return 'spans' in page;
}

/** A copy in memory of its own: the original's may be larger, and is transferred when lists are merged in the list thread. */
function ownPage(page: ListPage): ListPage {
  const bytes = Buffer.allocUnsafeSlow(page.bytes.length);
  page.bytes.copy(bytes);
  return { bytes, spans: Int32Array.from(page.spans), isShared: true };
}

// Tool catalogues in the list thread: by subject, by the virtual host's config, and by what each backend was shown. No subject gets the
// catalogue of another.

/** Age of the tools that `find_tools` searches while a backend's tools are missing. After that, they are read again. */
export const PARTIAL_CATALOGUE_AGE_MS = 5_000;

export interface CatalogueIdentity {
  readonly subject: string;
  readonly virtualHost: CompiledVirtualHost;
  /** What the backends see of the caller. */
  readonly shown: string;
}

/** Holds the list thread's keys of the catalogues. */
export class Catalogues extends KeptLists<number> {
  constructor(deadlines: DeadlineWheel, onDropped: (subject: string, key: number) => void) {
    super({ ageMs: limits.catalogueAgeMs, ...BYTES, onDropped }, deadlines, () => deadlines.nowMs());
  }

  find(identity: CatalogueIdentity): number | undefined {
    return this.get(catalogueKeyOf(identity));
  }

  remove(identity: CatalogueIdentity): void {
    this.delete(catalogueKeyOf(identity));
  }

  begin(subject: string, { backends }: CompiledVirtualHost): ListsRead<number> {
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
