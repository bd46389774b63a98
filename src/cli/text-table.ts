// Tables as text: columns as wide as their widest cell, two spaces between them. What comes from servers is printed on
// somebody's terminal, so nothing in it may be a command to that.

/** @param columnsMax of the terminal; what is longer is cut, `undefined` for no terminal. */
export function textTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columnsMax: number | undefined,
): string {
  const cells = [head, ...rows].map((row) => row.map(printable));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? '')].length)));
  const lines = cells.map((row) => row.map((cell, column) => padded(cell, widths[column] ?? 0)).join('  '));
  return lines.map((line) => `${cut(line.trimEnd(), columnsMax)}\n`).join('');
}

/** Lines of a name and a value each. */
export function textLines(entries: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd() + '\n').join('');
}

/** One line without control characters, whatever the text was. */
export function printable(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Surrogate}]/gu, '\u{FFFD}');
}

/** By characters: `padEnd` counts UTF-16 units. */
function padded(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - [...cell].length));
}

function cut(line: string, columnsMax: number | undefined): string {
  const characters = [...line];
  if (columnsMax === undefined || characters.length <= columnsMax) return line;
  return `${characters.slice(0, columnsMax - 1).join('')}…`;
}
