// A command as declared on the command line, as data: its help, its documentation and its completion are made from this.
import type { Schema, ValuesOf, OptionReader } from './option.js';

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
