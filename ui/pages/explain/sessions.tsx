// Who has sessions with the dataplane, and the state of their backends.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, faultWords } from '../../api/api.js';
import { useCaller } from '../../api/caller.js';
import { useQuery } from '../../api/query.js';
import type { DataplaneSession, DataplaneSessions } from '../../api/view-types.js';
import { counted } from '../../model/counted.js';
import { durationWords, silenceWords } from '../../model/explanation.js';
import { Icon } from '../../parts/icon.js';
import { Fault, Loaded } from '../../parts/notices.js';
import { Said } from '../../parts/said.js';
import { Table, type Row } from '../../parts/table.js';

const PAGE = 50;

interface SessionPage extends DataplaneSessions {
  readonly next: string | undefined;
}

async function readPage(path: string): Promise<SessionPage> {
  const { value, next } = await ask<DataplaneSessions>(path);
  return { ...value, next };
}

export function Sessions(): JSX.Element {
  const isAdmin = useCaller()?.role === 'admin';
  const [subject, setSubject] = useState('');
  const [asked, setAsked] = useState('');
  const path = `/dataplane/sessions?limit=${PAGE}${asked === '' ? '' : `&subject=${encodeURIComponent(asked)}`}`;
  const first = useQuery(path, () => readPage(path));
  return (
    <section class="card" aria-labelledby="sessions">
      <h2 id="sessions">{isAdmin ? 'Sessions' : 'Your sessions'}</h2>
      <form
        class="filters wide"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(subject);
          if (subject === asked) void first.reload();
        }}
      >
        {isAdmin && (
          <label>
            User<span class="unseen"> of the sessions</span>
            <input
              spellcheck={false}
              value={subject}
              placeholder="all users"
              onInput={(event) => setSubject(event.currentTarget.value)}
            />
          </label>
        )}
        <button type="submit" disabled={first.isReading}>
          <Icon name="refresh" />
          Refresh
        </button>
      </form>
      <Loaded query={first}>{(page) => <SessionPages key={path} first={page} />}</Loaded>
    </section>
  );
}

function SessionPages({ first }: { readonly first: SessionPage }): JSX.Element {
  const [more, setMore] = useState<readonly SessionPage[]>([]);
  const [of, setOf] = useState(first);
  const [fault, setFault] = useState('');
  // Further pages belong to one first page: when that is read again, they are dropped.
  if (of !== first) {
    setOf(first);
    setMore([]);
  }
  const pages = [first, ...more];
  const next = pages.at(-1)?.next;
  const readMore = async (): Promise<void> => {
    if (next === undefined) return;
    setFault('');
    try {
      const page = await readPage(next);
      setMore((known) => [...known, page]);
    } catch (error) {
      setFault(faultWords(error));
    }
  };
  const silence = silenceWords(first.silent);
  return (
    <>
      {silence !== '' && <p class="bad">{silence}</p>}
      <p class="note" role="status">
        {counted(first.total, 'sessions')}
      </p>
      {first.total > 0 && <SessionTable sessions={pages.flatMap(({ sessions }) => sessions)} />}
      <Fault words={fault} />
      {next !== undefined && (
        <button type="button" onClick={() => void readMore()}>
          Show more
        </button>
      )}
    </>
  );
}

const COLUMNS = [
  { name: 'Session' },
  { name: 'Client' },
  { name: 'Age', isNumber: true },
  { name: 'Idle', isNumber: true },
  { name: 'Servers' },
] as const;

function SessionTable({ sessions }: { readonly sessions: readonly DataplaneSession[] }): JSX.Element {
  return <Table label="Table of sessions" columns={COLUMNS} rows={sessions.map(rowOf)} />;
}

function rowOf({ session, subject, slot, virtualHost, client, ageS, isBusy, idleS, backends }: DataplaneSession): Row {
  return {
    key: session,
    cells: [
      <>
        <code>{session}</code>
        <p class="note">
          of <code>{subject}</code>, process {slot}
        </p>
        <p class="note">
          at <Said text={virtualHost} max={64} />
        </p>
      </>,
      <Said text={client || 'not said'} max={100} />,
      durationWords(ageS),
      isBusy ? 'busy' : durationWords(idleS),
      <ul class="names">
        {backends.map(({ name, state, reason }) => (
          <li key={name}>
            <Said text={name} max={64} />: {state}
            {reason !== undefined && (
              <span class="note">
                {' '}
                <Said text={reason} max={200} />
              </span>
            )}
          </li>
        ))}
      </ul>,
    ],
  };
}
