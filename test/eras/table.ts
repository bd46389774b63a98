// The matrix as the page shows it: a row for each pair of client and backend, a column for each thing to do; what does not work is
// told below.
import { FEATURES, type Pair } from './matrix.js';

const START = '<!-- matrix: npm run eras writes what is between here -->';
const END = '<!-- and here -->';
export const GOOD = 'ok';

export function isAllGood(pairs: readonly Pair[]): boolean {
  return pairs.every(({ cells }) => FEATURES.every((feature) => cells[feature] === GOOD));
}

export function tableOf(pairs: readonly Pair[]): string {
  const reasons: string[] = [];
  const rows = pairs.map(({ client, backend, version, cells }) => {
    const columns = FEATURES.map((feature) => {
      const cell = cells[feature];
      if (cell === GOOD) return GOOD;
      const known = reasons.indexOf(cell);
      return `no (${known === -1 ? reasons.push(cell) : known + 1})`;
    });
    return [client, backend, version, ...columns];
  });
  const table = [['client', 'backend', 'version of the client', ...FEATURES], ...rows];
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`);
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  const notes = reasons.map((reason, index) => `${index + 1}. ${reason}`);
  return [lines.join('\n'), ...(notes.length > 0 ? [notes.join('\n')] : [])].join('\n\n');
}

/** The page with this table in place of its own. */
export function withTable(page: string, pairs: readonly Pair[]): string {
  const [before, rest] = page.split(START);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error('docs/eras.md has no place for the table');
  return `${before}${START}\n\n${tableOf(pairs)}\n\n${END}${after}`;
}

/** The pairs that the page's table has, with what it says of each cell. */
export function pairsOn(page: string): readonly Pair[] {
  const rows = page.split(START)[1]?.split(END)[0]?.split('\n') ?? [];
  const cells = rows.filter((row) => row.startsWith('| ')).map((row) => row.split('|').slice(1, -1));
  const [[, , , ...features] = [], , ...pairs] = cells.map((row) => row.map((cell) => cell.trim()));
  return pairs.map(([client, backend, version = '', ...columns]) => ({
    client: client as Pair['client'],
    backend: backend as Pair['backend'],
    version,
    cells: Object.fromEntries(columns.map((cell, index) => [features[index], cell])) as Pair['cells'],
  }));
}
