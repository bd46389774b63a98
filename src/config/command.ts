// What a command of the program is on the command line, as data: of this its help, its documentation and its completion are made.
import type { OptionTable } from './option.js';

export interface CommandDeclaration {
  readonly summary: string;
  readonly options: OptionTable;
  /**
   * The words that must follow, in order. The last one may be repeated when its name ends with `...`, and may be missing when it
   * ends with `?`.
   */
  readonly operands?: readonly string[];
}

/** By name. A name of two words is a command of a group. */
export type CommandDeclarations<Name extends string = string> = Readonly<Record<Name, CommandDeclaration>>;

/** Of a line without a command's name. */
export const DEFAULT_COMMAND = 'dataplane';

/** Of the commands with names of two words: the first one, and what they are about. */
export const groups: Readonly<Record<string, string>> = {
  servers: 'the registry of servers of a running control plane',
  compositions: 'the compositions of a running control plane',
  config: 'the user configs in the store',
  store: 'the embedded store as a whole',
  secrets: "the secrets in the store that backends' `auth` refers to",
};

export interface CommandWords<Name extends string = string> {
  readonly command: Name;
  /** The words that are no options: as many as the command takes. */
  readonly operands: readonly string[];
  /** Option name → text, as given. */
  readonly given: ReadonlyMap<string, string>;
  /** Unknown options, missing values, arguments too many or too few. */
  readonly faults: readonly string[];
}

/** As `--help` and the documentation write it. */
export function writtenOperand(operand: string): string {
  if (operand.endsWith('?')) return `[${operand.slice(0, -1)}]`;
  return operand.endsWith('...') ? `<${operand.slice(0, -3)}>...` : `<${operand}>`;
}
