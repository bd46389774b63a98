// Options and commands as data. An option has a name, a meaning, a parser of its text, and a default. A schema has options as its members;
// their values become the members of a command's request. The parser of the command line, the environment variables, `--help`, completion
// and docs/options.md are made from these declarations.
import { InvalidValue, OptionFaults } from './values.js';

export interface Option<Value> {
  readonly name: string;
  /** What help shows in place of the value, such as `<host:port>`. If it is in square brackets, a missing value means `true`. */
  readonly placeholder: string;
  readonly meaning: string;
  readonly parse: (text: string) => Value;
  /** The default: a text to parse, or a value computed from other options; `undefined` if there is none. */
  readonly fallback: string | DerivedDefault<Value> | undefined;
  readonly isRequired: boolean;
  /** Variables that other programs read, too, such as `HTTPS_PROXY`. If the option's own variable is unset, the first that is set counts. */
  readonly commonVariables?: readonly string[];
}

interface DerivedDefault<Value> {
  /** The default in words, for help and documentation. */
  readonly text: string;
  /** Computes the default; absent if there is none. */
  readonly derive?: (reader: OptionReader) => Value;
}

/** Options that belong together. `check` adds faults that involve several of them; `combine` makes one value of their values. */
export interface Section<Value> {
  readonly options: Schema;
  check(reader: OptionReader): void;
  combine(values: object, reader: OptionReader): Value;
}

export interface Schema {
  readonly [member: string]: Option<unknown> | Section<unknown> | Schema;
}

export type ValueOf<Node> =
  Node extends Option<infer Value> ? Value : Node extends Section<infer Value> ? Value : ValuesOf<Node>;

export type ValuesOf<Members> = { readonly [Member in keyof Members]: ValueOf<Members[Member]> };

/** Declares an option. @param usage its name and placeholder, for example `address <host:port>`. */
export function option<Value>(
  usage: string,
  meaning: string,
  parse: (text: string) => Value,
  fallback: string,
): Option<Value>;
export function option<Value, Other>(
  usage: string,
  meaning: string,
  parse: (text: string) => Value,
  fallback: Required<DerivedDefault<Other>>,
): Option<Value | Other>;
export function option<Value>(
  usage: string,
  meaning: string,
  parse: (text: string) => Value,
  fallback?: { readonly text: string },
): Option<Value | undefined>;
export function option<Value>(
  usage: string,
  meaning: string,
  parse: (text: string) => Value,
  fallback?: string | DerivedDefault<Value>,
): Option<Value> {
  const [name = '', placeholder = ''] = usage.split(/ (.*)/);
  return { name, placeholder, meaning, parse, fallback, isRequired: false };
}

/** The same option, but required: a missing value is a fault. */
export function required<Value>(optional: Option<Value | undefined>): Option<Value> {
  return { ...(optional as Option<Value>), isRequired: true };
}

/** The same option, but also read from these environment variables. */
export function alsoReadFrom<Value>(option: Option<Value>, ...commonVariables: string[]): Option<Value> {
  return { ...option, commonVariables };
}

/** Declares a section. By default, its value is an object with the values of the options. */
export function section<Members extends Schema, Value = ValuesOf<Members>>(
  options: Members,
  rules: {
    readonly check?: (reader: OptionReader) => void;
    readonly combine?: (values: ValuesOf<Members>, reader: OptionReader) => Value;
  },
): Section<Value> {
  const { check = () => undefined, combine = (values) => values } = rules;
  return { options, check, combine: combine as Section<Value>['combine'] };
}

export function isOption(node: Schema[string]): node is Option<unknown> {
  return typeof (node as Option<unknown>).parse === 'function';
}

export function isSection(node: Schema[string]): node is Section<unknown> {
  return typeof (node as Section<unknown>).combine === 'function';
}

/** The options of the schema, in order, with those of nested schemas. */
export function optionsOf(schema: Schema): readonly Option<unknown>[] {
  return Object.values(schema).flatMap((node) => {
    return isOption(node) ? [node] : optionsOf(isSection(node) ? node.options : node);
  });
}

export function environmentVariable(name: string): string {
  return `SWITCHYARD_${name.toUpperCase().replaceAll('-', '_')}`;
}

export function fallbackText({ fallback, isRequired }: Option<unknown>): string {
  if (isRequired) return 'required';
  return typeof fallback === 'string' ? fallback : (fallback?.text ?? 'none');
}

export function isValueOptional({ placeholder }: Option<unknown>): boolean {
  return placeholder.startsWith('[');
}

export interface CommandDeclaration {
  readonly summary: string;
  readonly options: Schema;
  /** The names of the operands, in order. `name?` is an optional operand; the last may be `name...`, which takes one word or more. */
  readonly operands?: readonly string[];
  /** Adds the faults of operands, and of options that depend on operands. */
  readonly check?: (reader: OptionReader, operands: readonly string[]) => void;
}

/** The values of a command's options, and its operands by their names. */
export type CommandRequest<Options, Names extends readonly string[]> = ValuesOf<Options> & {
  readonly [
    Name in Names[number] as Name extends `${infer Bare}...` | `${infer Bare}?` ? Bare : Name
  ]: Name extends `${string}...` ? readonly string[] : Name extends `${string}?` ? string | undefined : string;
};

/** Commands by name. A name of two words, such as `servers list`, is a group and a command in it. */
export type CommandDeclarations<Name extends string = string> = Readonly<Record<Name, CommandDeclaration>>;

/** The command that is run when the command line names none. */
export const DEFAULT_COMMAND = 'dataplane';

/** What each group of commands is about, by the group's name: the first word of its commands' names. */
export const commandGroups: Readonly<Record<string, string>> = {
  servers: 'the registry of servers of a running control plane',
  compositions: 'the compositions of a running control plane',
  config: 'the user configs in the store',
  store: 'the embedded store as a whole',
  secrets: "the secrets in the store that backends' `auth` refers to",
};

export interface OptionText {
  readonly text: string;
  /** The environment variable with the text; absent if the text is from the command line. */
  readonly variable?: string;
}

export interface CommandWords<Name extends string = string> {
  readonly command: Name;
  /** The words that are not options. */
  readonly operands: readonly string[];
  /** The texts of the options that are set, by the options' names. */
  readonly optionTexts: ReadonlyMap<string, OptionText>;
  /** The access token from the environment; `''` if there is none. */
  readonly token: string;
  /** What is wrong with the words: unknown options and variables, missing values, too many or too few operands. */
  readonly faults: readonly string[];
}

/** The operand in the form that `--help` and the documentation show. */
export function operandAsWritten(operand: string): string {
  if (operand.endsWith('?')) return `[${operand.slice(0, -1)}]`;
  return operand.endsWith('...') ? `<${operand.slice(0, -3)}>...` : `<${operand}>`;
}

/** Reads the options of a command from its words, and collects the faults. */
export class OptionReader {
  readonly #words: CommandWords;
  readonly #values = new Map<string, unknown>();
  readonly #faults: string[];

  constructor(words: CommandWords) {
    this.#words = words;
    this.#faults = [...words.faults];
  }

  /** The access token from the environment; `''` if there is none. */
  get token(): string {
    return this.#words.token;
  }

  isGiven({ name }: Option<unknown>): boolean {
    return this.#words.optionTexts.has(name);
  }

  /** Whether the option is on the command line, which every user of the machine can read. */
  isOnCommandLine({ name }: Option<unknown>): boolean {
    const given = this.#words.optionTexts.get(name);
    return given !== undefined && given.variable === undefined;
  }

  /** The value of an option that is given or has a text as its default; `undefined` for an invalid text, and for any other option. */
  value<Value>({ name }: Option<Value>): Value | undefined {
    // Values are kept by name, because `readOption` may have been called with the other plane's option of this name.
    return this.#values.get(name) as Value | undefined;
  }

  /** The option's value, or the default that is computed from other options. Must be called only when there is no fault. */
  resolve<Value>(option: Option<Value>): Value {
    const { name, fallback } = option;
    if (!this.#values.has(name) && typeof fallback === 'object') this.#values.set(name, fallback.derive?.(this));
    return this.value(option) as Value;
  }

  addFault({ name }: Option<unknown>, problem: string): void {
    const variable = this.#words.optionTexts.get(name)?.variable;
    this.#faults.push(`--${name}${variable === undefined ? '' : ` (from ${variable})`}: ${problem}`);
  }

  /** Adds a fault with this problem for each of the options that is given. */
  addFaults(options: readonly Option<unknown>[], problem: string): void {
    for (const option of options) if (this.isGiven(option)) this.addFault(option, problem);
  }

  addOtherFault(words: string): void {
    this.#faults.push(words);
  }

  readOption(option: Option<unknown>): void {
    const { name, fallback, isRequired, parse } = option;
    const text = this.#words.optionTexts.get(name)?.text ?? (typeof fallback === 'string' ? fallback : undefined);
    if (text === undefined) {
      if (isRequired) this.addFault(option, `is required; give it, or set ${environmentVariable(name)}`);
      return;
    }
    try {
      this.#values.set(name, parse(text));
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      this.addFault(option, error.message);
    }
  }

  throwFaults(): void {
    if (this.#faults.length === 0) return;
    throw new OptionFaults(this.#faults, `\`switchyard ${this.#words.command} --help\` lists the options.`);
  }
}
