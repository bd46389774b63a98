// A check that takes a while and that several ask for at once: they share the one under way. Cold.

export class SharedCheck {
  readonly #check: () => Promise<void>;
  #underWay: Promise<void> | undefined;

  constructor(check: () => Promise<void>) {
    this.#check = check;
  }

  /** Rejects with what the check found. */
  run(): Promise<void> {
    this.#underWay ??= this.#check().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }
}
