// Lists as backends gave them last (`--list-cache`), for the next request of the same caller: pages of one backend's list by who
// asked, what was shown to the backend, and what the config says of it. Never another subject's. Small lists alone, which are on the
// event loop.
import type { ListKindName } from '../../protocol/list-kinds.js';
import type { ListPage } from '../../protocol/list-page.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { CompiledBackend } from '../../user-config/compiled-config.js';
import { KeptLists, type KeptRead } from './kept-lists.js';
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
  readonly #read: KeptRead<readonly ListPage[]>;

  constructor(key: string, read: KeptRead<readonly ListPage[]>) {
    this.#key = key;
    this.#read = read;
  }

  keep(pages: readonly ListPage[]): void {
    let bytes: number = limits.listCacheEntryBytes;
    for (const page of pages) bytes += page.bytes.length + page.spans.byteLength;
    if (bytes > limits.listCacheBytesPerSubjectMax) this.#read.giveUp();
    else this.#read.keep(this.#key, pages.map(ownPage), bytes);
  }

  giveUp(): void {
    this.#read.giveUp();
  }
}

export class ListCache {
  readonly #kept: KeptLists<readonly ListPage[]>;
  readonly #configs = new ObjectNumbers<CompiledBackend>();

  /** @param ageMs after which a list is read anew, whatever was heard. */
  constructor(ageMs: number, deadlines: DeadlineWheel, nowMs: () => number) {
    const { listCacheBytesMax: bytesMax, listCacheBytesPerSubjectMax: bytesPerSubjectMax } = limits;
    this.#kept = new KeptLists({ ageMs, bytesMax, bytesPerSubjectMax }, deadlines, nowMs);
  }

  /** What is kept takes, in bytes. */
  get bytes(): number {
    return this.#kept.bytes;
  }

  /** @returns pages that are not the finder's own: they stay as they are. */
  find(identity: ListIdentity): readonly ListPage[] | undefined {
    return this.#kept.find(identity.subject, this.#keyOf(identity));
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

/** In memory of its own: what it came in may be larger, and is handed over where lists are merged elsewhere. */
function ownPage(page: ListPage): ListPage {
  const bytes = Buffer.allocUnsafeSlow(page.bytes.length);
  page.bytes.copy(bytes);
  return { bytes, spans: Int32Array.from(page.spans), isShared: true };
}
