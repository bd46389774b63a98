// Rows of one kind in memory, by id and in the order of their names, without regard to case. The order is maintained as
// rows change: sorting 10,000 of them again takes longer than a page of a list may, and some server's status changes every
// few seconds. `Directory` brings them up to date.

export interface PageQuery {
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; `undefined` on the last page. */
  readonly cursor: string | undefined;
}

/** The cursor of the page that begins after the item. It holds the name, so that it stays valid while items come and go. */
export function cursorAfter({ name }: { readonly name: string }): string {
  return Buffer.from(name.toLowerCase()).toString('base64url');
}

export abstract class NamedMirror<Row extends { readonly id: string; readonly name: string }> {
  /** Of the records' keys, including its slash. */
  readonly prefix: string;
  readonly #byId = new Map<string, Row>();
  readonly #sorted: Row[] = [];
  /** The names of the sorted rows, in lower case. */
  readonly #names: string[] = [];

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  protected abstract read(value: Buffer): Row;

  /** To be called for each row that is there from now on, or no longer. */
  protected abstract onChange(row: Row, isThere: boolean): void;

  get size(): number {
    return this.#byId.size;
  }

  /** Sorted by name. Always the same array, changed in place. */
  get sorted(): readonly Row[] {
    return this.#sorted;
  }

  /** Examines no more rows than needed to fill the page. */
  page({ limit = Infinity, cursor }: PageQuery, isWanted: (row: Row) => boolean = () => true): Page<Row> {
    const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString('utf8');
    const items: Row[] = [];
    for (let at = this.#firstThat((name) => name > after); at < this.#sorted.length; at++) {
      const row = this.#sorted[at]!;
      if (!isWanted(row)) continue;
      const last = items.at(-1);
      if (items.length >= limit && last !== undefined) return { items, cursor: cursorAfter(last) };
      items.push(row);
    }
    return { items, cursor: undefined };
  }

  byId(id: string): Row | undefined {
    return this.#byId.get(id);
  }

  keys(): Iterable<string> {
    return Array.from(this.#byId.keys(), (id) => this.prefix + id);
  }

  /** @param value `undefined` when the record no longer exists. */
  put(key: string, value: Buffer | undefined): void {
    const id = key.slice(this.prefix.length);
    const before = this.#byId.get(id);
    if (before !== undefined) {
      this.#byId.delete(id);
      this.#remove(before);
      this.onChange(before, false);
    }
    if (value === undefined) return;
    const after = this.read(value);
    this.#byId.set(id, after);
    const place = this.#placeOf(after);
    this.#sorted.splice(place, 0, after);
    this.#names.splice(place, 0, after.name.toLowerCase());
    this.onChange(after, true);
  }

  /** Removes exactly this row. Two may briefly share a name: one that was renamed, and its successor. */
  #remove(row: Row): void {
    const place = this.#sorted.indexOf(row, this.#placeOf(row));
    this.#sorted.splice(place, 1);
    this.#names.splice(place, 1);
  }

  /** The index of the first row whose name equals this row's, or sorts after it. */
  #placeOf({ name }: Row): number {
    const folded = name.toLowerCase();
    return this.#firstThat((each) => each >= folded);
  }

  /** @param isReached true from some name on. */
  #firstThat(isReached: (name: string) => boolean): number {
    let low = 0;
    let high = this.#names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isReached(this.#names[middle]!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
