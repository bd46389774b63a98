// A table whose head stays in sight, and whose rows become cards in narrow windows, each value with the name of its column. The roles are
// written out because some browsers drop them with the layout of a table.
import { Component, type ComponentChildren, type JSX } from 'preact';

export interface Column {
  readonly name: string;
  readonly isNumber?: boolean;
}

export interface Row {
  readonly key: string;
  /** One for each column; the first is the head of the row. */
  readonly cells: readonly ComponentChildren[];
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

export function Table({ label, columns, rows }: TableProps): JSX.Element {
  return (
    <div class="table-frame" role="region" aria-label={label}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, isNumber }) => (
              <th key={name} role="columnheader" scope="col" class={isNumber === true ? 'number' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <TableRow key={row.key} row={row} columns={columns} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: Row;
  readonly columns: readonly Column[];
}

/** Is drawn again only with another `Row`: a search would otherwise draw hundreds of them for each key. */
class TableRow extends Component<RowProps> {
  override shouldComponentUpdate({ row }: RowProps): boolean {
    return row !== this.props.row;
  }

  override render({ row: { cells }, columns }: RowProps): JSX.Element {
    return (
      <tr role="row">
        {columns.map(({ name, isNumber }, index) =>
          index === 0 ? (
            <th key={name} role="rowheader" scope="row">
              {cells[index]}
            </th>
          ) : (
            <td key={name} role="cell" data-label={name} class={isNumber === true ? 'number' : undefined}>
              {cells[index]}
            </td>
          ),
        )}
      </tr>
    );
  }
}
