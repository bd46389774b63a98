// A bounded map that forgets the entries that were least recently used. It has two generations: when the young one is full, it replaces the
// old one. A hit costs one look-up; an exact order of use would cost a delete and an insert. Hot path.

export class RecentMap<Value> {
  readonly #entriesPerGeneration: number;
  readonly #bytesPerGeneration: number;
  readonly #bytesOf: (value: Value) => number;
  #young = new Map<string, Value>();
  #youngBytes = 0;
  #old = new Map<string, Value>();

  /**
   * @param bytesMax for all values together; a single value may exceed it.
   * @param bytesOf the size of a value: always the same for the same value.
   */
  constructor(entriesMax: number, bytesMax: number, bytesOf: (value: Value) => number) {
    this.#entriesPerGeneration = Math.max(1, Math.floor(entriesMax / 2));
    this.#bytesPerGeneration = bytesMax / 2;
    this.#bytesOf = bytesOf;
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: Value): void {
    this.delete(key);
    const bytes = this.#bytesOf(value);
    if (this.#young.size >= this.#entriesPerGeneration || this.#youngBytes + bytes > this.#bytesPerGeneration) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(key, value);
    this.#youngBytes += bytes;
  }

  delete(key: string): void {
    const young = this.#young.get(key);
    if (young === undefined) {
      this.#old.delete(key);
      return;
    }
    this.#young.delete(key);
    this.#youngBytes -= this.#bytesOf(young);
  }

  clear(): void {
    this.#young.clear();
    this.#youngBytes = 0;
    this.#old.clear();
  }
}

/** The value under the key. If there is none, one is made and set. */
export function getOrMake<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** Drops the oldest entry if the map has `sizeMax` entries. @returns the dropped value, if any. */
export function dropOldest<Value>(map: Map<string, Value>, sizeMax: number): Value | undefined {
  if (map.size < sizeMax) return undefined;
  for (const [key, value] of map) {
    map.delete(key);
    return value;
  }
  return undefined;
}
