// The page of one composition: items are picked by search and checkboxes, previewed as clients will see them, and then published.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { ApiFault, ask, faultWords, type Answered } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import { subject } from '../api/session.js';
import type { Composition, Server } from '../api/types.js';
import {
  BLANK_COMPOSITION,
  compositionDraftOf,
  compositionRequest,
  differencesOf,
  mergedDraft,
  subjectsIn,
  withUser,
  type CompositionDraft,
  type Difference,
} from '../model/composition-draft.js';
import { counted } from '../model/counted.js';
import { mayChange, mayMake, ownerWords } from '../model/permission.js';
import { seenOf } from '../model/seen-items.js';
import { settingsName } from '../model/client-settings.js';
import { announce } from '../parts/announcements.js';
import { Confirmation } from '../parts/confirmation.js';
import { Crumb, UnknownHeading } from '../parts/crumb.js';
import { Field } from '../parts/field.js';
import { Icon } from '../parts/icon.js';
import { Fault, Loaded } from '../parts/notices.js';
import { TeamField } from '../parts/team-field.js';
import { useTitle } from '../parts/title.js';
import { dropKeptDraft, forgetUnsaved, keptDraft, useDraft } from '../parts/unsaved.js';
import { ChosenList } from './compose/chosen-list.js';
import { ClientSettingsList } from './compose/client-settings.js';
import { DifferenceList } from './compose/differences.js';
import { ItemPicker } from './compose/item-picker.js';
import { useLists } from './compose/use-lists.js';
import { useServers } from './servers.js';

const NO_SERVERS: readonly Server[] = [];

export function ComposePage({ reference }: { readonly reference: string }): JSX.Element {
  return reference === 'new' ? <Composer /> : <KnownComposition reference={reference} />;
}

function KnownComposition({ reference }: { readonly reference: string }): JSX.Element {
  const path = `/compositions/${encodeURIComponent(reference)}`;
  const composition = useQuery(path, () => ask<Composition>(path));
  return (
    <>
      {composition.value === undefined && (
        <UnknownHeading to="/compose" {...{ reference }} isReading={composition.isReading} />
      )}
      <Loaded query={composition}>{(read) => <Composer key={reference} known={read} />}</Loaded>
    </>
  );
}

/** What is kept of the page when the token ends. */
interface KeptComposition {
  readonly draft: CompositionDraft;
  readonly published?: Answered<Composition>;
}

function Composer({ known }: { readonly known?: Answered<Composition> }): JSX.Element {
  const servers = useServers();
  const caller = useCaller();
  const isChangeable = known === undefined ? mayMake(caller) : mayChange(caller, known.value);
  const [kept] = useState(() => keptDraft<KeptComposition>());
  const [published, setPublished] = useState(kept === undefined ? known : kept.published);
  const before = useMemo(
    () => (published === undefined ? BLANK_COMPOSITION : compositionDraftOf(published.value)),
    [published],
  );
  const [draft, setDraft] = useState<CompositionDraft>(() => {
    const user = new URLSearchParams(location.search).get('user');
    return kept?.draft ?? (user === null ? before : withUser(before, user));
  });
  const lists = useLists();
  /** What another user has changed in the composition meanwhile. */
  const [theirs, setTheirs] = useState<readonly Difference[]>([]);
  const [isForced, setForced] = useState(false);
  const [fault, setFault] = useState('');
  const [isOutdated, setOutdated] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [isRemoving, setRemoving] = useState(false);
  const [, navigate] = useLocation();
  const path = `/compositions/${published?.value.id ?? ''}`;
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
  const publish = (): Promise<void> =>
    run(async () => {
      const body = compositionRequest(draft);
      const force = isForced ? '?force=true' : '';
      const answered = await (published === undefined
        ? ask<Composition>(`/compositions${force}`, { method: 'POST', body })
        : ask<Composition>(`${path}${force}`, { method: 'PUT', body, ifMatch: published.etag }));
      forgetUnsaved();
      setPublished(answered);
      setDraft(compositionDraftOf(answered.value));
      setTheirs([]);
      const left = answered.unpublished;
      announce(
        left > 0 ? `Saved; still to be updated: ${counted(left, 'user configs')}` : 'Published: clients can see it now',
      );
      if (published === undefined) navigate(`/compose/${answered.value.id}`, { replace: true });
    });
  const remove = (): Promise<void> =>
    run(async () => {
      await ask(path, { method: 'DELETE', ifMatch: published?.etag });
      forgetUnsaved();
      announce(`${before.name} is gone`);
      navigate('/compose');
    });
  const readAgain = (): Promise<void> =>
    run(async () => {
      const now = await ask<Composition>(path);
      const current = compositionDraftOf(now.value);
      setTheirs(differencesOf(before, current));
      setDraft(mergedDraft(before, draft, current));
      setPublished(now);
      setOutdated(false);
    });
  const differences = differencesOf(before, draft);
  const listed = subjectsIn(draft.subjects);
  useDraft({ draft, published }, isChangeable && differences.length > 0);
  useEffect(dropKeptDraft, []);
  // The cached composition is shown first; a newer one that is read in the background replaces it only while the draft is unchanged.
  useEffect(() => {
    if (known === undefined || published === undefined || differences.length > 0) return;
    if (known.etag === published.etag || known.value.updatedAt < published.value.updatedAt) return;
    setPublished(known);
    setDraft(compositionDraftOf(known.value));
  }, [known?.etag]);
  const all = servers.value;
  useTitle(published === undefined ? 'New composition' : before.name);
  const seen = useMemo(
    () => seenOf(draft.servers, all ?? [], lists.known, settingsName(draft.name)),
    [draft.servers, draft.name, all, lists.known],
  );
  // `isReady` guards the submission: a button that is disabled loses the focus, and keyboard users their place.
  const isReady = isChangeable && !isBusy && !isOutdated && differences.length > 0;
  const isSomethingMissing =
    seen.idle.length > 0 || seen.items.some(({ faults }) => faults.includes('does not exist at present'));
  return (
    <form
      aria-label="Composition"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void publish();
      }}
      // Pressing Enter in a field must not publish.
      onKeyDown={(event) => {
        if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault();
      }}
    >
      <div class="heading">
        <div>
          <div class="titled">
            <Crumb to="/compose" />
            <h1>{published === undefined ? 'New composition' : before.name}</h1>
          </div>
          {caller !== undefined && !isChangeable && (
            <p class="note">
              {known === undefined
                ? 'Composing requires the role editor.'
                : `Not yours to change. ${whoseWords(known.value)}`}
            </p>
          )}
        </div>
        {published !== undefined && (
          <div class="actions">
            {published.value.subjects.includes(subject.value) && (
              <Link class="button" href={`/playground?composition=${published.value.id}`}>
                <Icon name="playground" />
                Try its tools
              </Link>
            )}
            <button
              type="button"
              onClick={() => document.getElementById('settings')?.scrollIntoView({ block: 'center' })}
            >
              <Icon name="copy" />
              Connect
            </button>
            {isChangeable && (
              <button type="button" class="danger" onClick={() => setRemoving(true)}>
                <Icon name="remove" />
                Delete
              </button>
            )}
          </div>
        )}
      </div>
      <section class="card itself" aria-labelledby="itself">
        <h2 id="itself">Details and access</h2>
        <div class="columns fields">
          <div>
            <Field label="Name" value={draft.name} isRequired onChange={(name) => setDraft({ ...draft, name })} />
            <Field
              label="Description"
              value={draft.description}
              onChange={(description) => setDraft({ ...draft, description })}
            />
          </div>
          <Field
            label="Users"
            rows={4}
            value={draft.subjects}
            help={
              listed.length === 0 || listed.includes(subject.value)
                ? 'Who may use it: one user per line, by the sub of their tokens. Empty: only you.'
                : 'Who may use it. You are not among them, and cannot try its tools.'
            }
            onChange={(subjects) => setDraft({ ...draft, subjects })}
          />
          <div>
            <TeamField
              caller={caller}
              value={draft.team}
              known={published?.value.team}
              isNew={published === undefined}
              onChange={(team) => setDraft({ ...draft, team })}
            />
            <label class="choice">
              <input
                type="checkbox"
                checked={draft.exposure === 'search'}
                onChange={({ currentTarget }) =>
                  setDraft({ ...draft, exposure: currentTarget.checked ? 'search' : 'all' })
                }
              />
              Many tools: clients see only two, find_tools and call_tool, and search for the others
            </label>
          </div>
        </div>
      </section>
      <div class="composer">
        <div class="card contents">
          <Loaded query={servers}>
            {(read) => <ItemPicker servers={read} draft={draft} lists={lists} onChange={setDraft} />}
          </Loaded>
        </div>
        <ChosenList {...{ seen, draft }} servers={all ?? NO_SERVERS} lists={lists.known} onChange={setDraft} />
      </div>
      {theirs.length > 0 && (
        <DifferenceList id="theirs" title="Changed by somebody else meanwhile" differences={theirs} />
      )}
      <DifferenceList
        id="differences"
        title={published === undefined ? 'To be published' : 'Unpublished changes'}
        differences={differences}
      />
      {published !== undefined && <ClientSettingsList id={published.value.id} name={published.value.name} />}
      {isChangeable && (
        <div class="bar">
          <Fault words={fault} />
          {isSomethingMissing && differences.length > 0 && (
            <label class="choice">
              <input
                type="checkbox"
                checked={isForced}
                onChange={({ currentTarget }) => setForced(currentTarget.checked)}
              />
              Publish although some of it does not exist at present
            </label>
          )}
          <div class="actions">
            <span class="told">{changeWords(differences.length, published === undefined)}</span>
            {isOutdated && (
              <button type="button" class="main" onClick={() => void readAgain()}>
                Reload and keep my changes
              </button>
            )}
            {differences.length > 0 && !isBusy && !isOutdated && (
              <button type="button" onClick={() => setDraft(before)}>
                Discard
              </button>
            )}
            <button class={isOutdated ? '' : 'main'} aria-disabled={!isReady}>
              {isBusy ? 'Publishing …' : 'Publish'}
            </button>
          </div>
        </div>
      )}
      {isRemoving && (
        <Confirmation
          title={`Delete ${before.name}?`}
          action="Delete"
          onAnswer={(isMeant) => {
            setRemoving(false);
            if (isMeant) void remove();
          }}
        >
          <p>Its users lose it immediately: {published?.value.subjects.slice(0, 10).join(', ')}</p>
        </Confirmation>
      )}
    </form>
  );
}

function changeWords(count: number, isNew: boolean): string {
  if (count === 0) return isNew ? 'Nothing selected yet' : 'Everything is published';
  return counted(count, 'unpublished changes');
}

function whoseWords(composition: Composition): string {
  const words = ownerWords(composition);
  return words === '' ? '' : `It belongs to ${words}.`;
}
