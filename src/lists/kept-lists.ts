// Keeps what was made from backends' lists for a while, for the subject that it was made for. An entry is found by subject and key, and
// dropped when a backend says that its lists have changed, when it is too old, or when others need the room. A list that is reported as
// changed is read again, even if it was being read at that moment.
import type { ListKindName } from '../mcp/index.js';
import { FairCache, type Deadline, type DeadlineWheel } from '../fair/index.js';
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
  readonly expiresAtMs: number;
  /** Of the backends whose lists it was made from. */
  readonly urls: Iterable<string>;
}

/** The entries and reads that involve the lists at one URL. */
interface Place<Value> {
  readonly entries: Set<Entry<Value>>;
  readonly reads: Set<KeptRead<Value>>;
}

/** What is made from lists for one subject. */
interface ListsIdentity {
  readonly subject: string;
}

interface EndedRead<Value> {
  readonly key: string;
  readonly value: Value;
  readonly bytes: number;
  readonly ageMs: number;
}

/** A read in progress, whose result is to be kept. Exactly one of `keep` and `giveUp` is called, once. */
export class KeptRead<Value> {
  readonly kind: ListKindName;
  isStale = false;
  readonly #end: (ended: EndedRead<Value> | undefined) => boolean;

  constructor(kind: ListKindName, end: (ended: EndedRead<Value> | undefined) => boolean) {
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

export abstract class KeptLists<Identity extends ListsIdentity, Value> {
  readonly #rules: KeptListsRules<Value>;
  readonly #deadlines: DeadlineWheel;
  readonly #nowMs: () => number;
  readonly #kept: FairCache<Entry<Value>>;
  readonly #places = new Map<string, Place<Value>>();
  #sweep: Deadline | undefined;

  constructor(rules: KeptListsRules<Value>, deadlines: DeadlineWheel, nowMs: () => number) {
    this.#rules = rules;
    this.#deadlines = deadlines;
    this.#nowMs = nowMs;
    this.#kept = new FairCache(rules, (entry) => this.#onDropped(entry));
  }

  /** Differs for identities of one subject that differ in anything else. */
  protected abstract shownOf(identity: Identity): string;

  /** The size of everything kept, in bytes. */
  get bytes(): number {
    return this.#kept.bytes;
  }

  find(identity: Identity): Value | undefined {
    const key = this.keyOf(identity);
    const entry = this.#kept.get(key);
    if (entry === undefined || this.#nowMs() < entry.expiresAtMs) return entry?.value;
    this.#kept.delete(key);
    return undefined;
  }

  /** Drops an entry that is of no use any more. */
  remove(identity: Identity): void {
    this.#kept.delete(this.keyOf(identity));
  }

  /** @param kinds of lists that have changed at this backend; all kinds if omitted. */
  onChanged(backend: CompiledBackend, kinds?: readonly ListKindName[]): void {
    const place = this.#places.get(urlOf(backend));
    if (place === undefined) return;
    for (const read of place.reads) if (kinds?.includes(read.kind) !== false) read.isStale = true;
    for (const { kind, key } of [...place.entries]) if (kinds?.includes(kind) !== false) this.#kept.delete(key);
  }

  /** Any list may have changed: drops everything. */
  clear(): void {
    for (const { reads } of this.#places.values()) for (const read of reads) read.isStale = true;
    for (const { key } of this.#kept.values()) this.#kept.delete(key);
  }

  protected keyOf(identity: Identity): string {
    return JSON.stringify([identity.subject, this.shownOf(identity)]);
  }

  /** The lists are requested now: a change reported from now on makes the read stale. */
  protected beginRead(subject: string, kind: ListKindName, backends: Iterable<CompiledBackend>): KeptRead<Value> {
    const urls = new Set(Array.from(backends, urlOf));
    const read = new KeptRead<Value>(kind, (ended) => {
      for (const url of urls) this.#places.get(url)?.reads.delete(read);
      const isKept = ended !== undefined && this.#keep(subject, kind, urls, ended);
      for (const url of urls) this.#tidy(url);
      return isKept;
    });
    for (const url of urls) this.#placeOf(url).reads.add(read);
    return read;
  }

  #keep(subject: string, kind: ListKindName, urls: Iterable<string>, ended: EndedRead<Value>): boolean {
    const { key, value, bytes, ageMs } = ended;
    const expiresAtMs = this.#nowMs() + Math.min(ageMs, this.#rules.ageMs);
    const entry = { subject, key, value, kind, expiresAtMs, urls };
    if (!this.#kept.set(subject, key, entry, bytes)) return false;
    for (const url of urls) this.#placeOf(url).entries.add(entry);
    this.#sweep ??= this.#deadlines.after(this.#rules.ageMs, () => this.#onSweep());
    return true;
  }

  #onDropped(entry: Entry<Value>): void {
    for (const url of entry.urls) {
      this.#places.get(url)?.entries.delete(entry);
      this.#tidy(url);
    }
    this.#rules.onDropped?.(entry.subject, entry.value);
  }

  /** Drops expired entries, which would otherwise stay if nobody asked for them again. */
  #onSweep(): void {
    this.#sweep = undefined;
    const nowMs = this.#nowMs();
    for (const { key, expiresAtMs } of this.#kept.values()) if (nowMs >= expiresAtMs) this.#kept.delete(key);
    if (this.#kept.count > 0) this.#sweep = this.#deadlines.after(this.#rules.ageMs, () => this.#onSweep());
  }

  #placeOf(url: string): Place<Value> {
    let place = this.#places.get(url);
    if (place === undefined) {
      place = { entries: new Set(), reads: new Set() };
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
