// A slow check that several callers may need at once: they share the run that is under way. Cold path.

export class SharedCheck {
  readonly #check: () => Promise<void>;
  #underWay: Promise<void> | undefined;

  constructor(check: () => Promise<void>) {
    this.#check = check;
  }

  /** Rejects when the check does. */
  run(): Promise<void> {
    this.#underWay ??= this.#check().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }
}
