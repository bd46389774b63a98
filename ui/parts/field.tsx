// A labelled text field of a form.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  /** What a label that is repeated on a page is about: only read out, as the place shows it. */
  readonly about?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly help?: ComponentChildren;
  readonly type?: 'text' | 'url' | 'search';
  readonly isRequired?: boolean;
  readonly placeholder?: string;
  readonly rows?: number;
  /** What is wrong with the value; `''` when nothing is known to be. */
  readonly fault?: string;
}

export function Field({
  label,
  about,
  value,
  onChange,
  help,
  type = 'text',
  isRequired,
  placeholder,
  rows,
  fault = '',
}: FieldProps): JSX.Element {
  const id = useId();
  useEffect(() => {
    if (fault !== '') document.getElementById(id)?.focus();
  }, [fault]);
  const shared = {
    id,
    value,
    required: isRequired === true,
    placeholder,
    spellcheck: false,
    autocomplete: 'off',
    'aria-invalid': fault !== '',
    ...((help !== undefined || fault !== '') && { 'aria-describedby': `${id}-help` }),
  } as const;
  return (
    <div class="field">
      <label for={id}>
        {label}
        {about !== undefined && <span class="unseen"> {about}</span>}
      </label>
      {rows === undefined ? (
        <input {...shared} type={type} onInput={(event) => onChange(event.currentTarget.value)} />
      ) : (
        <textarea {...shared} rows={rows} onInput={(event) => onChange(event.currentTarget.value)} />
      )}
      {(help !== undefined || fault !== '') && (
        <p id={`${id}-help`} class={fault === '' ? 'note' : 'note bad'} role={fault === '' ? undefined : 'alert'}>
          {fault === '' ? help : fault}
        </p>
      )}
    </div>
  );
}
