// The overview: first what needs attention, then what exists. Refreshed while the page is visible.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ask, askAll } from '../api/api.js';
import { useLive, type Live } from '../api/live.js';
import { useQuery } from '../api/query.js';
import type { Composition, Server, Version } from '../api/types.js';
import { concernsOf, type Concern } from '../model/attention.js';
import { serverStates, stateOf, type ServerState } from '../model/server-state.js';
import { Loaded } from '../parts/notices.js';
import { LiveSection } from './overview/live-section.js';
import { Said } from '../parts/said.js';

const READ_AGAIN_MS = 10_000;
const SHOWN_MAX = 20;

interface Overview {
  readonly version: Version;
  readonly servers: readonly Server[];
  readonly compositions: readonly Composition[];
}

async function readOverview(): Promise<Overview> {
  const { value: version } = await ask<Version>('/version');
  // Without a store there are no lists: the page says so, and shows nothing else.
  if (!version.store.reachable) return { version, servers: [], compositions: [] };
  const [servers, compositions] = await Promise.all([askAll<Server>('/servers'), askAll<Composition>('/compositions')]);
  return { version, servers, compositions };
}

export function OverviewPage(): JSX.Element {
  const overview = useQuery('overview', readOverview);
  const live = useLive();
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && void overview.reload(), READ_AGAIN_MS);
    return () => clearInterval(timer);
  }, [overview.reload]);
  return (
    <>
      <h1>Overview</h1>
      <Loaded query={overview}>{(read) => <OverviewParts {...read} live={live} />}</Loaded>
    </>
  );
}

function OverviewParts({ version, servers, compositions, live }: Overview & { readonly live: Live }): JSX.Element {
  const concerns = concernsOf(version, servers, compositions, live);
  return (
    <>
      <section aria-labelledby="concerns">
        <h2 id="concerns">Needs attention</h2>
        {concerns.length === 0 ? (
          <p>Nothing: every server in service responds, and everything is published.</p>
        ) : (
          <ul class="items">
            {concerns.slice(0, SHOWN_MAX).map((concern) => (
              <ConcernItem key={concern.what} concern={concern} />
            ))}
            {concerns.length > SHOWN_MAX && <li>and {concerns.length - SHOWN_MAX} more</li>}
          </ul>
        )}
      </section>
      <LiveSection live={live} />
      <section aria-labelledby="there">
        <h2 id="there">What there is</h2>
        <dl>
          {serverStates.map((state) => (
            <StateRow key={state} state={state} servers={servers} />
          ))}
          <dt>Tools</dt>
          <dd>{servers.reduce((sum, { toolCount }) => sum + toolCount, 0).toLocaleString()}</dd>
          <dt>Compositions</dt>
          <dd>
            <Link href="/compose">{compositions.length}</Link>
          </dd>
          <dt>Version</dt>
          <dd>
            {version.app.version}, store: {version.store.kind}
          </dd>
        </dl>
      </section>
    </>
  );
}

interface StateRowProps {
  readonly state: ServerState;
  readonly servers: readonly Server[];
}

function StateRow({ state, servers }: StateRowProps): JSX.Element {
  const count = servers.filter((server) => stateOf(server) === state).length;
  return (
    <>
      <dt>
        <span class={`status ${state}`}>{state}</span>
      </dt>
      <dd>
        <Link href={`/servers?status=${state}`}>{count === 1 ? '1 server' : `${count} servers`}</Link>
      </dd>
    </>
  );
}

function ConcernItem({ concern: { what, why, page } }: { readonly concern: Concern }): JSX.Element {
  return (
    <li>
      {page === '' ? <strong>{what}</strong> : <Link href={page}>{what}</Link>}
      <p class="note">
        <Said text={why} />
      </p>
    </li>
  );
}
