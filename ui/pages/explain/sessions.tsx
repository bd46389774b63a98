// Who has sessions with the dataplane, and the state of their backends.
import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
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
import { useCompositions } from '../compositions.js';

const PAGE = 50;

const UPSTREAM_CLASSES: Readonly<Record<string, string>> = { open: 'active', unavailable: 'inactive' };

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
  const compositions = useCompositions().value;
  const names = useMemo(() => new Map(compositions?.map(({ id, name }) => [id, name])), [compositions]);
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
      {first.total > 0 && (
        <Table
          label="Table of sessions"
          columns={COLUMNS}
          rows={pages.flatMap(({ sessions }) => sessions).map((each) => rowOf(each, names.get(each.virtualHost)))}
        />
      )}
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
  { name: 'Session at' },
  { name: 'User' },
  { name: 'Client' },
  { name: 'Age', isNumber: true },
  { name: 'Idle', isNumber: true },
  { name: 'Servers' },
] as const;

/** @param name of the composition, where the virtual host is one. */
function rowOf(of: DataplaneSession, name: string | undefined): Row {
  const { session, subject, slot, virtualHost, client, ageS, isBusy, idleS, backends } = of;
  return {
    key: session,
    cells: [
      <>
        {name === undefined ? (
          <Said text={virtualHost} max={64} />
        ) : (
          <Link href={`/compose/${virtualHost}`}>{name}</Link>
        )}
        <p class="note">
          <code>{session}</code>
        </p>
        <p class="note">process {slot}</p>
      </>,
      <code>{subject}</code>,
      <div class="client">
        <Said text={client || 'not said'} max={100} />
      </div>,
      durationWords(ageS),
      isBusy ? 'busy' : durationWords(idleS),
      <ul class="upstreams">
        {backends.map(({ name, state, reason }) => (
          <li key={name} class={`status ${UPSTREAM_CLASSES[state] ?? ''}`}>
            <span>
              <Said text={name} max={64} />: {state}
              {reason !== undefined && (
                <>
                  , <Said text={reason} max={200} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>,
    ],
  };
}
