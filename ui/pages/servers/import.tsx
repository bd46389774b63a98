// Registers the servers of a client's settings file: shows first what each becomes, then what became of each.
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { ask, faultWords } from '../../api/api.js';
import { useCaller } from '../../api/caller.js';
import type { Server } from '../../api/types.js';
import { counted } from '../../model/counted.js';
import { mayMake } from '../../model/permission.js';
import { reasonWords } from '../../model/reason-words.js';
import { secretCommand } from '../../model/server-draft.js';
import type { ImportBody, ImportedServer } from '../../model/settings-file.js';
import { Crumb } from '../../parts/crumb.js';
import { Copied } from '../../parts/copied.js';
import { Empty } from '../../parts/empty.js';
import { Icon } from '../../parts/icon.js';
import { Fault } from '../../parts/notices.js';
import { OutcomeList, outcomeCounts, runAll, type Outcome } from '../../parts/outcomes.js';
import { CodeBlock, Said } from '../../parts/said.js';
import { useTitle } from '../../parts/title.js';
import { forgetUnsaved, useUnsaved } from '../../parts/unsaved.js';
import { useServers } from '../servers.js';

const BYTES_MAX = 1_048_576;
const EXAMPLE = `{
  "mcpServers": {
    "github": { "url": "https://mcp.example.com/mcp" }
  }
}`;

export function ImportPage(): JSX.Element {
  const caller = useCaller();
  useTitle('Import servers');
  return (
    <>
      <div class="heading">
        <div>
          <div class="titled">
            <Crumb to="/servers" />
            <h1>Import servers</h1>
          </div>
          <p class="note">
            From the settings of Claude, Cursor, VS Code, Codex and other clients: JSON, TOML or YAML. You see first
            what would be registered.
          </p>
        </div>
      </div>
      {caller !== undefined && !mayMake(caller) ? (
        <div class="notice">
          <p>Registering servers requires the role editor.</p>
        </div>
      ) : (
        <Import />
      )}
    </>
  );
}

function Import(): JSX.Element {
  const id = useId();
  const known = useServers();
  const [text, setText] = useState('');
  const [fault, setFault] = useState('');
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>();
  const read = useSettings(text);
  const taken = new Set((known.value ?? []).map(({ name }) => name));
  const listed = typeof read === 'string' ? [] : read;
  const ready = listed.flatMap(({ name, body }) => (body === undefined || taken.has(name) ? [] : [body]));
  const isBusy = outcomes !== undefined && outcomeCounts(outcomes).open > 0;
  useUnsaved(ready.length > 0 && outcomes === undefined);
  const type = (typed: string): void => {
    setText(typed);
    setOutcomes(undefined);
    setFault('');
  };
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    if (file.size > BYTES_MAX) setFault(`${file.name} has more than 1 MiB: it is hardly a settings file`);
    else type(await file.text());
  };
  const run = async (): Promise<void> => {
    forgetUnsaved();
    await runAll(
      ready.map((body) => ({ key: body.name, name: body.name, act: () => register(body) })),
      setOutcomes,
    );
    await known.reload();
  };
  const secrets = listed
    .flatMap((server) => server.secrets.map((secret) => secretCommand(secret, [server.body?.url ?? ''])))
    .join('\n');
  return (
    <div class="columns import">
      <section class="card" aria-labelledby={`${id}-file`}>
        <h2 id={`${id}-file`}>Settings file</h2>
        <div
          class="field"
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            void take(event.dataTransfer?.files[0]);
          }}
        >
          <label for={`${id}-text`}>Paste it here, or drop the file</label>
          <textarea
            id={`${id}-text`}
            rows={14}
            spellcheck={false}
            placeholder={EXAMPLE}
            value={text}
            disabled={isBusy}
            onInput={({ currentTarget }) => type(currentTarget.value)}
          />
          <p class="note">Values of headers stay in this browser: they are neither sent nor stored.</p>
        </div>
        <label class="button file">
          <Icon name="upload" />
          Choose a file
          <input
            type="file"
            accept=".json,.jsonc,.toml,.yaml,.yml,application/json"
            onChange={({ currentTarget }) => void take(currentTarget.files?.[0])}
          />
        </label>
        <Fault words={fault} />
        {typeof read === 'string' && <Fault words={read} />}
      </section>
      <section class="card" aria-labelledby={`${id}-found`}>
        <h2 id={`${id}-found`}>{outcomes === undefined ? 'Preview' : 'Results'}</h2>
        {outcomes !== undefined ? (
          <OutcomeList
            outcomes={outcomes}
            linkOf={({ name }) => <Link href={`/servers/${encodeURIComponent(name)}`}>{name}</Link>}
          />
        ) : listed.length === 0 ? (
          <Empty icon="import" title="No preview yet">
            <p>Each server of the file appears here, with what would become of it.</p>
          </Empty>
        ) : (
          <ul class="outcomes" aria-label="Servers of the file">
            {listed.map((server) => (
              <Planned key={server.name} server={server} isTaken={taken.has(server.name)} />
            ))}
          </ul>
        )}
        {secrets !== '' && (
          <div class="notice">
            <p>The servers accept requests once these secrets are set; each command reads the value from its input:</p>
            <Copied text={secrets} what="the commands">
              <CodeBlock label="Commands that set the secrets" text={secrets} />
            </Copied>
          </div>
        )}
        {outcomes === undefined && listed.length > 0 && (
          <div class="actions">
            <button type="button" class="main" disabled={ready.length === 0} onClick={() => void run()}>
              Import {counted(ready.length, 'servers')}
            </button>
          </div>
        )}
        {outcomes !== undefined && !isBusy && (
          <div class="actions">
            <Link class="button main" href="/servers">
              View servers
            </Link>
          </div>
        )}
      </section>
    </div>
  );
}

/** What the text says, or why it says nothing. What reads it is loaded here alone. */
function useSettings(text: string): readonly ImportedServer[] | string {
  const [read, setRead] = useState<readonly ImportedServer[] | string>([]);
  useEffect(() => {
    let isOver = false;
    const reading =
      text.trim() === ''
        ? Promise.resolve([])
        : import('../../model/settings-file.js').then(({ serversInSettings }) => serversInSettings(text));
    reading.catch(faultWords).then(
      (found) => {
        if (!isOver) setRead(found);
      },
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [text]);
  return read;
}

async function register(body: ImportBody): Promise<string> {
  const { value } = await ask<Server>('/servers', { method: 'POST', body });
  if (value.lastError !== null) throw new Error(`registered, but it cannot be used: ${reasonWords(value.lastError)}`);
  return `registered, with ${counted(value.toolCount, 'tools')}`;
}

function Planned({ server, isTaken }: { readonly server: ImportedServer; readonly isTaken: boolean }): JSX.Element {
  const { name, body, note } = server;
  const isLeft = body === undefined || isTaken;
  const words = isTaken ? 'is registered already: left as it is' : note;
  return (
    <li class={isLeft ? 'left' : 'done'}>
      <Icon name={isLeft ? 'note' : 'add'} />
      <span class="name">
        <Said text={name} max={100} />
      </span>
      <span class="note">
        {body !== undefined && <Said text={body.url} max={200} />}
        {body !== undefined && words !== '' && '; '}
        {words}
      </span>
    </li>
  );
}
