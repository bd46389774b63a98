// What is known about a server: how it does, where it is, and what it offers.
import type { ComponentChildren, JSX } from 'preact';
import { Link } from 'wouter-preact';
import { useCaller } from '../../api/caller.js';
import type { Server } from '../../api/types.js';
import { mayMake, ownerWords } from '../../model/permission.js';
import { plainReason, taskWords } from '../../model/reason-words.js';
import { stateOf, type ServerState } from '../../model/server-state.js';
import { authWords } from '../../model/server-draft.js';
import { Said } from '../../parts/said.js';
import { Since } from '../../parts/since.js';
import { HealthHistory } from './health-history.js';

/** Why nobody gets its tools, or soon may not; nothing where all is well. */
export function ServerObstacle({ server }: { readonly server: Server }): JSX.Element | null {
  const state = stateOf(server);
  const words = OBSTACLES[state];
  if (words === '' && server.lastError === null) return null;
  return (
    <div class={state === 'disabled' ? 'notice' : 'fault'}>
      <p>
        {server.lastError !== null && (
          <>
            <strong>
              Last check: <Said text={plainReason(server.lastError)} max={2_000} />.
            </strong>{' '}
            <Said text={taskWords(server.lastError)} max={2_000} />{' '}
          </>
        )}
        {words}
      </p>
    </div>
  );
}

const OBSTACLES = {
  active: '',
  failing: 'It is still in use.',
  inactive: 'Nobody gets its tools. It is checked again from time to time; Refresh checks it now.',
  disabled: 'It is disabled: nobody gets its tools until it is enabled.',
} as const satisfies Record<ServerState, string>;

export function ServerHealth({ server }: { readonly server: Server }): JSX.Element {
  return (
    <section class="card" aria-labelledby="health">
      <h2 id="health">Health</h2>
      <dl>
        <Fact name="Last reached">
          <Since time={server.lastSeen} />
        </Fact>
        <Fact name="Last refreshed">
          <Since time={server.lastRefreshAt} />
        </Fact>
      </dl>
      <HealthHistory server={server} />
    </section>
  );
}

export function ServerFacts({ server }: { readonly server: Server }): JSX.Element {
  const isMaker = mayMake(useCaller());
  const owner = ownerWords(server);
  return (
    <section class="card" aria-labelledby="about">
      <h2 id="about">Details</h2>
      <dl>
        <Fact name="Address">
          <Said text={server.url} max={2_000} />
        </Fact>
        <Fact name="Protocol">
          {ERA_WORDS[(server.eras?.length ?? 0) > 1 ? 'both' : (server.era ?? 'unknown')]}
          {server.transport === 'SSE' && ', over the older transport (SSE)'}
        </Fact>
        <Fact name="Credentials">{authWords(server.auth)}</Fact>
        {owner !== '' && (
          <Fact name="Belongs to">
            <Said text={owner} max={400} />
          </Fact>
        )}
        <Fact name="Tags">
          {server.tags.length === 0 ? (
            'none'
          ) : (
            <span class="chips">
              {server.tags.map((tag) => (
                <span key={tag}>{tag}</span>
              ))}
            </span>
          )}
        </Fact>
        <Fact name="Last edited">
          <Since time={server.updatedAt} />
          {isMaker && (
            <>
              {' '}
              <Link href={`/audit?record=${server.id}`}>See the changes</Link>
            </>
          )}
        </Fact>
      </dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

const ERA_WORDS = {
  legacy: 'MCP with sessions (2025-11-25 or before)',
  modern: 'MCP without sessions (2026-07-28)',
  both: 'MCP with sessions, and without (2026-07-28)',
  unknown: 'not known yet',
} as const;
