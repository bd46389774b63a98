// The items of one server, each with a checkbox; its tool patterns, and the prefix of its names.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Server } from '../../api/types.js';
import {
  curationOf,
  isPicked,
  pickedOf,
  withCuration,
  withItem,
  withPicked,
  type CompositionDraft,
} from '../../model/composition-draft.js';
import { withPrefix } from '../../model/curation.js';
import { isMatched, prefixOf } from '../../model/seen-items.js';
import { isItemFound, itemKinds, type ItemKind, type ServerItem, type ServerItems } from '../../model/server-items.js';
import { Field } from '../../parts/field.js';
import { Said } from '../../parts/said.js';
import { ItemCuration } from './item-curation.js';

export interface BoxesProps {
  readonly server: Server;
  readonly items: ServerItems;
  readonly draft: CompositionDraft;
  readonly words: readonly string[];
  readonly onChange: (draft: CompositionDraft) => void;
}

const SHOWN_MAX = 100;
const KIND_WORDS = { tools: 'Tools', prompts: 'Prompts', resources: 'Resources' } as const;

export function ServerBoxes(props: BoxesProps): JSX.Element {
  const { server, draft, onChange } = props;
  const isUsed = draft.servers.some(({ name }) => name === server.name);
  return (
    <div class="boxes">
      {itemKinds.map((kind) => (
        <Boxes key={kind} {...props} kind={kind} />
      ))}
      <Patterns {...props} />
      {isUsed && (
        <Field
          label={`Prefix of the names of ${server.name}`}
          value={prefixOf({ name: server.name, tools: [], ...ownCuration(draft, server.name) }, server)}
          help="The default unless you change it; empty for none. A - is added after it."
          onChange={(typed) => {
            const prefix = typed.replace(/-$/, '');
            const isUnchanged = typed === prefixOf({ name: server.name, tools: [] }, server);
            const curation = withPrefix(curationOf(draft, server.name), isUnchanged ? undefined : prefix);
            onChange(withCuration(draft, server.name, curation));
          }}
        />
      )}
    </div>
  );
}

function ownCuration(
  draft: CompositionDraft,
  server: string,
): { curation?: NonNullable<ReturnType<typeof curationOf>> } {
  const curation = curationOf(draft, server);
  return curation === undefined ? {} : { curation };
}

function Patterns({ server, draft, onChange }: BoxesProps): JSX.Element {
  const [text, setText] = useState('');
  const picked = pickedOf(draft, server.name, 'tools');
  const patterns = picked.filter((name) => name.includes('*'));
  const change = (names: readonly string[]): void => onChange(withPicked(draft, server.name, 'tools', names));
  const add = (): void => {
    const pattern = text.trim();
    if (!pattern.includes('*')) return;
    if (!picked.includes(pattern)) change([...picked, pattern]);
    setText('');
  };
  return (
    <div class="patterns">
      <label class="inline">
        Pattern of tools of {server.name}, with * for any characters
        <input
          value={text}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && add()}
        />
      </label>
      <button type="button" disabled={!text.includes('*')} onClick={add}>
        Add the pattern
      </button>
      {patterns.map((pattern) => (
        <p key={pattern}>
          <code>{pattern}</code> matches present and future tools{' '}
          <button type="button" class="quiet" onClick={() => change(picked.filter((each) => each !== pattern))}>
            Take {pattern} away
          </button>
        </p>
      ))}
    </div>
  );
}

function Boxes({ server, items, draft, words, kind, onChange }: BoxesProps & { readonly kind: ItemKind }): JSX.Element {
  const { name } = server;
  const isServerFound = words.every((word) => name.toLowerCase().includes(word));
  const found = isServerFound ? items[kind] : items[kind].filter((item) => isItemFound(item, words));
  const picked = pickedOf(draft, name, kind);
  const there = new Set(items[kind].flatMap(({ key, alias }) => [key, alias]));
  const gone = picked.filter((each) => !each.includes('*') && !there.has(each));
  if (found.length + gone.length === 0) return <></>;
  return (
    <fieldset class="kind">
      <legend>
        {KIND_WORDS[kind]} of {name}
      </legend>
      {[...found.slice(0, SHOWN_MAX), ...gone.map(goneItem)].map((item) => {
        const isChosen = isPicked(draft, name, kind, item);
        const isByPattern = kind === 'tools' && isMatched(picked, item.key);
        return (
          <div key={item.key} class="pick">
            <label class="choice">
              <input
                type="checkbox"
                checked={isChosen}
                onChange={({ currentTarget }) => onChange(withItem(draft, name, kind, item, currentTarget.checked))}
              />
              <span>
                <Said text={item.key} max={128} />
                {gone.includes(item.key) && <span class="note bad"> does not exist at present</span>}
                {isByPattern && !isChosen && <span class="note"> by a pattern</span>}
              </span>
            </label>
            <p class="note one-line">
              <Said text={item.told['description'] ?? item.title} max={160} />
            </p>
            {kind !== 'resources' && (isChosen || isByPattern) && (
              <ItemCuration
                {...{ kind, item }}
                curation={curationOf(draft, name)}
                onChange={(curation) => onChange(withCuration(draft, name, curation))}
              />
            )}
          </div>
        );
      })}
      {found.length > SHOWN_MAX && <p class="note">{found.length - SHOWN_MAX} more: search for them.</p>}
    </fieldset>
  );
}

function goneItem(key: string): ServerItem {
  return { key, alias: '', title: '', text: '', told: {} };
}
