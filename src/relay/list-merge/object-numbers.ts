// Numbers that stand for objects in keys, for as long as the objects live.
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
