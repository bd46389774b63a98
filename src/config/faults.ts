// What can be wrong with the options, and how it is told: every fault at once, each with its option and what to do.
// A value is never repeated in a message: it may be a secret that was put into the wrong place.

/** Thrown by a value's parser. The message goes on from the option's name: "expects …", "cannot be read …". */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

/** Thrown once, with all faults of a command line and its environment. */
export class OptionFaults extends Error {
  override readonly name = 'OptionFaults';
  /** One line each, beginning with the option's name. */
  readonly faults: readonly string[];

  /** @param advice where to read on, one sentence. */
  constructor(faults: readonly string[], advice: string) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    super([`${count} in the command line and environment:`, ...faults.map((fault) => `  ${fault}`), advice].join('\n'));
    this.faults = faults;
  }
}
