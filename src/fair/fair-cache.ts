// A cache with bounds for each subject and in total, by entries and by bytes. A subject that would exceed its bound loses its own oldest
// entries. If all together would exceed the total, the subject with the most loses its oldest entries, unless the subject of the new entry
// would then have more than twice as much as the loser. Cold path.

interface CacheBounds {
  readonly entriesMax?: number;
  readonly entriesPerSubjectMax?: number;
  readonly bytesMax: number;
  readonly bytesPerSubjectMax: number;
}

interface Entry<Value> {
  readonly owner: SubjectEntries;
  readonly value: Value;
  readonly bytes: number;
}

interface SubjectEntries {
  readonly subject: string;
  readonly keys: Set<string>;
  bytes: number;
}

const countOf = ({ keys }: SubjectEntries): number => keys.size;
const bytesOf = ({ bytes }: SubjectEntries): number => bytes;

export class FairCache<Value> {
  readonly #bounds: CacheBounds;
  readonly #onDropped: ((value: Value) => void) | undefined;
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #subjects = new Map<string, SubjectEntries>();
  #bytes = 0;

  constructor(bounds: CacheBounds, onDropped?: (value: Value) => void) {
    this.#bounds = bounds;
    this.#onDropped = onDropped;
  }

  get count(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  values(): Value[] {
    return Array.from(this.#entries.values(), ({ value }) => value);
  }

  /** Adds an entry. @returns false if the value is larger than one subject may have, or others must not lose entries for it. */
  set(subject: string, key: string, value: Value, bytes: number): boolean {
    if (bytes > this.#bounds.bytesPerSubjectMax) return false;
    this.delete(key);
    const owner = this.#subjects.get(subject) ?? { subject, keys: new Set(), bytes: 0 };
    if (!this.#tryMakeRoom(owner, bytes)) return false;
    this.#subjects.set(subject, owner);
    owner.keys.add(key);
    owner.bytes += bytes;
    this.#bytes += bytes;
    this.#entries.set(key, { owner, value, bytes });
    return true;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const { owner, value, bytes } = entry;
    this.#entries.delete(key);
    owner.keys.delete(key);
    owner.bytes -= bytes;
    this.#bytes -= bytes;
    if (owner.keys.size === 0) this.#subjects.delete(owner.subject);
    this.#onDropped?.(value);
  }

  #tryMakeRoom(own: SubjectEntries, bytes: number): boolean {
    const { entriesMax = Infinity, entriesPerSubjectMax = Infinity, bytesMax, bytesPerSubjectMax } = this.#bounds;
    while (own.keys.size >= entriesPerSubjectMax || own.bytes + bytes > bytesPerSubjectMax) this.#dropOldest(own);
    if (!this.#tryDropUntil(own, 1, countOf, () => this.#entries.size < entriesMax)) return false;
    return this.#tryDropUntil(own, bytes, bytesOf, () => this.#bytes + bytes <= bytesMax);
  }

  /** Drops the oldest entries of the subject with the most, which is searched once for several drops. @returns false if it must not lose more. */
  #tryDropUntil(
    own: SubjectEntries,
    addedAmount: number,
    measure: (entries: SubjectEntries) => number,
    isEnough: () => boolean,
  ): boolean {
    while (!isEnough()) {
      let most = own;
      for (const owner of this.#subjects.values()) if (measure(owner) > measure(most)) most = owner;
      const evictionThreshold = most === own ? 0 : (measure(own) + addedAmount) / 2;
      if (most.keys.size === 0 || measure(most) < evictionThreshold) return false;
      do this.#dropOldest(most);
      while (!isEnough() && most.keys.size > 0 && measure(most) >= evictionThreshold);
    }
    return true;
  }

  #dropOldest({ keys }: SubjectEntries): void {
    for (const oldest of keys) return this.delete(oldest);
  }
}
