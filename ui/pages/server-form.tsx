// The form of a server, for a new one or a change. If another user has changed the server meanwhile, the form says so and loses nothing.
import type { JSX } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { ApiFault, ask, faultWords, type Answered } from '../api/api.js';
import type { Server, Tool } from '../api/types.js';
import { useCaller } from '../api/caller.js';
import { counted } from '../model/counted.js';
import { authWords, BLANK_DRAFT, draftOf, mergedForm, requestOf, type ServerDraft } from '../model/server-draft.js';
import { announce } from '../parts/announcements.js';
import { Field } from '../parts/field.js';
import { Fault } from '../parts/notices.js';
import { TeamField } from '../parts/team-field.js';
import { dropKeptDraft, forgetUnsaved, keptDraft, mayLeave, useDraft } from '../parts/unsaved.js';
import { CredentialFields } from './server/credential-fields.js';
import { ServerPreview } from './server-preview.js';

interface ServerFormProps {
  /** The server as it was read; absent for a new one. */
  readonly known?: Answered<Server>;
  readonly onDone: (server: Server) => unknown;
  readonly onCancel: () => unknown;
  readonly onReload?: () => Promise<void>;
}

/** What is kept of the form when the token ends. */
interface KeptForm {
  readonly draft: ServerDraft;
  readonly etag?: string;
}

export interface Preview {
  readonly server: Server;
  readonly tools: readonly Tool[];
}

export function ServerForm({ known, onDone, onCancel, onReload }: ServerFormProps): JSX.Element {
  const transportId = useId();
  const caller = useCaller();
  const [kept] = useState(() => keptDraft<KeptForm>());
  const [blank, setBlank] = useState(known === undefined ? BLANK_DRAFT : draftOf(known.value));
  const [draft, setDraft] = useState(kept?.draft ?? blank);
  // The ETag of the version that the form was filled with: a version read later may contain another user's changes.
  const [etag, setEtag] = useState(kept === undefined ? known?.etag : kept.etag);
  const [preview, setPreview] = useState<Preview>();
  const [fault, setFault] = useState('');
  const [isOutdated, setOutdated] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const hasEdits = isChanged(blank, draft);
  useDraft({ draft, etag }, hasEdits);
  useEffect(dropKeptDraft, []);
  const change = (members: Partial<ServerDraft>): void => {
    setDraft({ ...draft, ...members });
    setPreview(undefined);
  };
  const run = async (action: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setFault('');
    try {
      await action();
    } catch (error) {
      setOutdated(error instanceof ApiFault && error.status === 412);
      setFault(faultWords(error));
    }
    setBusy(false);
  };
  const look = (): Promise<void> =>
    run(async () => setPreview((await ask<Preview>('/probes', { method: 'POST', body: requestOf(draft) })).value));
  const save = (): Promise<void> =>
    run(async () => {
      const { value, unpublished } = await (known === undefined
        ? ask<Server>('/servers', { method: 'POST', body: requestOf(draft) })
        : ask<Server>(`/servers/${known.value.id}`, { method: 'PUT', body: requestOf(draft), ifMatch: etag }));
      const said = known === undefined ? 'registered' : 'saved';
      const left = unpublished > 0 ? `; still to be updated: ${counted(unpublished, 'user configs')}` : '';
      announce(`${value.name} is ${said}${left}`);
      forgetUnsaved();
      await onDone(value);
    });
  const isNew = known === undefined;
  const isWaiting = isBusy || isOutdated;
  /** What the fault is about, if it is a field: it is said there. */
  const faulty = /^(name|url)\b/.exec(fault)?.[1];
  /** Looked at, and not as it should be: what is mended elsewhere is tested again here. */
  const isFaulty = isNew && preview !== undefined && preview.server.lastError !== null;
  const isToBeTested = isNew && (preview === undefined || isFaulty);
  const testWords = isFaulty ? 'Test again' : 'Test connection';
  const submitWords = isToBeTested ? testWords : isNew ? 'Register server' : 'Save changes';
  return (
    <form
      class={isNew ? 'server-form' : 'server-form known'}
      aria-label={isNew ? 'New server' : 'Edit the server'}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isWaiting) void (isToBeTested ? look() : save());
      }}
    >
      <div class="card">
        <h2>{isNew ? 'Server details' : 'Edit server'}</h2>
        <Field
          label="Name"
          value={draft.name}
          isRequired
          placeholder="github"
          fault={faulty === 'name' ? fault : ''}
          onChange={(name) => change({ name })}
        />
        <Field
          label="URL of its MCP endpoint"
          type="url"
          placeholder="https://mcp.example.com/mcp"
          value={draft.url}
          isRequired
          fault={faulty === 'url' ? fault : ''}
          onChange={(url) => change({ url })}
        />
        <div class="field">
          <label for={transportId}>Transport</label>
          <select
            id={transportId}
            value={draft.transport}
            onChange={({ currentTarget: { value } }) =>
              change({ transport: value === 'SSE' ? 'SSE' : 'STREAMABLEHTTP' })
            }
          >
            <option value="STREAMABLEHTTP">Streamable HTTP</option>
            <option value="SSE">SSE, the older one: the URL is that of its event stream</option>
          </select>
        </div>
        <CredentialFields draft={draft} known={isNew ? undefined : authWords(known.value.auth)} change={change} />
        <Field label="Description" value={draft.description} onChange={(description) => change({ description })} />
        <div class="pair">
          <Field label="Tags" value={draft.tags} help="Separated by commas" onChange={(tags) => change({ tags })} />
          <TeamField
            caller={caller}
            value={draft.team}
            known={known?.value.team}
            isNew={isNew}
            onChange={(team) => change({ team })}
          />
        </div>
      </div>
      {isNew && <ServerPreview preview={preview} />}
      <div class="bar">
        <Fault words={faulty === undefined ? fault : ''} />
        {isOutdated && (
          <button
            type="button"
            onClick={() =>
              void run(async () => {
                const current = await ask<Server>(`/servers/${known?.value.id ?? ''}`);
                const theirs = draftOf(current.value);
                setDraft(mergedForm(blank, draft, theirs));
                setBlank(theirs);
                setEtag(current.etag);
                setOutdated(false);
                await onReload?.();
                announce('The form has what somebody else has changed, and what you have; save it to keep both');
              })
            }
          >
            Reload and keep my changes
          </button>
        )}
        <div class="actions">
          <button type="button" disabled={isBusy} onClick={() => mayLeave() && onCancel()}>
            Cancel
          </button>
          {isFaulty && (
            <button type="button" disabled={isBusy} onClick={() => void save()}>
              Register anyway
            </button>
          )}
          <button class="main" aria-disabled={isWaiting}>
            {isToBeTested && isBusy ? 'Testing …' : submitWords}
          </button>
        </div>
      </div>
    </form>
  );
}

function isChanged(blank: ServerDraft, draft: ServerDraft): boolean {
  return Object.entries(draft).some(([member, value]) => value !== blank[member as keyof ServerDraft]);
}
