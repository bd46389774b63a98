// Things in the order of their names without regard to case. It is kept while they change: with 10,000 of them sorting
// anew takes longer than a page of a list may, and some server's status changes every few seconds.

interface Named {
  readonly name: string;
}

export class NameOrder<Item extends Named> {
  readonly #items: Item[] = [];
  /** The names of the items, folded. */
  readonly #names: string[] = [];

  /** In order; the same array for ever, which changes. */
  get items(): readonly Item[] {
    return this.#items;
  }

  add(item: Item): void {
    const name = item.name.toLowerCase();
    const place = this.#placeOf(name);
    this.#items.splice(place, 0, item);
    this.#names.splice(place, 0, name);
  }

  /** The very item that was added. For a moment two may have one name: of one that is renamed, and of its successor. */
  remove(item: Item): void {
    const name = item.name.toLowerCase();
    for (let place = this.#placeOf(name); this.#names[place] === name; place++) {
      if (this.#items[place] !== item) continue;
      this.#items.splice(place, 1);
      this.#names.splice(place, 1);
      return;
    }
  }

  /** The first place that this name, or a later one, has. */
  #placeOf(name: string): number {
    let low = 0;
    let high = this.#names.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#names[middle]! < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
