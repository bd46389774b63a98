// One server: its state, what it offers, its settings, and the actions on it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { ask, faultWords, type Answered } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { RefreshReport, Server } from '../api/types.js';
import { mayChange } from '../model/permission.js';
import { refreshWords } from '../model/refresh-words.js';
import { announce } from '../parts/announcements.js';
import { Crumb, UnknownHeading } from '../parts/crumb.js';
import { Icon } from '../parts/icon.js';
import { Fault, Loaded } from '../parts/notices.js';
import { CodeBlock, LongSaid } from '../parts/said.js';
import { Status } from '../parts/status.js';
import { useTitle } from '../parts/title.js';
import { keptDraft, mayLeave } from '../parts/unsaved.js';
import { isMissed, LossQuestion } from './server/loss-question.js';
import { ServerFacts, ServerHealth, ServerObstacle } from './server/server-facts.js';
import { ServerOffers } from './server/server-offers.js';
import { ServerUsers } from './server/server-users.js';
import { ServerConnection } from './server-connection.js';
import { ServerForm } from './server-form.js';

export function ServerPage({ reference }: { readonly reference: string }): JSX.Element {
  const path = `/servers/${encodeURIComponent(reference)}`;
  const server = useQuery(path, () => ask<Server>(path));
  return (
    <>
      {server.value === undefined && <UnknownHeading to="/servers" {...{ reference }} isReading={server.isReading} />}
      <Loaded query={server}>{(read) => <ServerDetails read={read} reload={server.reload} />}</Loaded>
    </>
  );
}

interface DetailsProps {
  readonly read: Answered<Server>;
  readonly reload: () => Promise<void>;
}

function ServerDetails({ read, reload }: DetailsProps): JSX.Element {
  const server = read.value;
  const [isEdited, setEdited] = useState(keptDraft() !== undefined);
  const caller = useCaller();
  const isChangeable = mayChange(caller, server);
  useTitle(server.name);
  return (
    <>
      <div class="heading">
        <div>
          <div class="titled">
            <Crumb to="/servers" />
            <h1>{server.name}</h1>
            <Status server={server} />
          </div>
          <div class="note">
            <LongSaid text={server.description} />
          </div>
        </div>
        <ServerActions
          read={read}
          reload={reload}
          onEdit={() => mayLeave() && setEdited(!isEdited)}
          isEdited={isEdited}
        />
      </div>
      <ServerObstacle server={server} />
      {isEdited ? (
        <ServerForm
          known={read}
          onDone={async () => {
            await reload();
            setEdited(false);
          }}
          onCancel={() => setEdited(false)}
          onReload={reload}
        />
      ) : (
        <ServerColumns server={server} isChangeable={isChangeable} />
      )}
    </>
  );
}

interface ColumnsProps {
  readonly server: Server;
  readonly isChangeable: boolean;
}

function ServerColumns({ server, isChangeable }: ColumnsProps): JSX.Element {
  return (
    <div class="server">
      <div>
        <ServerUsers server={server} />
        <ServerHealth server={server} />
        <ServerFacts server={server} />
      </div>
      <div>
        {server.auth?.type === 'oauth2-user' && <ServerConnection server={server} isChangeable={isChangeable} />}
        <ServerOffers server={server} />
        {server.serverInfo !== null && (
          <section class="card folded" aria-labelledby="itself">
            <details>
              <summary>
                <h2 id="itself">Reported by the server</h2>
              </summary>
              <CodeBlock label="Server info" text={server.serverInfo} />
              <h3>Capabilities</h3>
              <CodeBlock label="Capabilities" text={server.capabilities} />
            </details>
          </section>
        )}
      </div>
    </div>
  );
}

interface ActionsProps extends DetailsProps {
  readonly isEdited: boolean;
  readonly onEdit: () => void;
}

function ServerActions({ read, reload, isEdited, onEdit }: ActionsProps): JSX.Element {
  const server = read.value;
  const path = `/servers/${server.id}`;
  const [underway, setUnderway] = useState('');
  const [fault, setFault] = useState('');
  const [asked, setAsked] = useState<'Delete' | 'Disable'>();
  const [, navigate] = useLocation();
  const run = async (name: string, action: () => Promise<string>): Promise<void> => {
    setUnderway(name);
    setFault('');
    try {
      announce(await action());
    } catch (error) {
      setFault(faultWords(error));
    }
    setUnderway('');
  };
  const refresh = (): Promise<void> =>
    run('refresh', async () => {
      const { value } = await ask<RefreshReport>(`${path}/refresh`, { method: 'POST' });
      await reload();
      return refreshWords(value);
    });
  const setEnabled = (enabled: boolean): Promise<void> =>
    run('enable', async () => {
      const { name, url } = server;
      await ask(path, { method: 'PUT', body: { name, url, enabled }, ifMatch: read.etag });
      await reload();
      return `${name} is ${enabled ? 'enabled' : 'disabled'}`;
    });
  // Nobody is asked where nobody loses anything.
  const disable = async (): Promise<void> => {
    const isAsked = await isMissed([server]).catch(() => true);
    if (isAsked) setAsked('Disable');
    else await setEnabled(false);
  };
  const remove = (): Promise<void> =>
    run('remove', async () => {
      await ask(path, { method: 'DELETE', ifMatch: read.etag });
      navigate('/servers');
      return `${server.name} was deleted`;
    });
  const isBusy = underway !== '';
  const isWell = server.enabled && server.status === 'active' && server.reachable;
  const isChangeable = mayChange(useCaller(), server);
  return (
    <>
      <div class="actions">
        {server.enabled && server.status === 'active' && (
          <Link class={isWell ? 'button main' : 'button'} href={`/playground?server=${server.id}`}>
            <Icon name="playground" />
            Try its tools
          </Link>
        )}
        {isChangeable && (
          <>
            <button
              type="button"
              class={isWell || !server.enabled ? '' : 'main'}
              disabled={isBusy}
              onClick={() => void refresh()}
            >
              <Icon name="refresh" />
              {underway === 'refresh' ? 'Refreshing …' : 'Refresh'}
            </button>
            <button
              type="button"
              class={server.enabled ? '' : 'main'}
              disabled={isBusy}
              onClick={() => void (server.enabled ? disable() : setEnabled(true))}
            >
              <Icon name={server.enabled ? 'disable' : 'enable'} />
              {server.enabled ? 'Disable' : 'Enable'}
            </button>
            <button type="button" aria-expanded={isEdited} onClick={onEdit}>
              <Icon name="edit" />
              Edit
            </button>
            <button type="button" class="danger" disabled={isBusy} onClick={() => setAsked('Delete')}>
              <Icon name="remove" />
              Delete
            </button>
          </>
        )}
      </div>
      <Fault words={fault} />
      {asked !== undefined && (
        <LossQuestion
          servers={[server]}
          action={asked}
          onAnswer={(isMeant) => {
            setAsked(undefined);
            if (isMeant) void (asked === 'Delete' ? remove() : setEnabled(false));
          }}
        />
      )}
    </>
  );
}
