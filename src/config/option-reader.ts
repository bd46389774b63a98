// Reads one table's options from the command line, the environment and the defaults, in this order of precedence, and collects every fault,
// so that all of them are reported at once.
import { InvalidValue, OptionFaults } from './faults.js';
import { environmentVariable, type OptionTable, type OptionValues } from './option.js';
import type { CommandWords } from './command.js';
import { unknownVariableFaults } from './environment.js';

export class OptionReader<Table extends OptionTable> {
  readonly #table: Table;
  readonly #words: CommandWords;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #values: Partial<OptionValues<Table>>;
  readonly #faults: string[];

  constructor(table: Table, words: CommandWords, environment: NodeJS.ProcessEnv) {
    this.#table = table;
    this.#words = words;
    this.#environment = environment;
    this.#faults = [...words.faults, ...unknownVariableFaults(environment)];
    const entries = Object.keys(table).map((name) => [name, this.#read(name)]);
    // Object.fromEntries cannot carry the table's types over; #read has parsed each value with its own option.
    this.#values = Object.fromEntries(entries) as Partial<OptionValues<Table>>;
  }

  isGiven(name: keyof Table & string): boolean {
    return this.#given(name) !== undefined;
  }

  /** `undefined` when the option has no value, or its value was a fault. */
  value<Name extends keyof Table & string>(name: Name): OptionValues<Table>[Name] | undefined {
    return this.#values[name];
  }

  /** Adds a fault that involves more than one value. */
  fault(name: keyof Table & string, problem: string): void {
    this.#faults.push(`${this.#label(name)}: ${problem}`);
  }

  /** Adds a fault of the words that are not options. */
  faultOfOperand(words: string): void {
    this.#faults.push(words);
  }

  /** Returns every value. @throws {OptionFaults} when there was any fault. */
  finish(): OptionValues<Table> {
    if (this.#faults.length > 0) {
      throw new OptionFaults(this.#faults, `\`switchyard ${this.#words.command} --help\` lists the options.`);
    }
    // Without faults, every value is present.
    return this.#values as OptionValues<Table>;
  }

  #read(name: string): unknown {
    const option = this.#table[name]!;
    const text = this.#given(name) ?? option.fallback;
    if (text === undefined) {
      if (option.required) this.fault(name, `is required; give it, or set ${environmentVariable(name)}`);
      return undefined;
    }
    try {
      return option.parse(text);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      this.fault(name, error.message);
      return undefined;
    }
  }

  #given(name: string): string | undefined {
    // An empty variable is the usual way to unset one that an image or a unit file has set.
    return this.#words.given.get(name) ?? (this.#environment[environmentVariable(name)] || undefined);
  }

  #label(name: string): string {
    const isFromEnvironment = this.isGiven(name) && !this.#words.given.has(name);
    return isFromEnvironment ? `--${name} (from ${environmentVariable(name)})` : `--${name}`;
  }
}
