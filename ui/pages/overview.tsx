// The overview: first what needs attention, then what exists. Refreshed while the page is visible.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ask, askAll } from '../api/api.js';
import { useLive, type Live } from '../api/live.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { Composition, Server, Version } from '../api/types.js';
import { counted } from '../model/counted.js';
import { calmWords, concernsOf, type Concern } from '../model/attention.js';
import { mayMake } from '../model/permission.js';
import { serverStates, stateOf, type ServerState } from '../model/server-state.js';
import { Empty } from '../parts/empty.js';
import { Loaded } from '../parts/notices.js';
import { LiveSection, LiveTables } from './overview/live-section.js';
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
      <div class="heading">
        <h1>Overview</h1>
      </div>
      <Loaded query={overview}>{(read) => <OverviewParts {...read} live={live} />}</Loaded>
    </>
  );
}

function OverviewParts({ version, servers, compositions, live }: Overview & { readonly live: Live }): JSX.Element {
  const concerns = concernsOf(version, servers, compositions, live);
  const calm = calmWords(live);
  return (
    <>
      {!live.isUnnamed && <LiveSection live={live} />}
      <div class="overview">
        <div>
          <section class="card" aria-labelledby="concerns">
            <h2 id="concerns">Needs attention</h2>
            {concerns.length === 0 && servers.length === 0 ? (
              <FirstSteps />
            ) : concerns.length === 0 ? (
              <div class={calm.isWell ? 'empty all-well' : 'empty'}>
                <strong>{calm.isWell ? 'All clear' : 'No problem known'}</strong>
                <p>{calm.words}</p>
              </div>
            ) : (
              <ul class="concerns">
                {concerns.slice(0, SHOWN_MAX).map((concern) => (
                  <ConcernItem key={concern.what} concern={concern} />
                ))}
                {concerns.length > SHOWN_MAX && <li>and {concerns.length - SHOWN_MAX} more</li>}
              </ul>
            )}
          </section>
          {live.isUnnamed && <LiveSection live={live} />}
          {live.reading !== undefined && <LiveTables reading={live.reading} />}
        </div>
        <Inventory {...{ version, servers, compositions }} />
      </div>
    </>
  );
}

function FirstSteps(): JSX.Element {
  const isMaker = mayMake(useCaller());
  return (
    <Empty icon="servers" title="No servers yet">
      <p>
        Register your MCP servers, compose the tools that each team may use, and give its clients the address of the
        composition.
      </p>
      {isMaker && (
        <Link href="/servers/new" class="button main">
          Register a server
        </Link>
      )}
    </Empty>
  );
}

function Inventory({ version, servers, compositions }: Overview): JSX.Element {
  const counts = serverStates.map(
    (state) => [state, servers.filter((server) => stateOf(server) === state).length] as const,
  );
  return (
    <section class="card" aria-labelledby="inventory">
      <h2 id="inventory">Inventory</h2>
      {servers.length > 0 && (
        <div class="shares" aria-hidden="true">
          {counts
            .filter(([, count]) => count > 0)
            .map(([state, count]) => (
              <span key={state} class={state} style={{ flexGrow: count }} />
            ))}
        </div>
      )}
      <dl class="there">
        {counts.map(([state, count]) => (
          <StateRow key={state} state={state} count={count} />
        ))}
        <dt class="first">Tools</dt>
        <dd class="first">{servers.reduce((sum, { toolCount }) => sum + toolCount, 0).toLocaleString()}</dd>
        <dt>Compositions</dt>
        <dd>
          <Link href="/compose">{compositions.length}</Link>
        </dd>
        <dt>Version</dt>
        <dd>{version.app.version}</dd>
        <dt>Store</dt>
        <dd>{version.store.kind}</dd>
      </dl>
    </section>
  );
}

interface StateRowProps {
  readonly state: ServerState;
  readonly count: number;
}

function StateRow({ state, count }: StateRowProps): JSX.Element {
  return (
    <>
      <dt>
        <span class={count === 0 ? 'status' : `status ${state}`}>{state}</span>
      </dt>
      <dd class={count === 0 ? 'none' : undefined}>
        {count === 0 ? 'none' : <Link href={`/servers?status=${state}`}>{counted(count, 'servers')}</Link>}
      </dd>
    </>
  );
}

function ConcernItem({ concern: { what, why, page, remedy, isGrave } }: { readonly concern: Concern }): JSX.Element {
  return (
    <li class="concern">
      <span class={`status ${isGrave ? 'inactive' : 'failing'}`}>{isGrave ? 'critical' : 'warning'}</span>
      <div>
        <strong>{what}</strong>
        <p class="note">
          <Said text={why} />
        </p>
      </div>
      {page !== '' && (
        <Link class="button" href={page}>
          {remedy}
          <span class="unseen">: {what}</span>
        </Link>
      )}
    </li>
  );
}
