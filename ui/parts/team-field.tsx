// The team that shares ownership with the maker.
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { Caller } from '../api/types.js';

interface TeamFieldProps {
  readonly caller: Caller | undefined;
  /** `undefined`: not set by the user. */
  readonly value: string | undefined;
  /** The current team; `undefined` for a new record. */
  readonly known: string | undefined;
  readonly isNew: boolean;
  readonly onChange: (team: string) => void;
}

export function TeamField({ caller, value, known, isNew, onChange }: TeamFieldProps): JSX.Element {
  const id = useId();
  const teams = caller?.teams ?? [];
  const given = isNew && teams.length === 1 ? teams[0] : known;
  return (
    <div class="field">
      <label for={id}>Team</label>
      <input
        id={id}
        list={`${id}-teams`}
        value={value ?? given ?? ''}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={`${id}-help`}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id={`${id}-teams`}>
        {teams.map((team) => (
          <option key={team} value={team} />
        ))}
      </datalist>
      <p id={`${id}-help`} class="note">
        Optional: editors of this team may change it, too
        {teams.length > 0 && `; you are in ${teams.slice(0, 10).join(', ')}`}
      </p>
    </div>
  );
}
