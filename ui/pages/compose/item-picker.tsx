// The left of two panes: tools, prompts and resources of all servers, found by search, and picked one by one, by server or by patterns.
import type { JSX } from 'preact';
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { Server } from '../../api/types.js';
import { pickedOf, withItem, withPicked, type CompositionDraft } from '../../model/composition-draft.js';
import { counted } from '../../model/counted.js';
import { offerWords } from '../../model/server-items.js';
import { stateOf } from '../../model/server-state.js';
import { pickedIn, pickerRows, withAllTools, type Picked, type PickerRow } from '../../model/picker-rows.js';
import { Empty } from '../../parts/empty.js';
import { Icon } from '../../parts/icon.js';
import { Fault } from '../../parts/notices.js';
import { Said } from '../../parts/said.js';
import { Status } from '../../parts/status.js';
import { VirtualList } from '../../parts/virtual-list.js';
import type { Lists } from './use-lists.js';

interface PickerProps {
  readonly servers: readonly Server[];
  readonly draft: CompositionDraft;
  readonly lists: Lists;
  readonly onChange: (draft: CompositionDraft) => void;
}

/** A search reads the lists of up to this many servers by itself; of more only on request. */
const READ_UNASKED_MAX = 100;
const KIND_WORDS = { tools: '', prompts: 'prompt', resources: 'resource' } as const;

export function ItemPicker({ servers, draft, lists, onChange }: PickerProps): JSX.Element {
  const hintId = useId();
  // Other pages lead here with the name of a server or a tool.
  const [text, setText] = useState(() => new URLSearchParams(location.search).get('search') ?? '');
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [used] = useState(() => new Set(draft.servers.map(({ name }) => name)));
  const words = useMemo(() => wordsIn(text), [text]);
  const isSearched = words.length > 0;
  const unread = useMemo(() => servers.filter(({ name }) => !lists.known.has(name)), [servers, lists.known]);
  useEffect(() => {
    if (isSearched && unread.length <= READ_UNASKED_MAX && lists.faults.size === 0) void lists.read(unread);
  }, [isSearched, unread.length]);
  useEffect(() => void lists.read(servers.filter(({ name }) => used.has(name))), [servers]);
  const rows = useMemo(
    () => pickerRows({ servers, lists: lists.known, faults: lists.faults, words, opened, used }),
    [servers, lists.known, lists.faults, words, opened, used],
  );
  const picked = useMemo(() => {
    const known = new Map<string, Picked>();
    return (server: string): Picked => {
      const each = known.get(server) ?? pickedIn(draft, server);
      known.set(server, each);
      return each;
    };
  }, [draft.servers]);
  const open = (server: Server, isOpen: boolean): void => {
    setOpened(new Map([...opened, [server.name, isOpen]]));
    if (isOpen) void lists.read([server]);
  };
  const draw = (row: PickerRow, tabIndex: number): JSX.Element =>
    row.kind === 'server' ? (
      <ServerRow {...{ row, tabIndex, draft, picked: picked(row.server.name), onChange }} onOpen={open} />
    ) : row.kind === 'item' ? (
      <ItemRow {...{ row, tabIndex, draft, picked: picked(row.server.name), onChange }} />
    ) : (
      <StateRow {...{ row, tabIndex, lists }} />
    );
  if (servers.length === 0) {
    return (
      <Empty icon="servers" title="There is no server yet">
        <p>A composition is made of the tools of registered servers.</p>
        <Link href="/servers/new" class="button">
          Register a server
        </Link>
      </Empty>
    );
  }
  return (
    <fieldset aria-describedby={hintId}>
      <legend>
        <h2>Available</h2>
      </legend>
      <label class="inline">
        Search servers, tools, prompts and resources
        <input
          type="search"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'ArrowDown') return;
            event.preventDefault();
            event.currentTarget
              .closest('fieldset')
              ?.querySelector<HTMLElement>('.virtual [data-row][tabindex="0"]')
              ?.focus();
          }}
        />
      </label>
      <p id={hintId} class="unseen">
        Arrow keys move in the list, Space chooses, and the right and left arrows open and close a server.
      </p>
      {isSearched && unread.length > 0 && (
        <p class="note" role="status">
          The lists of {counted(unread.length, 'servers')} are not loaded yet.{' '}
          {(unread.length > READ_UNASKED_MAX || lists.faults.size > 0) && (
            <button type="button" class="quiet" onClick={() => void lists.read(unread)}>
              Load and search them, too
            </button>
          )}
        </p>
      )}
      {isSearched && <Fault words={[...lists.faults.values()][0] ?? ''} />}
      {rows.length === 0 ? (
        <Empty icon="search" title="No match">
          Search for fewer words.
        </Empty>
      ) : (
        <VirtualList
          label="Servers and what they have"
          rows={rows}
          keyOf={keyOf}
          draw={draw}
          onKey={(row, key) => {
            if (row.kind !== 'server' || (key !== 'ArrowRight' && key !== 'ArrowLeft')) return false;
            open(row.server, key === 'ArrowRight');
            return true;
          }}
        />
      )}
      <PatternForm {...{ servers, draft, onChange }} />
    </fieldset>
  );
}

function wordsIn(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}

function keyOf(row: PickerRow): string {
  return row.kind === 'item' ? `${row.server.id} ${row.of} ${row.item.key}` : `${row.server.id} ${row.kind}`;
}

interface RowProps<Kind extends PickerRow['kind']> {
  readonly row: Extract<PickerRow, { readonly kind: Kind }>;
  readonly tabIndex: number;
  readonly draft: CompositionDraft;
  readonly picked: Picked;
  readonly onChange: (draft: CompositionDraft) => void;
}

interface ServerRowProps extends RowProps<'server'> {
  readonly onOpen: (server: Server, isOpen: boolean) => void;
}

function ServerRow({
  row: { server, isOpen, found },
  tabIndex,
  draft,
  picked,
  onChange,
  onOpen,
}: ServerRowProps): JSX.Element {
  const { name } = server;
  const tools = found?.tools ?? [];
  const named = tools.filter((item) => picked.has('tools', item)).length;
  const count = tools.filter((item) => picked.has('tools', item) || picked.isMatched('tools', item.key)).length;
  return (
    <div class="pick pick-server">
      <button
        type="button"
        class="quiet fold"
        data-row={tools.length === 0 ? '' : undefined}
        tabIndex={tools.length === 0 ? tabIndex : -1}
        aria-expanded={isOpen}
        onClick={() => onOpen(server, !isOpen)}
      >
        <Icon name={isOpen ? 'down' : 'right'} />
        <span class="unseen">{isOpen ? 'Close ' : 'Open '}</span>
        {tools.length === 0 && name}
      </button>
      {tools.length > 0 && (
        <label class="choice">
          <input
            type="checkbox"
            data-row=""
            tabIndex={tabIndex}
            checked={count === tools.length}
            indeterminate={count > 0 && count < tools.length}
            onChange={() => onChange(withAllTools(draft, name, tools, named < tools.length && count < tools.length))}
          />
          <span class="unseen">All tools of </span>
          <span>{name}</span>
        </label>
      )}
      {stateOf(server) !== 'active' && <Status server={server} />}
      <span class="note">
        {count > 0 && `${count} of `}
        {offerWords(server)}
      </span>
    </div>
  );
}

function ItemRow({ row: { server, of, item }, tabIndex, draft, picked, onChange }: RowProps<'item'>): JSX.Element {
  const isChosen = picked.has(of, item);
  const isByPattern = !isChosen && picked.isMatched(of, item.key);
  return (
    <div class="pick pick-item">
      <label class="choice">
        <input
          type="checkbox"
          data-row=""
          tabIndex={tabIndex}
          checked={isChosen || isByPattern}
          // What a pattern includes is taken away with the pattern, or left out on the right.
          aria-disabled={isByPattern}
          onClick={(event) => isByPattern && event.preventDefault()}
          onChange={({ currentTarget }) =>
            isByPattern || onChange(withItem(draft, server.name, of, item, currentTarget.checked))
          }
        />
        <span>
          <Said text={item.key} max={128} />
        </span>
        {isByPattern && <span class="note">by a pattern</span>}
      </label>
      {KIND_WORDS[of] !== '' && <span class="chip">{KIND_WORDS[of]}</span>}
      <span class="note one-line">
        <Said text={item.told['description'] ?? item.title} max={160} />
      </span>
    </div>
  );
}

interface StateRowProps {
  readonly row: Extract<PickerRow, { readonly kind: 'state' }>;
  readonly tabIndex: number;
  readonly lists: Lists;
}

function StateRow({ row: { server, fault }, tabIndex, lists }: StateRowProps): JSX.Element {
  return (
    <div class="pick pick-item">
      {fault === '' ? (
        <span class="note">Reading …</span>
      ) : (
        <>
          <span class="note bad one-line">
            <Said text={fault} max={300} />
          </span>
          <button type="button" class="quiet" data-row="" tabIndex={tabIndex} onClick={() => void lists.read([server])}>
            Try again
          </button>
        </>
      )}
    </div>
  );
}

/** Patterns choose the tools that a server has, and those that it will have. */
function PatternForm({ servers, draft, onChange }: Omit<PickerProps, 'lists'>): JSX.Element {
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const pattern = text.trim();
  const isReady = pattern.includes('*') && servers.some((server) => server.name === name);
  const add = (): void => {
    if (!isReady) return;
    const picked = pickedOf(draft, name, 'tools');
    if (!picked.includes(pattern)) onChange(withPicked(draft, name, 'tools', [...picked, pattern]));
    setText('');
  };
  return (
    <details class="by-pattern">
      <summary>Add by pattern</summary>
      <p class="note">Includes the matching tools that a server has now, and any that it adds later.</p>
      <div class="filters">
        <label>
          Server
          <select value={name} onChange={(event) => setName(event.currentTarget.value)}>
            <option value="">Select …</option>
            {servers.map((server) => (
              <option key={server.id}>{server.name}</option>
            ))}
          </select>
        </label>
        <label>
          Pattern of tools, with * for any characters
          <input
            value={text}
            spellcheck={false}
            autocomplete="off"
            placeholder="search_*"
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && add()}
          />
        </label>
        <button type="button" disabled={!isReady} onClick={add}>
          Add pattern
        </button>
      </div>
    </details>
  );
}
