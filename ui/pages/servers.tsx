// All servers as a table. The search is part of the address, so that it can be bookmarked and shared.
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Link, useSearchParams } from 'wouter-preact';
import { askAll } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { Server } from '../api/types.js';
import { counted } from '../model/counted.js';
import { mayChange, mayMake } from '../model/permission.js';
import { plainReason } from '../model/reason-words.js';
import { inOrder } from '../model/server-order.js';
import { isFound, serverStates, stateOf } from '../model/server-state.js';
import { Empty } from '../parts/empty.js';
import { Icon } from '../parts/icon.js';
import { NextSteps } from '../parts/next-steps.js';
import { Loaded } from '../parts/notices.js';
import { Said } from '../parts/said.js';
import { Status } from '../parts/status.js';
import { Since } from '../parts/since.js';
import type { Selection } from '../parts/selection.js';
import { Table, type Column, type Order, type Row } from '../parts/table.js';
import { BulkActions } from './servers/bulk.js';

/** More rows than this make a browser slow; users with more servers search. */
const ROWS_MAX = 50;

export const useServers = () => useQuery('servers', () => askAll<Server>('/servers'));

export function ServersPage(): JSX.Element {
  const servers = useServers();
  const isMaker = mayMake(useCaller());
  return (
    <>
      <div class="heading">
        <h1>Servers</h1>
        {isMaker && (
          <div class="actions">
            <Link href="/servers/import" class="button">
              <Icon name="import" />
              Import
            </Link>
            <Link href="/servers/new" class="button main">
              <Icon name="add" />
              Register a server
            </Link>
          </div>
        )}
      </div>
      <Loaded query={servers}>
        {(all) =>
          all.length === 0 ? (
            <section class="card">
              <Empty icon="servers" title="No servers yet">
                {isMaker ? (
                  <>
                    <p>The gateway probes a server and shows what it has before anything is saved.</p>
                    <div class="actions">
                      <Link href="/servers/new" class="button main">
                        Register a server
                      </Link>
                      <Link href="/servers/import" class="button">
                        Import
                      </Link>
                    </div>
                  </>
                ) : (
                  <p>An editor or an admin can register the first one.</p>
                )}
              </Empty>
            </section>
          ) : (
            <>
              <FoundServers servers={all} reload={servers.reload} />
              {isMaker && <NextSteps count={all.length} steps={NEXT} />}
            </>
          )
        }
      </Loaded>
    </>
  );
}

const NEXT = [
  ['compose', '/compose/new', 'Compose tools', 'Choose tools of these servers, and who may use them'],
  ['playground', '/playground', 'Try a tool', 'Call it, and see what is sent and answered'],
  ['import', '/servers/import', 'Import a settings file', 'Register all servers of a client at once'],
] as const;

interface FoundProps {
  readonly servers: readonly Server[];
  readonly reload: () => Promise<void>;
}

function FoundServers({ servers, reload }: FoundProps): JSX.Element {
  const caller = useCaller();
  const isMaker = mayMake(caller);
  const selection: Selection = useSignal<ReadonlySet<string>>(new Set());
  const [params, setParams] = useSearchParams();
  const [rows, setRows] = useState(ROWS_MAX);
  const search = { words: params.get('search') ?? '', tag: params.get('tag') ?? '', state: params.get('status') ?? '' };
  const tags = useMemo(() => [...new Set(servers.flatMap((server) => server.tags))].sort(), [servers]);
  const columns = useMemo(
    () => COLUMNS.map((column) => ({ ...column, isEmpty: EMPTY[column.name]?.(servers) ?? false })),
    [servers],
  );
  const order: Order = { column: params.get('sort') ?? 'Name', isDown: params.get('down') === '1' };
  const found = useMemo(
    () =>
      inOrder(
        servers.filter((server) => isFound(server, search)),
        order.column,
        order.isDown,
      ),
    [servers, search.words, search.tag, search.state, order.column, order.isDown],
  );
  const mine = useMemo(() => found.filter((server) => mayChange(caller, server)).map(({ id }) => id), [found, caller]);
  const knownRow = useMemo(() => {
    const known = new Map<Server, Row>();
    return (server: Server): Row => {
      const row = known.get(server) ?? rowOf(server);
      known.set(server, row);
      return row;
    };
  }, [servers]);
  const changeAll = (changes: Readonly<Record<string, string>>): void =>
    setParams(
      (known) => {
        const next = new URLSearchParams(known);
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  const change = (name: string, value: string): void => changeAll({ [name]: value });
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          Search
          <input
            type="search"
            placeholder="name, address or tag"
            value={search.words}
            onInput={(event) => change('search', event.currentTarget.value)}
          />
        </label>
        <label>
          Tag
          <select value={search.tag} onChange={(event) => change('tag', event.currentTarget.value)}>
            <option value="">any</option>
            {tags.map((tag) => (
              <option key={tag}>{tag}</option>
            ))}
          </select>
        </label>
        <label>
          Status
          <select value={search.state} onChange={(event) => change('status', event.currentTarget.value)}>
            <option value="">any</option>
            {serverStates.map((state) => (
              <option key={state} value={state}>
                {state} ({servers.filter((server) => stateOf(server) === state).length})
              </option>
            ))}
          </select>
        </label>
        <label class="narrow">
          Sort by
          <select value={order.column} onChange={(event) => changeAll({ sort: event.currentTarget.value, down: '' })}>
            {columns
              .filter(({ isSorted, isEmpty }) => isSorted === true && isEmpty !== true)
              .map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
          </select>
        </label>
      </form>
      <section class="card table-card" aria-label="Servers">
        <p class="top note" role="status">
          {found.length === servers.length
            ? counted(servers.length, 'servers')
            : `${found.length} of ${counted(servers.length, 'servers')}`}
        </p>
        {found.length === 0 ? (
          <Empty icon="search" title="No server matches">
            <p>Search for fewer words, or choose another tag or status.</p>
          </Empty>
        ) : (
          <Table
            label="Table of servers"
            columns={columns}
            rows={found.slice(0, rows).map(knownRow)}
            order={order}
            onOrder={({ column, isDown }) => changeAll({ sort: column, down: isDown ? '1' : '' })}
            selection={isMaker ? selection : undefined}
            selectable={mine}
          />
        )}
      </section>
      {found.length > rows && (
        <button type="button" onClick={() => setRows(rows + ROWS_MAX)}>
          Show {Math.min(ROWS_MAX, found.length - rows)} more
        </button>
      )}
      <BulkActions servers={servers} selection={selection} reload={reload} />
    </>
  );
}

const COLUMNS: readonly Column[] = [
  { name: 'Name', isSorted: true },
  { name: 'Status', isSorted: true, isBeside: true },
  { name: 'Tools', isNumber: true, isSorted: true },
  { name: 'Belongs to', isSorted: true },
  { name: 'Tags', isExtra: true },
  { name: 'Last seen', isSorted: true },
];

/** Of the tags of a server, in the table; its page has all. */
const TAGS_MAX = 3;

/** Columns that some gateways have no use for. */
const EMPTY: Readonly<Record<string, (servers: readonly Server[]) => boolean>> = {
  'Belongs to': (servers) => servers.every(({ team, owner }) => team === undefined && owner === undefined),
  Tags: (servers) => servers.every(({ tags }) => tags.length === 0),
};

function rowOf(server: Server): Row {
  const { id, name, url, lastError, toolCount, tags, lastSeen, team, owner } = server;
  return {
    ...{ key: id, name },
    cells: [
      <>
        <Link href={`/servers/${id}`}>{name}</Link>
        <p class="note one-line">
          <Said text={url} max={100} />
        </p>
        {lastError !== null && (
          <p class="note bad">
            <Said text={plainReason(lastError)} max={120} />
          </p>
        )}
      </>,
      <Status server={server} />,
      toolCount.toLocaleString(),
      (team !== undefined || owner !== undefined) && (
        <div>
          {team !== undefined && (
            <span class="owner">
              <Icon name="people" />
              <Said text={team} max={60} />
            </span>
          )}
          {owner !== undefined && (
            <p class={team === undefined ? 'one-line' : 'note one-line'}>
              <Said text={owner} max={80} />
            </p>
          )}
        </div>
      ),
      tags.length > 0 && (
        <ul class="chips">
          {tags.slice(0, TAGS_MAX).map((tag) => (
            <li key={tag}>{tag}</li>
          ))}
          {tags.length > TAGS_MAX && <li>+{tags.length - TAGS_MAX}</li>}
        </ul>
      ),
      <Since time={lastSeen} />,
    ],
  };
}
