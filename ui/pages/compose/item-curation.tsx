// The curation of one tool or prompt: another name, another description, arguments that clients do not see.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import {
  curatedItem,
  ruleOf,
  withCurated,
  withRule,
  type ArgumentRule,
  type CuratedItem,
  type CuratedKind,
  type Curation,
} from '../../model/curation.js';
import { plainText } from '../../model/plain-text.js';
import { argumentsOf, type ItemArgument, type ServerItem } from '../../model/server-items.js';
import { Field } from '../../parts/field.js';
import { Icon } from '../../parts/icon.js';
import { LongSaid } from '../../parts/said.js';

interface CurationProps {
  readonly kind: CuratedKind;
  readonly item: ServerItem;
  readonly curation: Curation | undefined;
  readonly onChange: (curation: Curation | undefined) => void;
  /** What stands on the line that opens it. */
  readonly children: ComponentChildren;
}

export function ItemCuration({ kind, item, curation, onChange, children }: CurationProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  // Stays set after the section is closed, so that what was typed is kept.
  const [wasOpened, setOpened] = useState(false);
  const { key, told } = item;
  const said = curatedItem(curation, kind, key);
  const name = plainText(key, 60).text;
  const change = (members: { readonly [Member in keyof CuratedItem]: CuratedItem[Member] | undefined }): void =>
    onChange(withCurated(curation, kind, key, members));
  const words = (typed: string): string | undefined => (typed === '' ? undefined : typed);
  return (
    <details
      class="curation"
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        setOpen(open);
        if (open) setOpened(true);
      }}
      onInvalidCapture={() => setOpen(true)}
    >
      <summary>
        <span class="unseen">How clients see {name}: </span>
        {children}
        {Object.keys(said).length > 0 && <span class="chip"> changed</span>}
        <Icon name="edit" />
      </summary>
      {wasOpened && (
        <>
          <Field
            label="Name"
            about={`of ${name}`}
            value={said.name ?? ''}
            placeholder={name}
            help="Clients see it after the server’s prefix. Empty: the server’s own."
            onChange={(typed) => change({ ...said, name: words(typed) })}
          />
          <Field
            label="Title"
            about={`of ${name}`}
            value={said.title ?? ''}
            placeholder={plainText(told['title'] ?? '', 60).text}
            onChange={(typed) => change({ ...said, title: words(typed) })}
          />
          <Field
            label="Description"
            about={`of ${name}`}
            rows={3}
            value={said.description ?? ''}
            help={<LongSaid text={told['description'] ?? 'It has none of its own.'} max={200} />}
            onChange={(typed) => change({ ...said, description: words(typed) })}
          />
          {argumentsOf(kind, told).map((argument) => (
            <ArgumentField key={argument.name} {...{ argument, said }} owner={name} onChange={change} />
          ))}
          <label class="choice">
            <input
              type="checkbox"
              checked={said.hidden === true}
              onChange={({ currentTarget }) => change({ ...said, hidden: currentTarget.checked ? true : undefined })}
            />
            Leave {name} out, also if a pattern includes it
          </label>
        </>
      )}
    </details>
  );
}

interface ArgumentProps {
  readonly argument: ItemArgument;
  readonly owner: string;
  readonly said: CuratedItem;
  readonly onChange: (said: CuratedItem) => void;
}

const RULES = [
  ['open', 'Clients give it'],
  ['fixed', 'Always this value'],
  ['hidden', 'Never given'],
] as const satisfies readonly (readonly [ArgumentRule, string])[];

function ArgumentField({ argument, owner, said, onChange }: ArgumentProps): JSX.Element {
  const id = useId();
  const rule = ruleOf(said, argument.name);
  const shown = plainText(argument.name, 60).text;
  const blank = argument.isText ? '' : null;
  return (
    <div class="field argument">
      <label for={id}>
        Argument {shown}
        <span class="unseen"> of {owner}</span>
      </label>
      <div class="filters">
        <select
          id={id}
          value={rule}
          onChange={({ currentTarget: { value } }) =>
            onChange(withRule(said, argument.name, RULES.find(([each]) => each === value)?.[0] ?? 'open', blank))
          }
        >
          {RULES.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
        {rule === 'fixed' && (
          <FixedValue
            argument={argument}
            label={`Value of ${shown}`}
            value={said.fixed_arguments?.[argument.name]}
            onChange={(value) => onChange(withRule(said, argument.name, 'fixed', value))}
          />
        )}
      </div>
      {rule === 'hidden' && argument.isRequired && (
        <p class="note bad">
          The server requires it: without it, calls may fail. A fixed value is sent with every call.
        </p>
      )}
    </div>
  );
}

interface FixedProps {
  readonly argument: ItemArgument;
  readonly label: string;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function FixedValue({ argument: { isText }, label, value, onChange }: FixedProps): JSX.Element {
  const [text, setText] = useState(
    value === null ? '' : typeof value === 'string' && isText ? value : JSON.stringify(value),
  );
  const input = useRef<HTMLInputElement>(null);
  const read = isText ? { value: text } : jsonIn(text);
  // An invalid value keeps the form from being published.
  useEffect(
    () => input.current?.setCustomValidity(read === undefined ? 'This is not JSON: strings need quotes' : ''),
    [read === undefined],
  );
  return (
    <label class="inline">
      {label}
      {isText ? '' : ', as JSON'}
      <input
        ref={input}
        value={text}
        spellcheck={false}
        autocomplete="off"
        aria-invalid={read === undefined}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          const typed = isText ? { value: currentTarget.value } : jsonIn(currentTarget.value);
          if (typed !== undefined) onChange(typed.value);
        }}
      />
    </label>
  );
}

function jsonIn(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
