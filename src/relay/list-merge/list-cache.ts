// Lists as backends gave them last (`--list-cache`), for the next request of the same caller: pages of one backend's list by who
// asked, what was shown to the backend, and what the config says of it. Never another subject's. Small lists alone, which are on the
// event loop. A list that has changed, as far as anybody here was told, is read anew, also when it was being read just then.
import type { ListKindName } from '../../protocol/list-kinds.js';
import type { ListPage } from '../../protocol/list-page.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { CompiledBackend } from '../../user-config/compiled-config.js';

/** What a list is kept for. */
export interface ListIdentity {
  readonly subject: string;
  /** As it was compiled last: another config has others. */
  readonly backend: CompiledBackend;
  readonly kind: ListKindName;
  /** What the backend was shown, and was told of the client: who differs in it may be given another list. */
  readonly shown: string;
}

interface Entry {
  readonly subject: string;
  readonly key: string;
  readonly place: Place;
  readonly kind: ListKindName;
  readonly pages: readonly ListPage[];
  readonly bytes: number;
  readonly readAtMs: number;
}

/** Whatever there is of the lists at one URL. */
interface Place {
  readonly url: string;
  readonly entries: Set<Entry>;
  readonly reads: Set<ListRead>;
}

interface Held {
  bytes: number;
  /** The oldest first. */
  readonly entries: Map<string, Entry>;
}

/** A list that is being read to be kept. Exactly one of `keep` and `giveUp` is called, once. */
export class ListRead {
  readonly kind: ListKindName;
  isStale = false;
  readonly #end: (read: ListRead, pages: readonly ListPage[] | undefined) => void;

  constructor(kind: ListKindName, end: (read: ListRead, pages: readonly ListPage[] | undefined) => void) {
    this.kind = kind;
    this.#end = end;
  }

  keep(pages: readonly ListPage[]): void {
    this.#end(this, this.isStale ? undefined : pages);
  }

  giveUp(): void {
    this.#end(this, undefined);
  }
}

export class ListCache {
  readonly #ageMs: number;
  readonly #deadlines: DeadlineWheel;
  readonly #nowMs: () => number;
  readonly #bySubject = new Map<string, Held>();
  readonly #places = new Map<string, Place>();
  readonly #configIds = new WeakMap<CompiledBackend, number>();
  #configCount = 0;
  #bytes = 0;
  #sweep: Deadline | undefined;

  /** @param ageMs after which a list is read anew, whatever was heard. */
  constructor(ageMs: number, deadlines: DeadlineWheel, nowMs: () => number) {
    this.#ageMs = ageMs;
    this.#deadlines = deadlines;
    this.#nowMs = nowMs;
  }

  /** What is kept takes, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @returns pages that are not the finder's own: they stay as they are. */
  find(identity: ListIdentity): readonly ListPage[] | undefined {
    const entry = this.#bySubject.get(identity.subject)?.entries.get(this.#keyOf(identity));
    if (entry === undefined) return undefined;
    if (this.#nowMs() - entry.readAtMs < this.#ageMs) return entry.pages;
    this.#drop(entry);
    return undefined;
  }

  /** The list is asked for now. */
  begin(identity: ListIdentity): ListRead {
    const place = this.#placeOf(urlOf(identity.backend));
    const read = new ListRead(identity.kind, (ended, pages) => {
      place.reads.delete(ended);
      if (pages !== undefined) this.#keep(identity, place, pages);
      this.#tidy(place);
    });
    place.reads.add(read);
    return read;
  }

  /** @param kinds of lists at this backend that are others now; all without it. */
  onChanged(backend: CompiledBackend, kinds?: readonly ListKindName[]): void {
    const place = this.#places.get(urlOf(backend));
    if (place === undefined) return;
    for (const read of place.reads) if (kinds?.includes(read.kind) !== false) read.isStale = true;
    for (const entry of [...place.entries]) if (kinds?.includes(entry.kind) !== false) this.#drop(entry);
  }

  /** Any list may be another now. */
  clear(): void {
    for (const { entries, reads } of [...this.#places.values()]) {
      for (const read of reads) read.isStale = true;
      for (const entry of [...entries]) this.#drop(entry);
    }
  }

  #keep(identity: ListIdentity, place: Place, pages: readonly ListPage[]): void {
    const { subject, kind } = identity;
    let bytes: number = limits.listCacheEntryBytes;
    for (const page of pages) bytes += page.bytes.length + page.spans.byteLength;
    if (bytes > limits.listCacheBytesPerSubjectMax) return;
    const key = this.#keyOf(identity);
    const before = this.#bySubject.get(subject)?.entries.get(key);
    if (before !== undefined) this.#drop(before);
    this.#makeRoom(subject, bytes);
    // In memory of their own: what they came in may be larger, and is handed over where lists are merged elsewhere.
    const kept = pages.map((page) => ({
      bytes: ownBytes(page.bytes),
      spans: Int32Array.from(page.spans),
      isShared: true as const,
    }));
    const entry = { subject, key, place: this.#placeOf(place.url), kind, pages: kept, bytes, readAtMs: this.#nowMs() };
    const held = this.#heldBy(subject);
    held.entries.set(key, entry);
    held.bytes += bytes;
    this.#bytes += bytes;
    entry.place.entries.add(entry);
    this.#sweep ??= this.#deadlines.after(this.#ageMs, () => this.#onSweep());
  }

  /** A subject's own oldest lists go first, and then those of whoever holds most. */
  #makeRoom(subject: string, bytes: number): void {
    const own = this.#heldBy(subject);
    while (own.bytes + bytes > limits.listCacheBytesPerSubjectMax && this.#dropOldest(own));
    while (this.#bytes + bytes > limits.listCacheBytesMax) {
      let most = own;
      for (const held of this.#bySubject.values()) if (held.bytes > most.bytes) most = held;
      if (!this.#dropOldest(most)) return;
    }
  }

  #dropOldest({ entries }: Held): boolean {
    for (const entry of entries.values()) {
      this.#drop(entry);
      return true;
    }
    return false;
  }

  #drop(entry: Entry): void {
    const held = this.#bySubject.get(entry.subject);
    if (held?.entries.delete(entry.key) !== true) return;
    held.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    if (held.entries.size === 0) this.#bySubject.delete(entry.subject);
    entry.place.entries.delete(entry);
    this.#tidy(entry.place);
  }

  /** What nobody asks for again must not stay for that. */
  #onSweep(): void {
    this.#sweep = undefined;
    const nowMs = this.#nowMs();
    for (const { entries } of [...this.#bySubject.values()]) {
      for (const entry of [...entries.values()]) if (nowMs - entry.readAtMs >= this.#ageMs) this.#drop(entry);
    }
    if (this.#bySubject.size > 0) this.#sweep = this.#deadlines.after(this.#ageMs, () => this.#onSweep());
  }

  #heldBy(subject: string): Held {
    let held = this.#bySubject.get(subject);
    if (held === undefined) {
      held = { bytes: 0, entries: new Map() };
      this.#bySubject.set(subject, held);
    }
    return held;
  }

  #placeOf(url: string): Place {
    let place = this.#places.get(url);
    if (place === undefined) {
      place = { url, entries: new Set(), reads: new Set() };
      this.#places.set(url, place);
    }
    return place;
  }

  #tidy(place: Place): void {
    const isEmpty = place.entries.size === 0 && place.reads.size === 0;
    if (isEmpty && this.#places.get(place.url) === place) this.#places.delete(place.url);
  }

  #keyOf({ backend, kind, shown }: ListIdentity): string {
    let id = this.#configIds.get(backend);
    if (id === undefined) {
      id = this.#configCount += 1;
      this.#configIds.set(backend, id);
    }
    return `${id} ${kind} ${shown}`;
  }
}

const CHANGED: Readonly<Record<string, readonly ListKindName[]>> = {
  'notifications/tools/list_changed': ['tools'],
  'notifications/prompts/list_changed': ['prompts'],
  'notifications/resources/list_changed': ['resources', 'templates'],
};

/** What a backend's notification is about; `undefined` for all lists: for `''`, when it has forgotten a session. */
export function listsChangedBy(method: string): readonly ListKindName[] | undefined {
  return method === '' ? undefined : (CHANGED[method] ?? []);
}

function urlOf({ target }: CompiledBackend): string {
  return target.origin + target.path;
}

function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
