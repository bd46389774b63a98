// What options are made of. An option is one row: how it is written, what it means, how its text becomes a value, and its default. Options
// are members of schemas, and a schema is the form that all code after start-up sees: its values have the same members. The command line,
// the environment, `--help`, completion and docs/options.md are derived from the rows.

export interface Option<Value> {
  readonly name: string;
  /** Shown after the name, for example `<host:port>`. In square brackets: the name may stand alone, which means `true`. */
  readonly placeholder: string;
  readonly meaning: string;
  /** Throws InvalidValue. */
  readonly parse: (text: string) => Value;
  /** The default: a text to parse, or how it is described, and how it follows from other options. */
  readonly fallback: string | Derived<Value> | undefined;
  /** Omitting the option is a fault. */
  readonly isRequired: boolean;
}

interface Derived<Value> {
  readonly said: string;
  /** Without it, the option has no value. */
  readonly from?: (reader: OptionReader) => Value;
}

/** What the rules of one option can look up about the others while all are being read. */
export interface OptionReader {
  /** The token for commands, which the environment gives; `''` when there is none. */
  readonly token: string;
  isGiven(option: Option<unknown>): boolean;
  /** `undefined` when the option has no value, or its value was a fault. */
  value<Value>(option: Option<Value>): Value | undefined;
  /** Also a value that follows from other options. Only when there is no fault. */
  known<Value>(option: Option<Value>): Value;
  /** Adds a fault of one option, or of one in relation to others. */
  fault(option: Option<unknown>, problem: string): void;
  /** Adds this fault of each of the options that is given. */
  faultGiven(options: readonly Option<unknown>[], problem: string): void;
  /** Adds a fault of something else than an option. */
  faultBesides(words: string): void;
}

/** Options whose values belong together. `check` adds faults that involve several options. */
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
  fallback?: { readonly said: string },
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
  // Where it is missing, nothing is made of the values.
  return { ...(optional as Option<Value>), isRequired: true };
}

/** By default, a section's value is an object of its values. */
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

/** All options of a schema, in order. */
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
  return typeof fallback === 'string' ? fallback : (fallback?.said ?? 'none');
}

export function isValueOptional({ placeholder }: Option<unknown>): boolean {
  return placeholder.startsWith('[');
}

// A command as declared on the command line, as data: its help, its documentation and its completion are made from this.

export interface CommandDeclaration {
  readonly summary: string;
  readonly options: Schema;
  /**
   * The words that must follow, in order. A last one whose name ends with `...` may be repeated; one whose name ends with `?` is optional.
   */
  readonly operands?: readonly string[];
  /** Adds faults of operands, and of options in relation to them. */
  readonly check?: (reader: OptionReader, operands: readonly string[]) => void;
}

/** What a command is asked: the values of its options, and its operands by their names. */
export type Request<Options, Names extends readonly string[]> = ValuesOf<Options> & {
  readonly [
    Name in Names[number] as Name extends `${infer Bare}...` | `${infer Bare}?` ? Bare : Name
  ]: Name extends `${string}...` ? readonly string[] : Name extends `${string}?` ? string | undefined : string;
};

/** By name. A name of two words is a command within a group. */
export type CommandDeclarations<Name extends string = string> = Readonly<Record<Name, CommandDeclaration>>;

/** For a command line that names no command. */
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
  /** The environment variable that it is from, if it is not from the command line. */
  readonly variable?: string;
}

export interface CommandWords<Name extends string = string> {
  readonly command: Name;
  /** The words that are not options: as many as the command takes. */
  readonly operands: readonly string[];
  /** By the names of options, their values as texts. */
  readonly given: ReadonlyMap<string, SourcedText>;
  /** Of the environment; `''` when there is none. */
  readonly token: string;
  /** Unknown options and variables, missing values, too many or too few arguments. */
  readonly faults: readonly string[];
}

/** As shown in `--help` and the documentation. */
export function operandAsWritten(operand: string): string {
  if (operand.endsWith('?')) return `[${operand.slice(0, -1)}]`;
  return operand.endsWith('...') ? `<${operand.slice(0, -3)}>...` : `<${operand}>`;
}
