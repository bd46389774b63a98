// Lists as backends gave them last (`--list-cache`), for the next request of the same caller: pages of one backend's list by who
// asked, what was shown to the backend, and what the config says of it. Never another subject's. Small lists are on the event loop, large ones in
// the list thread.
import type { ListKindName } from '../../protocol/list-kinds.js';
import type { ListPage } from '../../protocol/list-page.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { CompiledBackend } from '../../user-config/compiled-config.js';
import type { KeptPage, ReadPage } from './answer-reading.js';
import { KeptLists, type KeptRead } from './kept-lists.js';
import { LentPage } from './lent-page.js';
import { ObjectNumbers } from './object-numbers.js';

/** What a list is kept for. */
export interface ListIdentity {
  readonly subject: string;
  /** As it was compiled last: another config has others. */
  readonly backend: CompiledBackend;
  readonly kind: ListKindName;
  /** What the backend was shown, and was told of the client: who differs in it may be given another list. */
  readonly shown: string;
}

/** A list that is being read to be kept. Exactly one of `keep` and `giveUp` is called, once. */
export class ListRead {
  readonly #key: string;
  readonly #read: KeptRead<readonly CachedPage[]>;

  constructor(key: string, read: KeptRead<readonly CachedPage[]>) {
    this.#key = key;
    this.#read = read;
  }

  /**
   * @param lend makes a page of the list thread one that is lent; called when the list is kept.
   * @returns the pages as whoever has read them has them now.
   */
  keep(pages: readonly ReadPage[], lend: (page: KeptPage) => LentPage): readonly ReadPage[] {
    let bytes: number = limits.listCacheEntryBytes;
    for (const page of pages) bytes += isHere(page) ? page.bytes.length + page.spans.byteLength : page.bytes;
    if (this.#read.isStale || bytes > limits.listCacheBytesPerSubjectMax) {
      this.#read.giveUp();
      return pages;
    }
    const lent = pages.map((page) => (isHere(page) ? page : lend(page)));
    const kept = lent.map((page) => (isHere(page) ? ownPage(page) : page));
    this.#read.keep(this.#key, kept, bytes);
    return lent;
  }

  giveUp(): void {
    this.#read.giveUp();
  }
}

/** Small pages are copies that nobody hands over. */
export type CachedPage = ListPage | LentPage;

export class ListCache {
  readonly #kept: KeptLists<readonly CachedPage[]>;
  readonly #configs = new ObjectNumbers<CompiledBackend>();

  /** @param ageMs after which a list is read anew, whatever was heard. */
  constructor(ageMs: number, deadlines: DeadlineWheel, nowMs: () => number) {
    const { listCacheBytesMax: bytesMax, listCacheBytesPerSubjectMax: bytesPerSubjectMax } = limits;
    const onDropped = (_subject: string, pages: readonly CachedPage[]): void => {
      for (const page of pages) if (page instanceof LentPage) page.onDropped();
    };
    this.#kept = new KeptLists({ ageMs, bytesMax, bytesPerSubjectMax, onDropped }, deadlines, nowMs);
  }

  /** What is kept takes, in bytes. */
  get bytes(): number {
    return this.#kept.bytes;
  }

  /** @returns pages that are not the finder's own: they stay as they are, and those that are lent are given back. */
  find(identity: ListIdentity): readonly CachedPage[] | undefined {
    const pages = this.#kept.find(identity.subject, this.#keyOf(identity));
    for (const page of pages ?? []) if (page instanceof LentPage) page.borrow();
    return pages;
  }

  /** The list is asked for now. */
  begin(identity: ListIdentity): ListRead {
    const { subject, kind, backend } = identity;
    return new ListRead(this.#keyOf(identity), this.#kept.begin({ subject, kind, backends: [backend] }));
  }

  /** @param kinds of lists at this backend that are others now; all without it. */
  onChanged(backend: CompiledBackend, kinds?: readonly ListKindName[]): void {
    this.#kept.onChanged(backend, kinds);
  }

  /** Any list may be another now. */
  clear(): void {
    this.#kept.clear();
  }

  #keyOf({ backend, kind, shown }: ListIdentity): string {
    return `${this.#configs.of(backend)} ${kind} ${shown}`;
  }
}

function isHere(page: ReadPage): page is ListPage {
  return 'spans' in page;
}

/** In memory of its own: what it came in may be larger, and is handed over where lists are merged elsewhere. */
function ownPage(page: ListPage): ListPage {
  const bytes = Buffer.allocUnsafeSlow(page.bytes.length);
  page.bytes.copy(bytes);
  return { bytes, spans: Int32Array.from(page.spans), isShared: true };
}
