// A table whose head stays in sight, and whose rows become cards in narrow windows, each value with the name of its column. The roles are
// written out because some browsers drop them with the layout of a table.
import { Component, type ComponentChildren, type JSX } from 'preact';
import { Icon } from './icon.js';
import { SelectAllBox, SelectBox, type Selection } from './selection.js';

export interface Column {
  readonly name: string;
  readonly isNumber?: boolean;
  /** The rows can be sorted by it. */
  readonly isSorted?: boolean;
  /** In a card it is beside the head of the row, without its name. */
  readonly isBeside?: boolean;
  /** Left out where there is little room, but not in cards. */
  readonly isExtra?: boolean;
  /** No row has anything in it. */
  readonly isEmpty?: boolean;
}

export interface Row {
  readonly key: string;
  /** What the row is about, as the name of the box that selects it. */
  readonly name?: string;
  /** One for each column; the first is the head of the row. */
  readonly cells: readonly ComponentChildren[];
}

export interface Order {
  readonly column: string;
  readonly isDown: boolean;
}

interface TableProps {
  readonly label: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly order?: Order;
  readonly onOrder?: (order: Order) => void;
  /** Given where rows can be chosen. */
  readonly selection?: Selection | undefined;
  /** The rows that the box in the head chooses: also those that are not shown yet. */
  readonly selectable?: readonly string[];
}

export function Table({ label, columns, rows, order, onOrder, selection, selectable = [] }: TableProps): JSX.Element {
  return (
    <div class="table-frame" role="region" aria-label={label}>
      <table role="table">
        <thead role="rowgroup">
          <tr role="row">
            {selection !== undefined && (
              <td role="cell" class="select">
                <SelectAllBox of={selection} ids={selectable} label={`Select all ${selectable.length}`} />
              </td>
            )}
            {columns.map(
              (column) => column.isEmpty !== true && <ColumnHead key={column.name} {...{ column, order, onOrder }} />,
            )}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <TableRow key={row.key} row={row} columns={columns} selection={selection} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface ColumnHeadProps {
  readonly column: Column;
  readonly order: Order | undefined;
  readonly onOrder: ((order: Order) => void) | undefined;
}

function ColumnHead({ column, order, onOrder }: ColumnHeadProps): JSX.Element {
  const { name, isSorted } = column;
  const isOrdered = order?.column === name;
  const isDown = isOrdered && order.isDown;
  return (
    <th
      role="columnheader"
      scope="col"
      class={classOf(column)}
      aria-sort={isOrdered ? (isDown ? 'descending' : 'ascending') : undefined}
    >
      {isSorted === true ? (
        <button type="button" class="sort" onClick={() => onOrder?.({ column: name, isDown: isOrdered && !isDown })}>
          {name}
          <Icon name={isOrdered ? 'up' : 'sort'} />
        </button>
      ) : (
        name
      )}
    </th>
  );
}

function classOf({ isNumber, isBeside, isExtra }: Column): string | undefined {
  return isNumber === true ? 'number' : isBeside === true ? 'beside' : isExtra === true ? 'extra' : undefined;
}

interface RowProps {
  readonly row: Row;
  readonly columns: readonly Column[];
  readonly selection?: Selection | undefined;
}

/** Is drawn again only with another `Row`: a search would otherwise draw hundreds of them for each key. */
class TableRow extends Component<RowProps> {
  override shouldComponentUpdate({ row, columns, selection }: RowProps): boolean {
    return row !== this.props.row || columns !== this.props.columns || selection !== this.props.selection;
  }

  override render({ row: { key, name = key, cells }, columns, selection }: RowProps): JSX.Element {
    return (
      <tr role="row">
        {selection !== undefined && (
          <td role="cell" class="select">
            <SelectBox of={selection} id={key} label={`Select ${name}`} />
          </td>
        )}
        {columns.map((column, index) =>
          column.isEmpty === true ? undefined : index === 0 ? (
            <th key={column.name} role="rowheader" scope="row">
              {cells[index]}
            </th>
          ) : (
            <td key={column.name} role="cell" data-label={column.name} class={classOf(column)}>
              {cells[index]}
            </td>
          ),
        )}
      </tr>
    );
  }
}
