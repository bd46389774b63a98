// A command as declared on the command line, as data: its help, its documentation and its completion are made from this.
import type { OptionTable } from './option.js';

export interface CommandDeclaration {
  readonly summary: string;
  readonly options: OptionTable;
  /**
   * The words that must follow, in order. A last one whose name ends with `...` may be repeated; one whose name ends with `?` is optional.
   */
  readonly operands?: readonly string[];
}

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

export interface CommandWords<Name extends string = string> {
  readonly command: Name;
  /** The words that are not options: as many as the command takes. */
  readonly operands: readonly string[];
  /** Option name → value as text. */
  readonly given: ReadonlyMap<string, string>;
  /** Unknown options, missing values, too many or too few arguments. */
  readonly faults: readonly string[];
}

/** As shown in `--help` and the documentation. */
export function writtenOperand(operand: string): string {
  if (operand.endsWith('?')) return `[${operand.slice(0, -1)}]`;
  return operand.endsWith('...') ? `<${operand.slice(0, -3)}>...` : `<${operand}>`;
}
