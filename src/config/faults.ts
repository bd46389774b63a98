// Faults in the options and how they are reported: all at once, each with its option and what to do. A value is never repeated in a
// message, because it may be a secret in the wrong place.

/** Thrown by a value's parser. The message continues after the option's name: "expects …", "cannot be read …". */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
}

/** Thrown once, with all faults of a command line and its environment. */
export class OptionFaults extends Error {
  override readonly name = 'OptionFaults';
  /** One line each, starting with the option's name. */
  readonly faults: readonly string[];

  /** @param advice one sentence that says where to read more. */
  constructor(faults: readonly string[], advice: string) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    super([`${count} in the command line and environment:`, ...faults.map((fault) => `  ${fault}`), advice].join('\n'));
    this.faults = faults;
  }
}
