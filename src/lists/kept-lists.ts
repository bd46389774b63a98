// A cache of values made from backends' lists, each for one subject. An entry is dropped when a backend reports that its lists have
// changed, when the entry is too old, or when others need its memory. A list that is reported as changed while it is read is not cached.
import type { ListKindName } from '../mcp/index.js';
import { FairCache, type Deadline, type DeadlineWheel } from '../fair/index.js';
import type { CompiledBackend } from '../user-config/index.js';

interface KeptListsOptions<Value> {
  /** Age at which an entry expires even if no change was reported. */
  readonly ageMs: number;
  readonly bytesMax: number;
  readonly bytesPerSubjectMax: number;
  readonly onDropped?: (subject: string, value: Value) => void;
}

/** A read of lists in progress; after `KeptLists.keep`, a cached entry. Its owner calls either `KeptLists.keep` or `giveUp`, once. */
export class ListsRead<Value> {
  readonly subject: string;
  readonly kind: ListKindName;
  readonly urls: ReadonlySet<string>;
  /** Whether a backend has reported a change since the read began. */
  isStale = false;
  kept: { readonly key: string; readonly value: Value; readonly expiresAtMs: number } | undefined = undefined;
  protected readonly lists: KeptLists<Value>;

  constructor(lists: KeptLists<Value>, subject: string, kind: ListKindName, backends: Iterable<CompiledBackend>) {
    this.lists = lists;
    this.subject = subject;
    this.kind = kind;
    this.urls = new Set(Array.from(backends, urlOf));
  }

  giveUp(): void {
    this.lists.forget(this);
  }
}

export class KeptLists<Value> {
  readonly #options: KeptListsOptions<Value>;
  readonly #deadlines: DeadlineWheel;
  readonly #nowMs: () => number;
  readonly #kept: FairCache<ListsRead<Value>>;
  /** Cached entries and reads in progress, by the URLs of their backends. */
  readonly #byUrl = new Map<string, Set<ListsRead<Value>>>();
  #nextSweep: Deadline | undefined;

  constructor(rules: KeptListsOptions<Value>, deadlines: DeadlineWheel, nowMs: () => number) {
    this.#options = rules;
    this.#deadlines = deadlines;
    this.#nowMs = nowMs;
    this.#kept = new FairCache(rules, (read) => {
      this.forget(read);
      if (read.kept !== undefined) rules.onDropped?.(read.subject, read.kept.value);
    });
  }

  get bytes(): number {
    return this.#kept.bytes;
  }

  get(key: string): Value | undefined {
    const kept = this.#kept.get(key)?.kept;
    if (kept === undefined || this.#nowMs() < kept.expiresAtMs) return kept?.value;
    this.delete(key);
    return undefined;
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }

  /** Called when lists of the backend have changed. @param kinds the kinds of lists; all kinds if omitted. */
  onChanged(backend: CompiledBackend, kinds?: readonly ListKindName[]): void {
    for (const read of this.#byUrl.get(urlOf(backend)) ?? [])
      if (kinds?.includes(read.kind) !== false) this.#markStale(read);
  }

  /** Drops all entries, and marks all reads as stale, because any list may have changed. */
  clear(): void {
    for (const reads of this.#byUrl.values()) for (const read of reads) this.#markStale(read);
  }

  #markStale(read: ListsRead<Value>): void {
    read.isStale = true;
    if (read.kept !== undefined) this.delete(read.kept.key);
  }

  /** Called before the lists are requested: a change reported from now on makes the read stale. */
  protected register<Read extends ListsRead<Value>>(read: Read): Read {
    for (const url of read.urls) {
      const reads = this.#byUrl.get(url);
      if (reads === undefined) this.#byUrl.set(url, new Set([read]));
      else reads.add(read);
    }
    return read;
  }

  /** Caches the value made of the lists. @param ageMs when it expires, if before others. @returns false if it is stale, or too large. */
  keep(read: ListsRead<Value>, key: string, value: Value, bytes: number, ageMs = Infinity): boolean {
    if (read.isStale || !this.#kept.set(read.subject, key, read, bytes)) {
      read.giveUp();
      return false;
    }
    read.kept = { key, value, expiresAtMs: this.#nowMs() + Math.min(ageMs, this.#options.ageMs) };
    this.#nextSweep ??= this.#deadlines.after(this.#options.ageMs, () => this.#dropExpired());
    return true;
  }

  /** Forgets a read: later changes of its lists have no effect on it. */
  forget(read: ListsRead<Value>): void {
    for (const url of read.urls) {
      const reads = this.#byUrl.get(url);
      reads?.delete(read);
      if (reads?.size === 0) this.#byUrl.delete(url);
    }
  }

  /** Drops the entries that have expired and were not asked for since. */
  #dropExpired(): void {
    this.#nextSweep = undefined;
    for (const { kept } of this.#kept.values()) if (kept !== undefined) this.get(kept.key);
    if (this.#kept.count > 0) this.#nextSweep = this.#deadlines.after(this.#options.ageMs, () => this.#dropExpired());
  }
}

const KINDS_BY_METHOD: Readonly<Record<string, readonly ListKindName[]>> = {
  'notifications/tools/list_changed': ['tools'],
  'notifications/prompts/list_changed': ['prompts'],
  'notifications/resources/list_changed': ['resources', 'templates'],
};

/** The kinds of lists that a notification reports as changed; `undefined` (all) for `''`, by which callers report a lost session. */
export function listsChangedBy(method: string): readonly ListKindName[] | undefined {
  return method === '' ? undefined : (KINDS_BY_METHOD[method] ?? []);
}

function urlOf({ target }: CompiledBackend): string {
  return target.origin + target.path;
}
