// Tables as text, columns aligned: the same lines are a Markdown table and readable on a terminal.

export interface Column<Row> {
  readonly title: string;
  readonly align: 'left' | 'right';
  readonly cell: (row: Row) => string;
}

export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const rendered = columns.map(({ title, align, cell }) => {
    const cells = [title, ...rows.map(cell)];
    const width = Math.max(3, ...cells.map((text) => text.length));
    const [head = '', ...body] = cells.map((text) => (align === 'left' ? text.padEnd(width) : text.padStart(width)));
    const rule = align === 'left' ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`;
    return [head, rule, ...body];
  });
  const lineCount = rows.length + 2;
  return Array.from(
    { length: lineCount },
    (_, line) => `| ${rendered.map((column) => column[line] ?? '').join(' | ')} |`,
  ).join('\n');
}
