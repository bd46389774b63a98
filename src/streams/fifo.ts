// A first-in, first-out queue. Unlike `Array.prototype.shift`, taking an item costs the same at any length: a large array would move all
// its items. Hot path.

/** Items move up once more places than this are free before them, and at least as many as there are items. */
const SPARE_PLACES = 32;

export class Fifo<Item> {
  readonly #items: (Item | undefined)[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** @param index counted from the first item. @returns `undefined` when there is no such item. */
  at(index: number): Item | undefined {
    return index < 0 ? undefined : this.#items[this.#first + index];
  }

  /** Replaces the item at this index, if there is one. */
  replace(index: number, item: Item): void {
    if (index >= 0 && index < this.length) this.#items[this.#first + index] = item;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** Takes the first item out. */
  shift(): Item | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first += 1;
    if (this.#first > SPARE_PLACES && this.#first >= this.length) this.#moveUp();
    return item;
  }

  clear(): void {
    this.#items.length = 0;
    this.#first = 0;
  }

  #moveUp(): void {
    this.#items.copyWithin(0, this.#first);
    this.#items.length -= this.#first;
    this.#first = 0;
  }
}
