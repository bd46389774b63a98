// One server: its state, what it offers, its settings, and the actions on it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { ask, askAll, faultWords, type Answered } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { Composition, RefreshReport, Server } from '../api/types.js';
import { mayChange, mayMake, ownerWords } from '../model/permission.js';
import { refreshWords } from '../model/refresh-words.js';
import { authWords } from '../model/server-draft.js';
import { subjectWords } from '../model/subject-words.js';
import { announce } from '../parts/announcements.js';
import { Confirmation } from '../parts/confirmation.js';
import { Fault, Loaded } from '../parts/notices.js';
import { CodeBlock, LongSaid, Said } from '../parts/said.js';
import { Since } from '../parts/since.js';
import { Status } from '../parts/status.js';
import { HealthHistory } from './server/health-history.js';
import { ServerConnection } from './server-connection.js';
import { ServerForm } from './server-form.js';
import { ServerLists } from './server-lists.js';
import { ServerTools } from './server-tools.js';

export function ServerPage({ reference }: { readonly reference: string }): JSX.Element {
  const path = `/servers/${encodeURIComponent(reference)}`;
  const server = useQuery(path, () => ask<Server>(path));
  return <Loaded query={server}>{(read) => <ServerDetails read={read} reload={server.reload} />}</Loaded>;
}

interface DetailsProps {
  readonly read: Answered<Server>;
  readonly reload: () => Promise<void>;
}

function ServerDetails({ read, reload }: DetailsProps): JSX.Element {
  const server = read.value;
  const [isEdited, setEdited] = useState(false);
  const caller = useCaller();
  const isMaker = mayMake(caller);
  const isChangeable = mayChange(caller, server);
  return (
    <>
      <div class="heading">
        <h1>{server.name}</h1>
        <Status server={server} />
      </div>
      <LongSaid text={server.description} />
      <ServerActions read={read} reload={reload} onEdit={() => setEdited(!isEdited)} isEdited={isEdited} />
      {isEdited && (
        <ServerForm
          known={read}
          onDone={async () => {
            await reload();
            setEdited(false);
          }}
          onReload={reload}
        />
      )}
      <section aria-labelledby="health">
        <h2 id="health">Health</h2>
        {server.lastError !== null && (
          <div class="fault">
            <p>
              <Said text={server.lastError} max={2_000} />
            </p>
          </div>
        )}
        <dl>
          <dt>Last reached</dt>
          <dd>
            <Since time={server.lastSeen} />
          </dd>
          <dt>Lists last read</dt>
          <dd>
            <Since time={server.lastRefreshAt} />
          </dd>
          <dt>Last edited</dt>
          <dd>
            <Since time={server.updatedAt} />
            {isMaker && (
              <>
                {' '}
                <Link href={`/audit?record=${server.id}`}>See the changes</Link>
              </>
            )}
          </dd>
          <dt>Address</dt>
          <dd>
            <Said text={server.url} max={2_000} />
          </dd>
          {ownerWords(server) !== '' && (
            <>
              <dt>Belongs to</dt>
              <dd>
                <Said text={ownerWords(server)} max={400} />
              </dd>
            </>
          )}
          <dt>Offers</dt>
          <dd>{offerWords(server)}</dd>
          <dt>Speaks</dt>
          <dd>
            {ERA_WORDS[(server.eras?.length ?? 0) > 1 ? 'both' : (server.era ?? 'unknown')]}
            {server.transport === 'SSE' && ', over the older transport (SSE)'}
          </dd>
          <dt>Credentials</dt>
          <dd>{authWords(server.auth)}</dd>
          <dt>Tags</dt>
          <dd>{server.tags.length === 0 ? 'none' : server.tags.join(', ')}</dd>
        </dl>
        <HealthHistory server={server} />
      </section>
      {server.auth?.type === 'oauth2-user' && <ServerConnection server={server} isChangeable={isChangeable} />}
      <ServerTools server={server} />
      <ServerLists server={server} />
      <section aria-labelledby="itself">
        <h2 id="itself">Its own description</h2>
        <CodeBlock label="Server info" text={server.serverInfo ?? 'It has never been reached.'} />
        <h3>Capabilities</h3>
        <CodeBlock label="Capabilities" text={server.capabilities} />
      </section>
    </>
  );
}

const ERA_WORDS = {
  legacy: 'MCP with sessions (2025-11-25 or before)',
  modern: 'MCP without sessions (2026-07-28)',
  both: 'MCP with sessions, and without (2026-07-28)',
  unknown: 'not known yet',
} as const;

function offerWords({ toolCount, promptCount, resourceCount, templateCount }: Server): string {
  const counted = [
    [toolCount, 'tools'],
    [promptCount, 'prompts'],
    [resourceCount, 'resources'],
    [templateCount, 'templates of resources'],
  ] as const;
  return counted.map(([count, kind]) => `${count ?? '?'} ${kind}`).join(', ');
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
  const [isRemoving, setRemoving] = useState(false);
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
      return `${name} is ${enabled ? 'in service again' : 'out of service'}`;
    });
  const remove = (): Promise<void> =>
    run('remove', async () => {
      await ask(path, { method: 'DELETE', ifMatch: read.etag });
      navigate('/servers');
      return `${server.name} is gone`;
    });
  const isBusy = underway !== '';
  const isChangeable = mayChange(useCaller(), server);
  return (
    <>
      <div class="actions">
        <Link class="button main" href={`/playground?server=${server.id}`}>
          Try its tools
        </Link>
        {isChangeable && (
          <>
            <button type="button" disabled={isBusy} onClick={() => void refresh()}>
              {underway === 'refresh' ? 'Probing it …' : 'Refresh'}
            </button>
            <button type="button" disabled={isBusy} onClick={() => void setEnabled(!server.enabled)}>
              {server.enabled ? 'Disable' : 'Enable'}
            </button>
            <button type="button" aria-expanded={isEdited} onClick={onEdit}>
              Change
            </button>
            <button type="button" class="danger" disabled={isBusy} onClick={() => setRemoving(true)}>
              Delete
            </button>
          </>
        )}
      </div>
      <Fault words={fault} />
      {isRemoving && (
        <RemovalQuestion
          server={server}
          onAnswer={(isMeant) => {
            setRemoving(false);
            if (isMeant) void remove();
          }}
        />
      )}
    </>
  );
}

interface RemovalProps {
  readonly server: Server;
  readonly onAnswer: (isMeant: boolean) => void;
}

function RemovalQuestion({ server, onAnswer }: RemovalProps): JSX.Element {
  const compositions = useQuery('compositions', () => askAll<Composition>('/compositions'));
  return (
    <Confirmation title={`Delete ${server.name}?`} action="Delete" onAnswer={onAnswer}>
      <Loaded query={compositions}>
        {(all) => {
          const using = all.filter(({ servers }) => servers.some(({ name }) => name === server.name));
          if (using.length === 0) return <p>No composition uses it.</p>;
          return (
            <>
              <p>These compositions lose its tools until it is registered again under this name:</p>
              <ul>
                {using.map(({ id, name, subjects }) => (
                  <li key={id}>
                    {name}, {subjectWords(subjects.length)}
                  </li>
                ))}
              </ul>
            </>
          );
        }}
      </Loaded>
    </Confirmation>
  );
}
