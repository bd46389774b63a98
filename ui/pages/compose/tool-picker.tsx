// Tools of all servers, found by search, picked one by one; beside them what clients will see.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask } from '../../api/api.js';
import { useQuery } from '../../api/query.js';
import type { Server, Tool } from '../../api/types.js';
import {
  isPicked,
  seenTools,
  tokensOf,
  toolsOf,
  withTools,
  type CompositionDraft,
} from '../../model/composition-draft.js';
import { Loaded } from '../../parts/notices.js';
import { Said } from '../../parts/said.js';

interface PickerProps {
  readonly servers: readonly Server[];
  readonly draft: CompositionDraft;
  readonly onChange: (draft: CompositionDraft) => void;
}

const SHOWN_MAX = 200;
const SERVERS_MAX = 50;

export function ToolPicker({ servers, draft, onChange }: PickerProps): JSX.Element {
  const [words, setWords] = useState('');
  const [tools, setTools] = useState<ReadonlyMap<string, readonly Tool[]>>(new Map());
  const search = words.trim().toLowerCase();
  const found = servers.filter(
    (server) => server.name.toLowerCase().includes(search) || isOpenedBy(server, search, tools),
  );
  const seen = seenTools(draft, servers, tools);
  return (
    <div class="composer">
      <fieldset>
        <legend>Tools</legend>
        <label class="inline">
          Search servers, and tools of those that are open
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
        {found.slice(0, SERVERS_MAX).map((server) => (
          <ServerTools
            key={server.id}
            {...{ server, draft, onChange, search }}
            onRead={(read) => setTools((known) => new Map(known).set(server.name, read))}
          />
        ))}
        {found.length > SERVERS_MAX && <p class="note">{found.length - SERVERS_MAX} more servers: search for them.</p>}
      </fieldset>
      <section aria-labelledby="seen">
        <h2 id="seen">What clients will see</h2>
        <p class="note" role="status">
          {seen.length} tools, some {tokensOf(seen).toLocaleString()} tokens of what a model reads
        </p>
        <ul class="items">
          {seen.slice(0, SHOWN_MAX).map(({ name, server, tool, fault }) => (
            <li key={`${server} ${tool}`}>
              <code>
                <Said text={name} max={128} />
              </code>
              {fault !== '' && <p class="note bad">This name {fault}</p>}
            </li>
          ))}
        </ul>
        {seen.length > SHOWN_MAX && <p class="note">and {seen.length - SHOWN_MAX} more</p>}
      </section>
    </div>
  );
}

function isOpenedBy({ name }: Server, search: string, tools: ReadonlyMap<string, readonly Tool[]>): boolean {
  return tools.get(name)?.some((tool) => tool.name.toLowerCase().includes(search)) === true;
}

interface ServerToolsProps {
  readonly server: Server;
  readonly draft: CompositionDraft;
  readonly search: string;
  readonly onChange: (draft: CompositionDraft) => void;
  readonly onRead: (tools: readonly Tool[]) => void;
}

function ServerTools(props: ServerToolsProps): JSX.Element {
  const { server, draft } = props;
  const picked = toolsOf(draft, server.name).length;
  const [isOpen, setOpen] = useState(picked > 0);
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {server.name}{' '}
        <span class="note">
          {picked} of {server.toolCount} tools
        </span>
      </summary>
      {isOpen && <ToolBoxes {...props} />}
    </details>
  );
}

function ToolBoxes({ server, draft, search, onChange, onRead }: ServerToolsProps): JSX.Element {
  const path = `/servers/${server.id}/tools`;
  const query = useQuery(`picker ${path}`, async () => {
    const { value } = await ask<Tool[]>(path);
    onRead(value);
    return value;
  });
  return (
    <Loaded query={query}>
      {(tools) => {
        const isServerFound = server.name.toLowerCase().includes(search);
        const found = tools.filter(({ name }) => isServerFound || name.toLowerCase().includes(search));
        const toggle = (tool: string, isWanted: boolean): void => {
          const others = toolsOf(draft, server.name).filter((each) => each !== tool);
          onChange(withTools(draft, server.name, isWanted ? [...others, tool] : others));
        };
        return (
          <>
            {found.slice(0, SHOWN_MAX).map(({ name }) => (
              <label key={name} class="choice">
                <input
                  type="checkbox"
                  checked={isPicked(draft, server.name, name)}
                  onChange={(event) => toggle(name, event.currentTarget.checked)}
                />
                <Said text={name} max={128} />
              </label>
            ))}
            {found.length > SHOWN_MAX && <p class="note">{found.length - SHOWN_MAX} more: search for them.</p>}
          </>
        );
      }}
    </Loaded>
  );
}
