// Tools, prompts and resources of all servers, found by search and picked one by one or by patterns.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { Server } from '../../api/types.js';
import type { CompositionDraft } from '../../model/composition-draft.js';
import { counted } from '../../model/counted.js';
import { pickedOf } from '../../model/composition-draft.js';
import { isItemFound, itemKinds, type ServerItems } from '../../model/server-items.js';
import { Empty } from '../../parts/empty.js';
import { Fault } from '../../parts/notices.js';
import { ServerBoxes } from './server-boxes.js';
import type { Lists } from './use-lists.js';

interface PickerProps {
  readonly servers: readonly Server[];
  readonly draft: CompositionDraft;
  readonly lists: Lists;
  readonly onChange: (draft: CompositionDraft) => void;
}

const SERVERS_MAX = 50;
/** A search reads the lists of up to this many servers by itself; of more only on request. */
const READ_UNASKED_MAX = 100;

export function ItemPicker({ servers, draft, lists, onChange }: PickerProps): JSX.Element {
  const [text, setText] = useState('');
  const words = useMemo(
    () =>
      text
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== ''),
    [text],
  );
  const isSearched = words.length > 0;
  const unread = servers.filter(({ name }) => !lists.known.has(name));
  useEffect(() => {
    if (isSearched && unread.length <= READ_UNASKED_MAX && lists.faults.size === 0) void lists.read(unread);
  }, [isSearched, unread.length]);
  const found = useMemo(() => {
    const used = new Set(draft.servers.map(({ name }) => name));
    const shown = servers.filter((server) => isServerFound(server, lists.known.get(server.name), words));
    return [...shown.filter(({ name }) => used.has(name)), ...shown.filter(({ name }) => !used.has(name))];
  }, [servers, lists.known, words, draft.servers]);
  return (
    <fieldset>
      <legend>
        <h2>Contents</h2>
      </legend>
      <label class="inline">
        Search servers, tools, prompts and resources
        <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
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
      {found.slice(0, SERVERS_MAX).map((server) => (
        <ServerPart key={server.id} {...{ server, draft, lists, words, onChange }} />
      ))}
      {servers.length === 0 && (
        <Empty icon="servers" title="There is no server yet">
          <p>A composition is made of the tools of registered servers.</p>
          <Link href="/servers/new" class="button">
            Register the first one
          </Link>
        </Empty>
      )}
      {servers.length > 0 && found.length === 0 && <p class="note">No match.</p>}
      {found.length > SERVERS_MAX && <p class="note">{found.length - SERVERS_MAX} more servers: search for them.</p>}
    </fieldset>
  );
}

function isServerFound({ name }: Server, items: ServerItems | undefined, words: readonly string[]): boolean {
  const server = name.toLowerCase();
  if (words.every((word) => server.includes(word))) return true;
  return items !== undefined && itemKinds.some((kind) => items[kind].some((item) => isItemFound(item, words)));
}

interface ServerPartProps extends Omit<PickerProps, 'servers'> {
  readonly server: Server;
  readonly words: readonly string[];
}

function ServerPart({ server, draft, lists, words, onChange }: ServerPartProps): JSX.Element {
  const picked = itemKinds.reduce((sum, kind) => sum + pickedOf(draft, server.name, kind).length, 0);
  const [isOpened, setOpened] = useState<boolean | undefined>(picked > 0 ? true : undefined);
  const items = lists.known.get(server.name);
  const isOpen = isOpened ?? (words.length > 0 && items !== undefined);
  const fault = lists.faults.get(server.name) ?? '';
  useEffect(() => {
    if (isOpen && items === undefined) void lists.read([server]);
  }, [isOpen, items === undefined]);
  return (
    <details
      class="pick-server"
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => open !== isOpen && setOpened(open)}
    >
      <summary>
        {server.name}{' '}
        <span class="note">{picked > 0 ? `${picked} picked; ${countWords(server)}` : countWords(server)}</span>
      </summary>
      {isOpen && (
        <>
          <Fault words={fault} retry={() => lists.read([server])} />
          {items === undefined ? (
            fault === '' && <p class="note">Reading …</p>
          ) : (
            <ServerBoxes {...{ server, items, draft, words, onChange }} />
          )}
        </>
      )}
    </details>
  );
}

function countWords({ toolCount, promptCount = 0, resourceCount = 0, templateCount = 0 }: Server): string {
  const counts = [
    [toolCount, 'tools'],
    [promptCount, 'prompts'],
    [resourceCount + templateCount, 'resources'],
  ] as const;
  const there = counts.filter(([count], index) => index === 0 || count > 0);
  return there.map(([count, kind]) => counted(count, kind)).join(', ');
}
