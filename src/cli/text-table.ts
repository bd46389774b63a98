// Tables as text: columns as wide as their widest cell, separated by two spaces. Texts from servers are printed on somebody's terminal, so
// nothing in them may act as a control sequence.

/**
 * @param columnsMax of the terminal, where longer lines are cut; `undefined` when the output is not a terminal.
 * @param widest a cell for each column that is at least as wide as those in other parts of the table, which are printed on their own.
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
  const lines = cells.map((row) => row.map((cell, column) => padded(cell, widths[column] ?? 0)).join('  '));
  return lines.map((line) => `${cut(line.trimEnd(), columnsMax)}\n`).join('');
}

/** One line per entry, with a name and a value. */
export function textLines(entries: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd() + '\n').join('');
}

/** Turns any text into one line without control characters. */
export function printable(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Surrogate}]/gu, '\u{FFFD}');
}

/** Counts characters, whereas `padEnd` counts UTF-16 units. */
function padded(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - [...cell].length));
}

function cut(line: string, columnsMax: number | undefined): string {
  const characters = [...line];
  if (columnsMax === undefined || characters.length <= columnsMax) return line;
  return `${characters.slice(0, columnsMax - 1).join('')}…`;
}
