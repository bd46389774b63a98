// The fields of a form built from a JSON Schema. Texts of the schema are shown as text, never as markup.
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { blankEntry, type Entry, type EntryGroup, type FieldFaults } from '../model/form-values.js';
import type { FormField } from '../model/schema-form.js';
import { plainText } from '../model/plain-text.js';
import { LongSaid, Said } from './said.js';

interface SchemaFormProps {
  readonly fields: readonly FormField[];
  readonly entries: EntryGroup;
  readonly faults: FieldFaults;
  readonly path?: string;
  readonly onChange: (entries: EntryGroup) => void;
}

export function SchemaForm({ fields, entries, faults, path = '', onChange }: SchemaFormProps): JSX.Element {
  return (
    <>
      {fields.map((field) => (
        <SchemaField
          key={field.name}
          field={field}
          entry={entries[field.name]}
          faults={faults}
          path={path === '' ? field.name : `${path}.${field.name}`}
          onChange={(entry) => onChange({ ...entries, [field.name]: entry })}
        />
      ))}
    </>
  );
}

interface FieldProps {
  readonly field: FormField;
  readonly entry: Entry;
  readonly faults: FieldFaults;
  readonly path: string;
  readonly onChange: (entry: Entry) => void;
}

function SchemaField(props: FieldProps): JSX.Element {
  const { field, entry, faults, path, onChange } = props;
  const id = useId();
  const name = plainText(field.label, 80).text || path;
  if (field.kind === 'group') {
    return (
      <fieldset>
        <legend>{name}</legend>
        <LongSaid text={field.description} max={200} />
        <SchemaForm
          {...{ fields: field.fields, faults, path, onChange }}
          entries={typeof entry === 'object' && !Array.isArray(entry) ? (entry as EntryGroup) : {}}
        />
      </fieldset>
    );
  }
  if (field.kind === 'list') return <ListField {...props} name={name} />;
  const fault = faults.get(path);
  const help = `${id}-help`;
  return (
    <div class="field">
      <label for={id}>
        {name} {field.isRequired ? <span class="note">required</span> : ''}
      </label>
      <Input {...{ id, field, entry, onChange }} help={help} isFaulty={fault !== undefined} />
      <div id={help} class="note">
        {fault !== undefined && <p class="bad">This {fault}</p>}
        <LongSaid text={field.description} max={200} />
        {field.hint !== '' && <Said text={field.hint} />}
        {field.kind === 'json' && ' as JSON'}
      </div>
    </div>
  );
}

interface InputProps extends Pick<FieldProps, 'field' | 'entry' | 'onChange'> {
  readonly id: string;
  readonly help: string;
  readonly isFaulty: boolean;
}

function Input({ id, help, field, entry, isFaulty, onChange }: InputProps): JSX.Element {
  const shared = { id, 'aria-describedby': help, 'aria-invalid': isFaulty, 'aria-required': field.isRequired } as const;
  const text = typeof entry === 'string' ? entry : '';
  if (field.kind === 'boolean' || field.kind === 'choice') {
    const isBoolean = field.kind === 'boolean';
    const choices = isBoolean ? ['true', 'false'] : field.choices;
    return (
      <select
        {...shared}
        value={isBoolean ? (entry === undefined ? '' : String(entry === true)) : text}
        onChange={({ currentTarget: { value } }) =>
          onChange(value === '' ? undefined : isBoolean ? value === 'true' : value)
        }
      >
        <option value="">not said</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {plainText(choice.replace(/^"(.*)"$/, '$1'), 100).text}
          </option>
        ))}
      </select>
    );
  }
  if (field.kind === 'long-text' || field.kind === 'json') {
    const rows = field.kind === 'json' ? 4 : 2;
    return <textarea {...shared} rows={rows} value={text} onInput={(event) => onChange(event.currentTarget.value)} />;
  }
  const inputMode = field.kind === 'integer' ? 'numeric' : field.kind === 'number' ? 'decimal' : 'text';
  return (
    <input {...shared} inputMode={inputMode} value={text} onInput={(event) => onChange(event.currentTarget.value)} />
  );
}

function ListField({
  field,
  entry,
  faults,
  path,
  name,
  onChange,
}: FieldProps & { readonly name: string }): JSX.Element {
  const { entry: each } = field;
  const items = Array.isArray(entry) ? (entry as readonly Entry[]) : [];
  if (each === undefined) return <></>;
  return (
    <fieldset>
      <legend>{name}</legend>
      <LongSaid text={field.description} max={200} />
      {items.map((item, index) => (
        <div key={index} class="entry">
          <SchemaField
            field={{ ...each, label: `${name} ${index + 1}` }}
            {...{ entry: item, faults, path: `${path}.${index}` }}
            onChange={(changed) => onChange(items.with(index, changed))}
          />
          <button type="button" class="quiet" onClick={() => onChange(items.toSpliced(index, 1))}>
            Take {name} {index + 1} away
          </button>
        </div>
      ))}
      <button type="button" onClick={() => onChange([...items, blankEntry(each)])}>
        Add to {name}
      </button>
    </fieldset>
  );
}
