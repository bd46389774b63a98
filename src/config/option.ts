// Types of options and commands. An option is one row: how it is written, what it means, how its text becomes a value, and its default.
// Options are members of schemas; their values, which all code after start-up sees, are members of the same names. The command line, the
// environment, `--help`, completion and docs/options.md are derived from the rows.

export interface Option<Value> {
  readonly name: string;
  /** Shown after the name, for example `<host:port>`. In square brackets: the value may be left out, which means `true`. */
  readonly placeholder: string;
  readonly meaning: string;
  /** Throws InvalidValue. */
  readonly parse: (text: string) => Value;
  /** The default: a text to parse, or how it follows from other options. `undefined`: none. */
  readonly fallback: string | Derived<Value> | undefined;
  /** Omitting the option is a fault. */
  readonly isRequired: boolean;
  /** Variables that other programs obey too; the first that is set is read where the program's own variable is not. */
  readonly commonVariables?: readonly string[];
}

interface Derived<Value> {
  /** The default in words, for help and documentation. */
  readonly text: string;
  /** Absent: by default the option has no value. */
  readonly from?: (reader: OptionReader) => Value;
}

/** What the rules of one option can look up about the others while all are being read. */
export interface OptionReader {
  /** The token from the environment, for commands; `''` if there is none. */
  readonly token: string;
  isGiven(option: Option<unknown>): boolean;
  /** Whether the text is from the command line, which every user of the machine can read. */
  isOnCommandLine(option: Option<unknown>): boolean;
  /** The given value, or the default if that is a text; `undefined` if there is none, or it was a fault. */
  value<Value>(option: Option<Value>): Value | undefined;
  /** The value, or the default that follows from other options. Call only when there is no fault. */
  resolve<Value>(option: Option<Value>): Value;
  /** Adds a fault of one option, alone or in relation to others. */
  fault(option: Option<unknown>, problem: string): void;
  /** Adds this fault to each of the options that is given. */
  faultGiven(options: readonly Option<unknown>[], problem: string): void;
  /** Adds a fault that is not about an option. */
  otherFault(words: string): void;
}

/** Options whose values belong together. `check` adds faults that involve several options; `arrange` makes one value of theirs. */
export interface Section<Value> {
  readonly options: Schema;
  check(reader: OptionReader): void;
  arrange(values: object, reader: OptionReader): Value;
}

export interface Schema {
  readonly [member: string]: Option<unknown> | Section<unknown> | Schema;
}

export type ValueOf<Node> =
  Node extends Option<infer Value> ? Value : Node extends Section<infer Value> ? Value : ValuesOf<Node>;

export type ValuesOf<Members> = { readonly [Member in keyof Members]: ValueOf<Members[Member]> };

/** @param usage name and placeholder, for example `address <host:port>`. */
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
  fallback: Required<Derived<Other>>,
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
  fallback?: string | Derived<Value>,
): Option<Value> {
  const [name = '', placeholder = ''] = usage.split(/ (.*)/);
  return { name, placeholder, meaning, parse, fallback, isRequired: false };
}

export function required<Value>(optional: Option<Value | undefined>): Option<Value> {
  // The cast is safe: if the option is missing, that is a fault, and no value is used.
  return { ...(optional as Option<Value>), isRequired: true };
}

/** Has the option read from these variables, too. */
export function alsoFrom<Value>(option: Option<Value>, ...commonVariables: string[]): Option<Value> {
  return { ...option, commonVariables };
}

/** Makes a section. By default, its value is an object with the values of its options. */
export function section<Members extends Schema, Value = ValuesOf<Members>>(
  options: Members,
  rules: {
    readonly check?: (reader: OptionReader) => void;
    readonly arrange?: (values: ValuesOf<Members>, reader: OptionReader) => Value;
  },
): Section<Value> {
  const { check = () => undefined, arrange = (values) => values } = rules;
  return { options, check, arrange: arrange as Section<Value>['arrange'] };
}

export function isOption(node: Schema[string]): node is Option<unknown> {
  return typeof (node as Option<unknown>).parse === 'function';
}

export function isSection(node: Schema[string]): node is Section<unknown> {
  return typeof (node as Section<unknown>).arrange === 'function';
}

/** All options of a schema, including those of nested schemas, in order. */
export function optionsOf(schema: Schema): readonly Option<unknown>[] {
  return Object.values(schema).flatMap((node) => {
    return isOption(node) ? [node] : optionsOf(isSection(node) ? node.options : node);
  });
}

/** The environment variable that is read when the option is not on the command line. */
export function environmentVariable(name: string): string {
  return `SWITCHYARD_${name.toUpperCase().replaceAll('-', '_')}`;
}

/** The default in a form for people. */
export function fallbackText({ fallback, isRequired }: Option<unknown>): string {
  if (isRequired) return 'required';
  return typeof fallback === 'string' ? fallback : (fallback?.text ?? 'none');
}

export function isValueOptional({ placeholder }: Option<unknown>): boolean {
  return placeholder.startsWith('[');
}

// Commands as data, from which their parsing, help, documentation and completion are made.

export interface CommandDeclaration {
  readonly summary: string;
  readonly options: Schema;
  /**
   * Names of the words that must follow, in order. A name that ends with `?` is optional; the last may end with `...`: one word or more.
   */
  readonly operands?: readonly string[];
  /** Adds faults of operands, and of options in relation to them. */
  readonly check?: (reader: OptionReader, operands: readonly string[]) => void;
}

/** What a command has to do: the values of its options, and its operands by their names. */
export type Request<Options, Names extends readonly string[]> = ValuesOf<Options> & {
  readonly [
    Name in Names[number] as Name extends `${infer Bare}...` | `${infer Bare}?` ? Bare : Name
  ]: Name extends `${string}...` ? readonly string[] : Name extends `${string}?` ? string | undefined : string;
};

/** Commands by name. A name of two words is a command within a group. */
export type CommandDeclarations<Name extends string = string> = Readonly<Record<Name, CommandDeclaration>>;

/** The command of a command line that names none. */
export const DEFAULT_COMMAND = 'dataplane';

/** Groups of commands with two-word names: the first word, and what the group is about. */
export const groups: Readonly<Record<string, string>> = {
  servers: 'the registry of servers of a running control plane',
  compositions: 'the compositions of a running control plane',
  config: 'the user configs in the store',
  store: 'the embedded store as a whole',
  secrets: "the secrets in the store that backends' `auth` refers to",
};

export interface SourcedText {
  readonly text: string;
  /** The environment variable that the text is from; absent if it is from the command line. */
  readonly variable?: string;
}

export interface CommandWords<Name extends string = string> {
  readonly command: Name;
  /** The words that are not options: as many as the command takes. */
  readonly operands: readonly string[];
  /** Values of options as texts, by the options' names. */
  readonly given: ReadonlyMap<string, SourcedText>;
  /** The token from the environment; `''` if there is none. */
  readonly token: string;
  /** Unknown options and variables, missing values, too many or too few arguments. */
  readonly faults: readonly string[];
}

/** The operand in the form that `--help` and the documentation show. */
export function operandAsWritten(operand: string): string {
  if (operand.endsWith('?')) return `[${operand.slice(0, -1)}]`;
  return operand.endsWith('...') ? `<${operand.slice(0, -3)}>...` : `<${operand}>`;
}
