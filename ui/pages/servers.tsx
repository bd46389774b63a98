// All servers as a table. The search is part of the address, so that it can be bookmarked and shared.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Link, useSearchParams } from 'wouter-preact';
import { askAll } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { Server } from '../api/types.js';
import { counted } from '../model/counted.js';
import { mayMake, ownerWords } from '../model/permission.js';
import { isFound, serverStates, stateOf } from '../model/server-state.js';
import { Empty } from '../parts/empty.js';
import { Icon } from '../parts/icon.js';
import { Loaded } from '../parts/notices.js';
import { Said } from '../parts/said.js';
import { Status } from '../parts/status.js';
import { Since } from '../parts/since.js';
import { Table, type Row } from '../parts/table.js';

/** More rows than this make a browser slow; users with more servers search. */
const ROWS_MAX = 100;

export const useServers = () => useQuery('servers', () => askAll<Server>('/servers'));

export function ServersPage(): JSX.Element {
  const servers = useServers();
  const isMaker = mayMake(useCaller());
  return (
    <>
      <div class="heading">
        <h1>Servers</h1>
        {isMaker && (
          <Link href="/servers/new" class="button main">
            <Icon name="add" />
            Register a server
          </Link>
        )}
      </div>
      <Loaded query={servers}>
        {(all) =>
          all.length === 0 ? (
            <section class="card">
              <Empty icon="servers" title="No server is registered yet">
                {isMaker ? (
                  <>
                    <p>The gateway probes a server and shows what it has before anything is saved.</p>
                    <Link href="/servers/new" class="button main">
                      Register the first one
                    </Link>
                  </>
                ) : (
                  <p>An editor or an admin can register the first one.</p>
                )}
              </Empty>
            </section>
          ) : (
            <FoundServers servers={all} />
          )
        }
      </Loaded>
    </>
  );
}

function FoundServers({ servers }: { readonly servers: readonly Server[] }): JSX.Element {
  const [params, setParams] = useSearchParams();
  const [rows, setRows] = useState(ROWS_MAX);
  const search = { words: params.get('search') ?? '', tag: params.get('tag') ?? '', state: params.get('status') ?? '' };
  const tags = useMemo(() => [...new Set(servers.flatMap((server) => server.tags))].sort(), [servers]);
  const found = useMemo(
    () => servers.filter((server) => isFound(server, search)),
    [servers, search.words, search.tag, search.state],
  );
  const knownRow = useMemo(() => {
    const known = new Map<Server, Row>();
    return (server: Server): Row => {
      const row = known.get(server) ?? rowOf(server);
      known.set(server, row);
      return row;
    };
  }, [servers]);
  const change = (name: string, value: string): void =>
    setParams(
      (known) => {
        const next = new URLSearchParams(known);
        if (value === '') next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>
          Search
          <input type="search" value={search.words} onInput={(event) => change('search', event.currentTarget.value)} />
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
          <Table label="Table of servers" columns={COLUMNS} rows={found.slice(0, rows).map(knownRow)} />
        )}
      </section>
      {found.length > rows && (
        <button type="button" onClick={() => setRows(rows + ROWS_MAX)}>
          Show {Math.min(ROWS_MAX, found.length - rows)} more
        </button>
      )}
    </>
  );
}

const COLUMNS = [
  { name: 'Name' },
  { name: 'Status' },
  { name: 'Tools', isNumber: true },
  { name: 'Belongs to' },
  { name: 'Tags' },
  { name: 'Last seen' },
] as const;

function rowOf(server: Server): Row {
  const { id, name, url, lastError, toolCount, tags, lastSeen } = server;
  return {
    key: id,
    cells: [
      <>
        <Link href={`/servers/${id}`}>{name}</Link>
        <p class="note">
          <Said text={url} max={100} />
        </p>
        {lastError !== null && (
          <p class="note bad">
            <Said text={lastError} max={120} />
          </p>
        )}
      </>,
      <Status server={server} />,
      toolCount.toLocaleString(),
      ownerWords(server) !== '' && <Said text={ownerWords(server)} max={80} />,
      tags.length > 0 && (
        <ul class="chips">
          {tags.map((tag) => (
            <li key={tag}>{tag}</li>
          ))}
        </ul>
      ),
      <Since time={lastSeen} />,
    ],
  };
}
