// Rows of one kind in memory, by id and in the order of their names, without regard to case. Rows are kept in order as they
// change: to sort 10,000 of them for each page would take too long, and some server's status changes every few seconds.
// `Directory` brings them up to date.

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
  /** The prefix of the records' keys, including its slash. */
  readonly prefix: string;
  readonly #byId = new Map<string, Row>();
  readonly #sorted: Row[] = [];
  /** The names of the sorted rows, in lower case. */
  readonly #names: string[] = [];

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  protected abstract parse(value: Buffer): Row;

  /** Called for each row that was added or removed; a changed row is removed and added. */
  protected abstract onChange(row: Row, isAdded: boolean): void;

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
    for (let index = this.#firstIndexWhere((name) => name > after); index < this.#sorted.length; index++) {
      const row = this.#sorted[index]!;
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
    const after = this.parse(value);
    this.#byId.set(id, after);
    const index = this.#indexOf(after);
    this.#sorted.splice(index, 0, after);
    this.#names.splice(index, 0, after.name.toLowerCase());
    this.onChange(after, true);
  }

  /** Removes exactly this row. Two rows may briefly share a name: one that has been renamed since, and another that now has the name. */
  #remove(row: Row): void {
    const index = this.#sorted.indexOf(row, this.#indexOf(row));
    this.#sorted.splice(index, 1);
    this.#names.splice(index, 1);
  }

  /** The index of the first row whose name equals this row's, or sorts after it. */
  #indexOf({ name }: Row): number {
    const folded = name.toLowerCase();
    return this.#firstIndexWhere((each) => each >= folded);
  }

  /** The index of the first name for which `isReached` is true: it must be true for all names after that, too. */
  #firstIndexWhere(isReached: (name: string) => boolean): number {
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
