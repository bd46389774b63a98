// A cache of what was made from backends' lists, for one subject each. An entry is dropped when a backend reports that its lists have
// changed, when it is too old, or when others need the room. A list that is reported as changed while it is read is not cached.
import type { ListKindName } from '../mcp/index.js';
import { FairCache, type Deadline, type DeadlineWheel } from '../fair/index.js';
import type { CompiledBackend } from '../user-config/index.js';

interface KeptListsRules<Value> {
  /** Age at which an entry expires even if no change was reported. */
  readonly ageMs: number;
  readonly bytesMax: number;
  readonly bytesPerSubjectMax: number;
  readonly onDropped?: (subject: string, value: Value) => void;
}

/** A read of lists, and from `keep` on what was made of them. Exactly one of `KeptLists.keep` and `giveUp` is called, once. */
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
  readonly #rules: KeptListsRules<Value>;
  readonly #deadlines: DeadlineWheel;
  readonly #nowMs: () => number;
  readonly #kept: FairCache<ListsRead<Value>>;
  /** Cached entries and reads in progress, by the URLs of the lists. */
  readonly #byUrl = new Map<string, Set<ListsRead<Value>>>();
  #sweep: Deadline | undefined;

  constructor(rules: KeptListsRules<Value>, deadlines: DeadlineWheel, nowMs: () => number) {
    this.#rules = rules;
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

  /** Called when lists have changed. @param kinds of these lists; all if omitted. */
  onChanged(backend: CompiledBackend, kinds?: readonly ListKindName[]): void {
    for (const read of this.#byUrl.get(urlOf(backend)) ?? [])
      if (kinds?.includes(read.kind) !== false) this.#markStale(read);
  }

  /** Drops everything, because any list may have changed. */
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

  /** Keeps what was made. @param ageMs if it is to expire sooner than others. @returns false when it is stale or too large. */
  keep(read: ListsRead<Value>, key: string, value: Value, bytes: number, ageMs = Infinity): boolean {
    if (read.isStale || !this.#kept.set(read.subject, key, read, bytes)) {
      read.giveUp();
      return false;
    }
    read.kept = { key, value, expiresAtMs: this.#nowMs() + Math.min(ageMs, this.#rules.ageMs) };
    this.#sweep ??= this.#deadlines.after(this.#rules.ageMs, () => this.#onSweep());
    return true;
  }

  /** Forgets a read, for `ListsRead`: changes of its lists do not matter any more. */
  forget(read: ListsRead<Value>): void {
    for (const url of read.urls) {
      const reads = this.#byUrl.get(url);
      reads?.delete(read);
      if (reads?.size === 0) this.#byUrl.delete(url);
    }
  }

  /** Drops expired entries that nobody asks for again. */
  #onSweep(): void {
    this.#sweep = undefined;
    for (const { kept } of this.#kept.values()) if (kept !== undefined) this.get(kept.key);
    if (this.#kept.count > 0) this.#sweep = this.#deadlines.after(this.#rules.ageMs, () => this.#onSweep());
  }
}

const KINDS_BY_METHOD: Readonly<Record<string, readonly ListKindName[]>> = {
  'notifications/tools/list_changed': ['tools'],
  'notifications/prompts/list_changed': ['prompts'],
  'notifications/resources/list_changed': ['resources', 'templates'],
};

/** The kinds of lists that a notification is about; `undefined` (all) for `''`: the backend has forgotten a session. */
export function listsChangedBy(method: string): readonly ListKindName[] | undefined {
  return method === '' ? undefined : (KINDS_BY_METHOD[method] ?? []);
}

function urlOf({ target }: CompiledBackend): string {
  return target.origin + target.path;
}
