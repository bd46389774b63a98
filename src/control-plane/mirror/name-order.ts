// Items in the order of their names, without regard to case. The order is maintained as items change: sorting 10,000 of
// them again takes longer than a page of a list may, and some server's status changes every few seconds.

interface Named {
  readonly name: string;
}

export class NameOrder<Item extends Named> {
  readonly #items: Item[] = [];
  /** The names of the items, in lower case. */
  readonly #names: string[] = [];

  /** In order. Always the same array, changed in place. */
  get items(): readonly Item[] {
    return this.#items;
  }

  add(item: Item): void {
    const name = item.name.toLowerCase();
    const place = this.#placeOf(name);
    this.#items.splice(place, 0, item);
    this.#names.splice(place, 0, name);
  }

  /** Removes exactly this item. Two items may briefly share a name: one that was renamed, and its successor. */
  remove(item: Item): void {
    const name = item.name.toLowerCase();
    for (let place = this.#placeOf(name); this.#names[place] === name; place++) {
      if (this.#items[place] !== item) continue;
      this.#items.splice(place, 1);
      this.#names.splice(place, 1);
      return;
    }
  }

  /** The index of the first item whose name equals this one or sorts after it. */
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
