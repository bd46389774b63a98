// First in, first out. Like an array from which the first item is shifted, but that costs the same however many there are: an
// array of some ten thousand moves them all. Hot.

/** Places of items that have left, above which those behind them move up, if there are no more of these. */
const SPARE_PLACES = 32;

export class Fifo<Item> {
  readonly #items: (Item | undefined)[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** @param index from the first item on. @returns `undefined` where there is none. */
  at(index: number): Item | undefined {
    return index < 0 ? undefined : this.#items[this.#first + index];
  }

  /** In the place of the item that is there. */
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
