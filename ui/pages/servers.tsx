// All servers as a table. The search is part of the address, so that it can be bookmarked and shared.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Link, useSearchParams } from 'wouter-preact';
import { askAll } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { Server } from '../api/types.js';
import { mayMake } from '../model/permission.js';
import { isFound, serverStates, stateOf } from '../model/server-state.js';
import { Loaded } from '../parts/notices.js';
import { Said } from '../parts/said.js';
import { Status } from '../parts/status.js';
import { Since } from '../parts/since.js';

/** More rows than this make a browser slow; users with more servers search. */
const ROWS_MAX = 200;

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
            Register a server
          </Link>
        )}
      </div>
      <Loaded query={servers}>
        {(all) =>
          all.length === 0 ? (
            <p>
              No server is registered yet.{' '}
              {isMaker && (
                <>
                  <Link href="/servers/new">Register the first one</Link>: the gateway probes it before anything is
                  saved.
                </>
              )}
            </p>
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
      <p class="note" role="status">
        {found.length === servers.length ? `${servers.length} servers` : `${found.length} of ${servers.length} servers`}
      </p>
      <div class="table-frame">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Status</th>
              <th scope="col" class="number">
                Tools
              </th>
              <th scope="col">Tags</th>
              <th scope="col">Last seen</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, rows).map((server) => (
              <ServerRow key={server.id} server={server} />
            ))}
          </tbody>
        </table>
      </div>
      {found.length > rows && (
        <button type="button" onClick={() => setRows(rows + ROWS_MAX)}>
          Show {Math.min(ROWS_MAX, found.length - rows)} more
        </button>
      )}
    </>
  );
}

function ServerRow({ server }: { readonly server: Server }): JSX.Element {
  return (
    <tr>
      <th scope="row">
        <Link href={`/servers/${server.id}`}>{server.name}</Link>
        {server.lastError !== null && (
          <p class="note">
            <Said text={server.lastError} max={120} />
          </p>
        )}
      </th>
      <td>
        <Status server={server} />
      </td>
      <td class="number">{server.toolCount}</td>
      <td>{server.tags.join(', ')}</td>
      <td>
        <Since time={server.lastSeen} />
      </td>
    </tr>
  );
}
