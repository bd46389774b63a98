// A cache with bounds for each subject and in total, by entries and by bytes. A subject that would exceed its bound loses its own oldest
// entries. If all would exceed the total, the subject with the most loses its oldest entries, unless the subject of the new entry would
// then have more than twice as much as that one. Cold path.

interface CacheBounds {
  readonly entriesMax?: number;
  readonly entriesPerSubjectMax?: number;
  readonly bytesMax: number;
  readonly bytesPerSubjectMax: number;
}

interface Entry<Value> {
  readonly share: SubjectEntries;
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
    const share = this.#subjects.get(subject) ?? { subject, keys: new Set(), bytes: 0 };
    if (!this.#tryMakeRoom(share, bytes)) return false;
    this.#subjects.set(subject, share);
    share.keys.add(key);
    share.bytes += bytes;
    this.#bytes += bytes;
    this.#entries.set(key, { share, value, bytes });
    return true;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const { share, value, bytes } = entry;
    this.#entries.delete(key);
    share.keys.delete(key);
    share.bytes -= bytes;
    this.#bytes -= bytes;
    if (share.keys.size === 0) this.#subjects.delete(share.subject);
    this.#onDropped?.(value);
  }

  #tryMakeRoom(own: SubjectEntries, bytes: number): boolean {
    const { entriesMax = Infinity, entriesPerSubjectMax = Infinity, bytesMax, bytesPerSubjectMax } = this.#bounds;
    while (own.keys.size >= entriesPerSubjectMax || own.bytes + bytes > bytesPerSubjectMax) this.#dropOldest(own);
    if (!this.#tryDrop(own, 1, countOf, () => this.#entries.size < entriesMax)) return false;
    return this.#tryDrop(own, bytes, bytesOf, () => this.#bytes + bytes <= bytesMax);
  }

  /** Drops the oldest entries of the subject with the most, found once for several entries. @returns false if it must not lose more. */
  #tryDrop(
    own: SubjectEntries,
    more: number,
    measure: (share: SubjectEntries) => number,
    isEnough: () => boolean,
  ): boolean {
    while (!isEnough()) {
      let most = own;
      for (const share of this.#subjects.values()) if (measure(share) > measure(most)) most = share;
      const minToLose = most === own ? 0 : (measure(own) + more) / 2;
      if (most.keys.size === 0 || measure(most) < minToLose) return false;
      do this.#dropOldest(most);
      while (!isEnough() && most.keys.size > 0 && measure(most) >= minToLose);
    }
    return true;
  }

  #dropOldest({ keys }: SubjectEntries): void {
    for (const oldest of keys) return this.delete(oldest);
  }
}
