// Who changed what, newest first, with the differences. The selected record is part of the address.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link, useSearchParams } from 'wouter-preact';
import { ask, faultWords } from '../api/api.js';
import { useCaller } from '../api/caller.js';
import { useQuery } from '../api/query.js';
import type { AuditEntry } from '../api/view-types.js';
import {
  doneWords,
  memberChanges,
  outcomeWords,
  pageOfChanged,
  undoingOf,
  type MemberChange,
  type Undoing,
} from '../model/audit-words.js';
import { mayChange } from '../model/permission.js';
import { dayWords } from '../model/since-words.js';
import { Empty } from '../parts/empty.js';
import { announce } from '../parts/announcements.js';
import { Confirmation } from '../parts/confirmation.js';
import { Icon, type IconName } from '../parts/icon.js';
import { Fault, Loaded } from '../parts/notices.js';
import { Said } from '../parts/said.js';
import { Since } from '../parts/since.js';

const PAGE = 50;

interface AuditPageOf {
  readonly entries: readonly AuditEntry[];
  readonly next: string | undefined;
}

async function readPage(path: string): Promise<AuditPageOf> {
  const { value, next } = await ask<readonly AuditEntry[]>(path);
  return { entries: value, next };
}

export function AuditPage(): JSX.Element {
  const [params, setParams] = useSearchParams();
  const record = params.get('record') ?? '';
  const [asked, setAsked] = useState(record);
  const path = `/audit?limit=${PAGE}${record === '' ? '' : `&record=${encodeURIComponent(record)}`}`;
  const first = useQuery(path, () => readPage(path));
  return (
    <>
      <div class="heading">
        <div>
          <h1>Audit</h1>
          <p class="note">Who changed what, newest first.</p>
        </div>
      </div>
      <form
        class="filters"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          setParams(asked === '' ? {} : { record: asked });
          if (asked === record) void first.reload();
        }}
      >
        <label>
          Server or composition
          <input
            type="search"
            spellcheck={false}
            value={asked}
            placeholder="name or id; empty for all"
            onInput={(event) => setAsked(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={first.isReading}>
          Show
        </button>
      </form>
      <Loaded query={first}>{(page) => <AuditPages key={path} first={page} reload={first.reload} />}</Loaded>
    </>
  );
}

interface PagesProps {
  readonly first: AuditPageOf;
  readonly reload: () => Promise<void>;
}

function AuditPages({ first, reload }: PagesProps): JSX.Element {
  const [older, setOlder] = useState<readonly AuditPageOf[]>([]);
  const [of, setOf] = useState(first);
  const [fault, setFault] = useState('');
  // Older pages belong to one first page: when that is read again, they are dropped.
  if (of !== first) {
    setOf(first);
    setOlder([]);
  }
  const pages = [first, ...older];
  const entries = pages.flatMap((page) => page.entries);
  const removed = new Set(entries.filter(({ operation }) => operation.startsWith('remove')).map(({ id }) => id));
  const next = pages.at(-1)?.next;
  const readOlder = async (): Promise<void> => {
    if (next === undefined) return;
    setFault('');
    try {
      const page = await readPage(next);
      setOlder((known) => [...known, page]);
    } catch (error) {
      setFault(faultWords(error));
    }
  };
  return (
    <>
      {entries.length === 0 && next === undefined && (
        <section class="card">
          <Empty icon="audit" title="No changes">
            <p>There are none in the period that the list covers. Ask for all by leaving the field empty.</p>
          </Empty>
        </section>
      )}
      {byDay(entries).map(([day, changes]) => (
        <section key={day}>
          <h2 class="day">{day}</h2>
          <ol class="card table-card items changes" aria-label={`Changes, ${day}`}>
            {changes.map((entry, index) => (
              <ChangeItem
                key={`${entry.at} ${entry.requestId ?? index}`}
                {...{ entry, reload }}
                isGone={removed.has(entry.id)}
              />
            ))}
          </ol>
        </section>
      ))}
      <Fault words={fault} />
      {next !== undefined && (
        <button type="button" onClick={() => void readOlder()}>
          Show older
        </button>
      )}
    </>
  );
}

/** Newest first, as the entries are. */
function byDay(entries: readonly AuditEntry[]): readonly (readonly [string, readonly AuditEntry[]])[] {
  const days = new Map<string, AuditEntry[]>();
  for (const entry of entries) {
    const day = dayWords(entry.at);
    days.set(day, [...(days.get(day) ?? []), entry]);
  }
  return [...days];
}

/** Changes of more members than this are folded, and so is all that a new or removed record had. */
const SHOWN_MEMBERS_MAX = 3;

const MEMBER_WORDS: Readonly<Record<string, string>> = {
  ...{ url: 'address', servers: 'contents', subjects: 'users', auth: 'credentials', exposure: 'many tools' },
  ...{ enabled: 'enabled', curation: 'names and arguments', requestId: 'request' },
};

function iconOf({ operation }: AuditEntry): IconName {
  if (/^(?:remove|delete|disconnect)/.test(operation)) return 'remove';
  if (/^(?:register|create)/.test(operation)) return 'add';
  return operation === 'refreshServer' ? 'refresh' : 'edit';
}

interface ChangeProps {
  readonly entry: AuditEntry;
  /** Its record was removed since. */
  readonly isGone: boolean;
  readonly reload: () => Promise<void>;
}

function ChangeItem({ entry, isGone, reload }: ChangeProps): JSX.Element {
  const caller = useCaller();
  const undoing = !isGone && mayChange(caller, entry) ? undoingOf(entry) : undefined;
  const { at, subject, name = '', before, after, requestId } = entry;
  const page = isGone ? '' : pageOfChanged(entry);
  // Who made it is its owner, mostly.
  const changes = memberChanges(entry).filter(({ member }) => member !== 'maker');
  const isSaid = changes.length === 1 && changes[0]?.member === 'enabled';
  const outcome = outcomeWords(entry);
  const isWhole = before === undefined || after === undefined;
  const isFolded = isWhole || changes.length > SHOWN_MEMBERS_MAX;
  const request = requestId === undefined ? [] : [{ member: 'requestId', before: undefined, after: requestId }];
  const folded = [...(isFolded ? changes : []), ...request];
  return (
    <li>
      <span class={`badge ${iconOf(entry)}`}>
        <Icon name={iconOf(entry)} />
      </span>
      <div>
        <p class="change">
          <strong>
            <Said text={subject} max={100} />
          </strong>{' '}
          {doneWords(entry)}{' '}
          {page === '' ? <Said text={name} max={100} /> : <Link href={page}>{<Said text={name} max={100} />}</Link>}
        </p>
        {outcome !== '' && <p class="bad">{outcome}</p>}
        {!isFolded && !isSaid && changes.length > 0 && <MemberList changes={changes} />}
        {folded.length > 0 && (
          <details>
            <summary>Details</summary>
            <MemberList changes={folded} />
          </details>
        )}
      </div>
      <span class="when from-end">
        <Since time={at} />
        {undoing !== undefined && <UndoButton {...{ undoing, name, changes, reload }} />}
      </span>
    </li>
  );
}

interface UndoProps extends Pick<ChangeProps, 'reload'> {
  readonly undoing: Undoing;
  readonly name: string;
  readonly changes: readonly MemberChange[];
}

function UndoButton({ undoing: { path, body }, name, changes, reload }: UndoProps): JSX.Element {
  const [isAsked, setAsked] = useState(false);
  const undo = async (): Promise<void> => {
    try {
      await ask(path, { method: 'PATCH', body });
      announce(`The change of ${name} is undone`);
      await reload();
    } catch (error) {
      announce(faultWords(error));
    }
  };
  return (
    <>
      <button
        type="button"
        class="quiet"
        aria-label={`Undo this change of ${name.slice(0, 100)}`}
        onClick={() => setAsked(true)}
      >
        Undo
      </button>
      {isAsked && (
        <Confirmation
          title={`Undo this change of ${name.slice(0, 100)}?`}
          action="Undo it"
          onAnswer={(isMeant) => {
            setAsked(false);
            if (isMeant) void undo();
          }}
        >
          <p>It becomes what it was before this change. Later changes of the same are lost, too.</p>
          <MemberList
            changes={changes.map(({ member, before, after }) => ({ member, before: after, after: before }))}
          />
        </Confirmation>
      )}
    </>
  );
}

function MemberList({ changes }: { readonly changes: readonly MemberChange[] }): JSX.Element {
  return (
    <ul class="differences">
      {changes.map(({ member, before, after }) => (
        <li key={member}>
          <span class="sign">
            <Said text={MEMBER_WORDS[member] ?? member} max={60} />
          </span>{' '}
          <span>
            {before !== undefined && (
              <del>
                <Said text={before} max={300} />
              </del>
            )}
            {before !== undefined && after !== undefined && <span aria-hidden="true"> → </span>}
            {after !== undefined && (
              <ins>
                <Said text={after} max={300} />
              </ins>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
