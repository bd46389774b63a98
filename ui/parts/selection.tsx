// Rows that are chosen by boxes. Only the boxes are drawn again when one is chosen, not the rows.
import type { Signal } from '@preact/signals';
import type { JSX } from 'preact';

/** The keys of the chosen rows. */
export type Selection = Signal<ReadonlySet<string>>;

export function SelectBox({
  of,
  id,
  label,
}: {
  readonly of: Selection;
  readonly id: string;
  readonly label: string;
}): JSX.Element {
  return (
    <input
      type="checkbox"
      aria-label={label}
      checked={of.value.has(id)}
      onChange={({ currentTarget: { checked } }) => {
        const next = new Set(of.value);
        if (checked) next.add(id);
        else next.delete(id);
        of.value = next;
      }}
    />
  );
}

/** Chooses all of the rows, or none; stands in between while some are chosen. */
export function SelectAllBox({
  of,
  ids,
  label,
}: {
  readonly of: Selection;
  readonly ids: readonly string[];
  readonly label: string;
}): JSX.Element {
  const count = ids.filter((id) => of.value.has(id)).length;
  return (
    <input
      type="checkbox"
      aria-label={label}
      checked={count > 0 && count === ids.length}
      indeterminate={count > 0 && count < ids.length}
      onChange={({ currentTarget: { checked } }) => (of.value = new Set(checked ? ids : []))}
    />
  );
}
