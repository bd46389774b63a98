// Results and faults of commands, and how they are printed: as a table, as lines, or as JSON. Control characters are replaced, because
// text from servers must not control the terminal.
import type * as z from 'zod';
import { exitStatus, type ExitStatus } from '../shared/index.js';

/**
 * A table as text.
 * @param columnsMax the terminal's width, to which lines are cut; `undefined` if the output is not a terminal.
 * @param widest for each column, the widest cell of the table's other rows, which are printed by other calls.
 */
export function textTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columnsMax: number | undefined,
  widest: readonly string[] = [],
): string {
  const cells = [head, ...rows].map((row) => row.map(printable));
  const measured = [...cells, widest.map(printable)];
  const widths = head.map((_, column) => Math.max(...measured.map((row) => [...(row[column] ?? '')].length)));
  const lines = cells.map((row) => row.map((cell, column) => padCell(cell, widths[column] ?? 0)).join('  '));
  return lines.map((line) => `${cutLine(line.trimEnd(), columnsMax)}\n`).join('');
}

/** One line for each entry that has a value. */
export function textLines(entries: readonly (readonly [name: string, value: string | undefined])[]): string {
  const known = entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd() + '\n').join('');
}

/** The text as one line without control characters. */
export function printable(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Surrogate}]/gu, '\u{FFFD}');
}

/** The count with its noun. @param thing a noun that takes an s in the plural. */
export function countInWords(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** Pads a cell to a width in characters: `padEnd` would count UTF-16 units. */
function padCell(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - [...cell].length));
}

function cutLine(line: string, columnsMax: number | undefined): string {
  const characters = [...line];
  if (columnsMax === undefined || characters.length <= columnsMax) return line;
  return `${characters.slice(0, columnsMax - 1).join('')}…`;
}

export type CliExitStatus = Exclude<ExitStatus, typeof exitStatus.software | typeof exitStatus.cannotCreate>;

/** A failure that ends a command. The message says in one line what failed, and what to do about it. */
export class CliFault extends Error {
  override readonly name = 'CliFault';
  readonly exitStatus: CliExitStatus;

  constructor(exitStatus: CliExitStatus, message: string, cause?: unknown) {
    super(message, { cause });
    this.exitStatus = exitStatus;
  }
}

export interface CommandResult {
  /** What is printed with `--json`; `undefined` for nothing. */
  readonly answer: unknown;
  /** What is printed without `--json`. A Buffer is written unchanged. */
  readonly text: string | Buffer;
  readonly exitStatus?: number;
}

/** Does a command's work, and prints its result or fault. @returns the program's exit status, once everything is printed. */
export async function printResult(isJson: boolean, work: () => Promise<CommandResult>): Promise<number> {
  try {
    const { answer, text, exitStatus: status = exitStatus.ok } = await work();
    await print(process.stdout, isJson ? jsonText(answer) : text);
    return status;
  } catch (error) {
    if (!(error instanceof CliFault)) throw error;
    await print(process.stderr, `switchyard: ${printable(error.message)}\n`);
    return error.exitStatus;
  }
}

export function jsonText(answer: unknown): string {
  return answer === undefined ? '' : `${escapeUnprintableJson(JSON.stringify(answer, null, 2))}\n`;
}

/** Escapes characters that a terminal interprets or that change the direction of its text; in JSON only strings can contain them. */
export function escapeUnprintableJson(text: string): string {
  return text.replaceAll(/(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}

/** Prints the text. Resolves only when it is written, so that the program may end then. */
export function print(stream: NodeJS.WriteStream, text: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Checks a response against `shape`, and returns it with the shape's type. Throws a CliFault if it has another shape. */
export function parseResponse<Shape extends z.ZodType>(
  program: 'control plane' | 'dataplane',
  shape: Shape,
  answer: unknown,
): z.infer<Shape> {
  const parsed = shape.safeParse(answer);
  if (parsed.success) return parsed.data;
  const words = `the ${program}'s response is not understood; it may be another version of Switchyard`;
  throw new CliFault(exitStatus.unavailable, words, parsed.error);
}

const { notAllowed, notFound, tryAgain } = exitStatus;
/** Exit statuses by HTTP status; `exitStatusOf` gives those of other statuses. 412: another writer has changed the resource first. */
const EXIT_STATUSES: Readonly<Record<number, CliExitStatus>> = {
  ...{ 401: notAllowed, 403: notAllowed, 404: notFound },
  ...{ 412: tryAgain, 429: tryAgain, 503: tryAgain },
};

/** The exit status for a refusal with this HTTP status. */
export function exitStatusOf(status: number): CliExitStatus {
  return EXIT_STATUSES[status] ?? (status >= 500 ? exitStatus.unavailable : exitStatus.refused);
}
