// Numbers that tell objects apart in keys, for as long as the objects are there.
export class ObjectNumbers<Thing extends object> {
  readonly #numbers = new WeakMap<Thing, number>();
  #count = 0;

  of(thing: Thing): number {
    let number = this.#numbers.get(thing);
    if (number === undefined) {
      number = this.#count += 1;
      this.#numbers.set(thing, number);
    }
    return number;
  }
}
