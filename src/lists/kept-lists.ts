// Keeps what was made from backends' lists for a while, for the subject that it was made for. An entry is found by subject and key, and
// dropped when a backend says that its lists have changed, when it is too old, or when others need the room. A list that is reported as
// changed is read again, even if it was being read at that moment.
import type { ListKindName } from '../mcp/index.js';
import type { Deadline, DeadlineWheel } from '../fair/index.js';
import type { CompiledBackend } from '../user-config/index.js';

interface KeptListsRules<Value> {
  /** The age at which an entry expires even if no change was reported. */
  readonly ageMs: number;
  readonly bytesMax: number;
  readonly bytesPerSubjectMax: number;
  readonly onDropped?: (subject: string, value: Value) => void;
}

interface Entry<Value> {
  readonly subject: string;
  readonly key: string;
  readonly value: Value;
  readonly kind: ListKindName;
  readonly bytes: number;
  readonly expiresAtMs: number;
  readonly places: readonly Place<Value>[];
}

/** The entries and reads that involve the lists at one URL. */
interface Place<Value> {
  readonly url: string;
  readonly entries: Set<Entry<Value>>;
  readonly reads: Set<KeptRead<Value>>;
}

interface Held<Value> {
  bytes: number;
  /** In order of age, the oldest first. */
  readonly entries: Map<string, Entry<Value>>;
}

/** The subject, kind and backends of lists that are read to be kept. */
interface KeptPlace {
  readonly subject: string;
  readonly kind: ListKindName;
  readonly backends: Iterable<CompiledBackend>;
}

/** A read in progress, whose result is to be kept. Exactly one of `keep` and `giveUp` is called, once. */
export class KeptRead<Value> {
  readonly kind: ListKindName;
  isStale = false;
  readonly #end: (entry: { key: string; value: Value; bytes: number; ageMs: number } | undefined) => boolean;

  constructor(
    kind: ListKindName,
    end: (entry: { key: string; value: Value; bytes: number; ageMs: number } | undefined) => boolean,
  ) {
    this.kind = kind;
    this.#end = end;
  }

  /** @param ageMs if it is to expire sooner than other entries. @returns whether it is kept: it is not when it is stale or too large. */
  keep(key: string, value: Value, bytes: number, ageMs = Infinity): boolean {
    return this.#end(this.isStale ? undefined : { key, value, bytes, ageMs });
  }

  giveUp(): void {
    this.#end(undefined);
  }
}

export class KeptLists<Value> {
  readonly #rules: KeptListsRules<Value>;
  readonly #deadlines: DeadlineWheel;
  readonly #nowMs: () => number;
  readonly #bySubject = new Map<string, Held<Value>>();
  readonly #places = new Map<string, Place<Value>>();
  #bytes = 0;
  #sweep: Deadline | undefined;

  constructor(rules: KeptListsRules<Value>, deadlines: DeadlineWheel, nowMs: () => number) {
    this.#rules = rules;
    this.#deadlines = deadlines;
    this.#nowMs = nowMs;
  }

  /** The size of everything kept, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  find(subject: string, key: string): Value | undefined {
    const entry = this.#bySubject.get(subject)?.entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#nowMs() < entry.expiresAtMs) return entry.value;
    this.#drop(entry);
    return undefined;
  }

  /** The lists are requested now: a change reported from now on makes the read stale. */
  begin({ subject, kind, backends }: KeptPlace): KeptRead<Value> {
    const urls = new Set(Array.from(backends, urlOf));
    const read = new KeptRead<Value>(kind, (ended) => {
      for (const url of urls) this.#places.get(url)?.reads.delete(read);
      const isKept = ended !== undefined && this.#keep({ subject, kind, urls, ...ended });
      for (const url of urls) this.#tidy(url);
      return isKept;
    });
    for (const url of urls) this.#placeOf(url).reads.add(read);
    return read;
  }

  /** Drops an entry that is of no use any more. */
  remove(subject: string, key: string): void {
    const entry = this.#bySubject.get(subject)?.entries.get(key);
    if (entry !== undefined) this.#drop(entry);
  }

  /** @param kinds of lists that have changed at this backend; all kinds if omitted. */
  onChanged(backend: CompiledBackend, kinds?: readonly ListKindName[]): void {
    const place = this.#places.get(urlOf(backend));
    if (place === undefined) return;
    for (const read of place.reads) if (kinds?.includes(read.kind) !== false) read.isStale = true;
    for (const entry of [...place.entries]) if (kinds?.includes(entry.kind) !== false) this.#drop(entry);
  }

  /** Any list may have changed: drops everything. */
  clear(): void {
    for (const { entries, reads } of [...this.#places.values()]) {
      for (const read of reads) read.isStale = true;
      for (const entry of [...entries]) this.#drop(entry);
    }
  }

  #keep(fresh: {
    readonly subject: string;
    readonly kind: ListKindName;
    readonly urls: Iterable<string>;
    readonly key: string;
    readonly value: Value;
    readonly bytes: number;
    readonly ageMs: number;
  }): boolean {
    const { subject, key, value, kind, bytes, urls } = fresh;
    if (bytes > this.#rules.bytesPerSubjectMax) return false;
    this.remove(subject, key);
    this.#makeRoom(subject, bytes);
    const expiresAtMs = this.#nowMs() + Math.min(fresh.ageMs, this.#rules.ageMs);
    const places = Array.from(urls, (url) => this.#placeOf(url));
    const entry = { subject, key, value, kind, bytes, expiresAtMs, places };
    const held = this.#heldBy(subject);
    held.entries.set(key, entry);
    held.bytes += bytes;
    this.#bytes += bytes;
    for (const place of places) place.entries.add(entry);
    this.#sweep ??= this.#deadlines.after(this.#rules.ageMs, () => this.#onSweep());
    return true;
  }

  /** Drops the subject's own oldest entries first, and then the oldest of the subject that holds most. */
  #makeRoom(subject: string, bytes: number): void {
    const own = this.#heldBy(subject);
    while (own.bytes + bytes > this.#rules.bytesPerSubjectMax && this.#dropOldest(own));
    while (this.#bytes + bytes > this.#rules.bytesMax) {
      let most = own;
      for (const held of this.#bySubject.values()) if (held.bytes > most.bytes) most = held;
      if (!this.#dropOldest(most)) return;
    }
  }

  #dropOldest({ entries }: Held<Value>): boolean {
    for (const entry of entries.values()) {
      this.#drop(entry);
      return true;
    }
    return false;
  }

  #drop(entry: Entry<Value>): void {
    const held = this.#bySubject.get(entry.subject);
    if (held?.entries.delete(entry.key) !== true) return;
    held.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    if (held.entries.size === 0) this.#bySubject.delete(entry.subject);
    for (const place of entry.places) {
      place.entries.delete(entry);
      this.#tidy(place.url);
    }
    this.#rules.onDropped?.(entry.subject, entry.value);
  }

  /** Drops expired entries, which would otherwise stay if nobody asked for them again. */
  #onSweep(): void {
    this.#sweep = undefined;
    const nowMs = this.#nowMs();
    for (const { entries } of [...this.#bySubject.values()]) {
      for (const entry of [...entries.values()]) if (nowMs >= entry.expiresAtMs) this.#drop(entry);
    }
    if (this.#bySubject.size > 0) this.#sweep = this.#deadlines.after(this.#rules.ageMs, () => this.#onSweep());
  }

  #heldBy(subject: string): Held<Value> {
    let held = this.#bySubject.get(subject);
    if (held === undefined) {
      held = { bytes: 0, entries: new Map() };
      this.#bySubject.set(subject, held);
    }
    return held;
  }

  #placeOf(url: string): Place<Value> {
    let place = this.#places.get(url);
    if (place === undefined) {
      place = { url, entries: new Set(), reads: new Set() };
      this.#places.set(url, place);
    }
    return place;
  }

  #tidy(url: string): void {
    const place = this.#places.get(url);
    if (place?.entries.size === 0 && place.reads.size === 0) this.#places.delete(url);
  }
}

const CHANGED: Readonly<Record<string, readonly ListKindName[]>> = {
  'notifications/tools/list_changed': ['tools'],
  'notifications/prompts/list_changed': ['prompts'],
  'notifications/resources/list_changed': ['resources', 'templates'],
};

/** The kinds of lists that a backend's notification is about; `undefined` for all: for `''`, when it has forgotten a session. */
export function listsChangedBy(method: string): readonly ListKindName[] | undefined {
  return method === '' ? undefined : (CHANGED[method] ?? []);
}

function urlOf({ target }: CompiledBackend): string {
  return target.origin + target.path;
}
