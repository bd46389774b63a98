// The matrices as the page shows them: a row for each pair of client and backend, and a column for each feature; the reasons for
// failures stand below.
import { FEATURES, GOOD, type Pair } from './matrix.js';

/** A table's place on the page. */
export interface Place {
  readonly start: string;
  readonly end: string;
}

export const OWN_SDKS: Place = {
  start: '<!-- matrix: npm run eras writes what is between here -->',
  end: '<!-- and here -->',
};
export const OTHER_SDKS: Place = {
  start: '<!-- matrix of other languages: npm run matrix writes what is between here -->',
  end: '<!-- and here, of other languages -->',
};

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

/** The page with this table in place of its own. @param head text before the table. */
export function withTable(page: string, { start, end }: Place, pairs: readonly Pair[], head = ''): string {
  const [before, rest] = page.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error('docs/eras.md has no place for the table');
  return `${before}${start}\n\n${head}${tableOf(pairs)}\n\n${end}${after}`;
}

/** The pairs in the page's table, with its statement on each cell. */
export function pairsOn(page: string, place: Place): readonly Pair[] {
  const rows = partOf(page, place).filter((row) => row.startsWith('| '));
  const cells = rows.map((row) => row.split('|').slice(1, -1));
  const [[, , , ...features] = [], , ...pairs] = cells.map((row) => row.map((cell) => cell.trim()));
  return pairs.map(([client = '', backend = '', version = '', ...columns]) => ({
    client,
    backend,
    version,
    cells: Object.fromEntries(columns.map((cell, index) => [features[index], cell])) as Pair['cells'],
  }));
}

/** The numbers of the reasons below the page's table. */
export function reasonsOn(page: string, place: Place): readonly string[] {
  return partOf(page, place).flatMap((row) => /^(\d+)\. ./.exec(row)?.[1] ?? []);
}

function partOf(page: string, { start, end }: Place): readonly string[] {
  return page.split(start)[1]?.split(end)[0]?.split('\n') ?? [];
}
