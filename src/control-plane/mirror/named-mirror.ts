// Entities of one kind in memory, by id and sorted by name without regard to case. They stay sorted as they change:
// sorting 10,000 of them for each page would take too long.

export interface PageQuery {
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** A cursor that leads to the next page; `undefined` on the last page. */
  readonly cursor: string | undefined;
}

/** The cursor of the page after this item. It contains the item's name, so that it stays valid while items come and go. */
export function cursorAfter({ name }: { readonly name: string }): string {
  return Buffer.from(name.toLowerCase()).toString('base64url');
}

export abstract class NamedMirror<Row extends { readonly id: string; readonly name: string }> {
  /** The prefix of the records' keys, with the slash. */
  readonly prefix: string;
  readonly #byId = new Map<string, Row>();
  readonly #sorted: Row[] = [];

  constructor(prefix: string) {
    this.prefix = prefix;
  }

  protected abstract parse(value: Buffer): Row;

  /** Called when a row is added or removed. A changed row is first removed, then added. */
  protected abstract onRowChange(row: Row, isAdded: boolean): void;

  get size(): number {
    return this.#byId.size;
  }

  /** The rows, sorted by name. Always the same array, changed in place. */
  get sorted(): readonly Row[] {
    return this.#sorted;
  }

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

  /** Replaces, adds or removes a row. @param value the stored record; `undefined` if it no longer exists. */
  put(key: string, value: Buffer | undefined): void {
    const id = key.slice(this.prefix.length);
    const before = this.#byId.get(id);
    if (before !== undefined) {
      this.#byId.delete(id);
      // The row may not be the first of its name: two rows may have one name for a moment, after one of them was renamed.
      this.#sorted.splice(this.#sorted.indexOf(before, this.#indexOf(before)), 1);
      this.onRowChange(before, false);
    }
    if (value === undefined) return;
    const after = this.parse(value);
    this.#byId.set(id, after);
    this.#sorted.splice(this.#indexOf(after), 0, after);
    this.onRowChange(after, true);
  }

  /** The index of the first row whose name equals this row's or follows it. */
  #indexOf({ name }: Row): number {
    const folded = name.toLowerCase();
    return this.#firstIndexWhere((each) => each >= folded);
  }

  /** @param isReached once true for a row's name, must be true for those of all later rows. */
  #firstIndexWhere(isReached: (name: string) => boolean): number {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isReached(this.#sorted[middle]!.name.toLowerCase())) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
