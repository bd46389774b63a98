// What a subject can reach at a virtual host, and why, according to the workers of the dataplane.
import type { JSX } from 'preact';
import { Link } from 'wouter-preact';
import { ask } from '../../api/api.js';
import { useQuery } from '../../api/query.js';
import type { Composition } from '../../api/types.js';
import type { Explanation } from '../../api/view-types.js';
import {
  backendRowsOf,
  connectionWords,
  keptOf,
  lacksUser,
  odditiesOf,
  searchFor,
  silenceWords,
  together,
  verdictParts,
  verdictsOf,
  type BackendRow,
  type Statement,
} from '../../model/explanation.js';
import { Icon } from '../../parts/icon.js';
import { Loaded } from '../../parts/notices.js';
import { LongSaid, Said } from '../../parts/said.js';
import { Table, type Row } from '../../parts/table.js';
import { useCompositions } from '../compositions.js';

interface ExplainedToolProps {
  readonly virtualHost: string;
  /** `''`: the user's own. */
  readonly subject: string;
  readonly tool: string;
}

export function ExplainedTool({ virtualHost, subject, tool }: ExplainedToolProps): JSX.Element {
  const compositions = useCompositions().value ?? [];
  const words = Object.entries({ virtualHost, subject, tool }).filter(([, value]) => value !== '');
  const path = `/dataplane/explanation?${new URLSearchParams(words).toString()}`;
  const explanation = useQuery(path, async () => (await ask<Explanation>(path)).value);
  return (
    <Loaded query={explanation}>
      {(read) => {
        const composition = compositions.find(({ id }) => id === read.virtualHost);
        return (
          <div class="explained" role="region" aria-label="Explanation">
            {read.tool === '' && (
              <h3>
                All tools for <Said text={read.subject} />
              </h3>
            )}
            <Words explanation={read} composition={composition} />
            <ServerTable rows={backendRowsOf(read)} />
            <div class="actions">
              {composition !== undefined && verdictsOf(read).length === 0 && (
                <Remedy {...{ composition, explanation: read }} />
              )}
              <button type="button" disabled={explanation.isReading} onClick={() => void explanation.reload()}>
                <Icon name="refresh" />
                Refresh
              </button>
            </div>
          </div>
        );
      }}
    </Loaded>
  );
}

interface WordsProps {
  readonly explanation: Explanation;
  /** `undefined`: the virtual host is none that can be opened here. */
  readonly composition: Composition | undefined;
}

/** Where the composition lacks the tool or the user, its page opens with a search for the tool, or with the user added. */
function Remedy({ composition: { id, name }, explanation }: RemedyProps): JSX.Element {
  const { subject, tool } = explanation;
  const isUserMissing = lacksUser(explanation);
  const isToolMissing = verdictsOf(explanation).some(({ words }) => words.startsWith('not allowed'));
  const change = {
    ...(isUserMissing && { user: subject }),
    ...(isToolMissing && { search: searchFor(tool, explanation) }),
  };
  const isLacking = isUserMissing || isToolMissing;
  const words = new URLSearchParams(change).toString();
  return (
    <Link class={isLacking ? 'button main' : 'button'} href={`/compose/${id}${words === '' ? '' : `?${words}`}`}>
      <Icon name={isLacking ? 'add' : 'compose'} />
      <span>
        {isUserMissing ? 'Add this user to ' : isToolMissing ? 'Add it to ' : 'Open '}
        <Said text={name} max={60} />
      </span>
    </Link>
  );
}

interface RemedyProps {
  readonly composition: Composition;
  readonly explanation: Explanation;
}

function Words({ explanation, composition }: WordsProps): JSX.Element {
  const hosts = explanation.workers.find(({ virtualHosts }) => virtualHosts !== undefined)?.virtualHosts;
  const silence = silenceWords(explanation.silent);
  return (
    <>
      {silence !== '' && <p class="bad">{silence}</p>}
      {verdictsOf(explanation).map((statement) => (
        <VerdictCard key={statement.words} {...{ explanation, statement, composition }} />
      ))}
      {keptOf(explanation).map(({ words, slots }) => (
        <p key={words} class="bad">
          {words} {slots.length > 0 && `(process ${slots.join(', ')})`}
        </p>
      ))}
      {odditiesOf(explanation).map(({ words }) => (
        <div key={words} class="note">
          About the configuration: <LongSaid text={words} />
        </div>
      ))}
      {hosts !== undefined && (
        <p class="note">
          Existing virtual hosts: <Said text={hosts.join(', ') || 'none'} max={2_000} />
        </p>
      )}
    </>
  );
}

interface VerdictProps extends WordsProps {
  readonly statement: Statement;
}

function VerdictCard({ explanation, statement: { words, slots }, composition }: VerdictProps): JSX.Element {
  const { subject, tool } = explanation;
  const { isAllowed, reason, outcome } = verdictParts(words, composition !== undefined);
  return (
    <div class={`verdict${isAllowed ? ' yes' : ''}`}>
      <Icon name={isAllowed ? 'done' : 'close'} />
      <div>
        {tool !== '' && (
          <h3>
            <Said text={subject} max={100} /> {isAllowed ? 'can' : 'cannot'} use <Said text={tool} max={128} />
          </h3>
        )}
        <LongSaid text={reason} max={1_000} />
        <p class="note">
          {outcome !== '' && `A call is answered with error ${outcome}. `}
          {slots.length > 0 && `${slots.length === 1 ? 'Says process' : 'Say processes'} ${slots.join(', ')}.`}
        </p>
      </div>
      {composition !== undefined && <Remedy {...{ composition, explanation }} />}
    </div>
  );
}

const COLUMNS = [
  { name: 'Server' },
  { name: 'Process' },
  { name: 'Connection' },
  { name: 'Tools' },
  { name: 'Sessions' },
];

/** A row for each server, in which the processes agree or say what each has; and a row for each process on demand. */
function ServerTable({ rows }: { readonly rows: readonly BackendRow[] }): JSX.Element | null {
  if (rows.length === 0) return null;
  const processes = new Set(rows.map(({ slot }) => slot)).size;
  const merged = [...new Set(rows.map(({ name }) => name))].map((name) => rows.filter((row) => row.name === name));
  const isOneVoice = merged.every((each) =>
    PARTS.every((part) => agreed(each, part).every(({ slots }) => slots.length === 0)),
  );
  const columns = COLUMNS.filter(({ name }) => name !== 'Process');
  return (
    <>
      <Table label="Servers" columns={columns} rows={merged.map((each) => rowOf(each))} />
      {processes > 1 && (
        <details class="processes">
          <summary>{isOneVoice ? 'All processes agree' : 'The processes differ'}</summary>
          <Table
            label="Servers by process"
            columns={COLUMNS}
            rows={rows.map((row) => rowOf([row], `process ${row.slot}`))}
          />
        </details>
      )}
    </>
  );
}

const PARTS = [
  connectionWords,
  ({ why }: BackendRow) => why,
  ({ allowedTools }: BackendRow) => (allowedTools === 'all' ? 'all' : allowedTools.join(', ') || 'none'),
] as const;

function agreed(rows: readonly BackendRow[], part: (row: BackendRow) => string): readonly Statement[] {
  return together(rows.map((row) => ({ slot: row.slot, words: part(row) })));
}

/** @param rows of one server. @param process when the row is about one. */
function rowOf(rows: readonly BackendRow[], process?: string): Row {
  const [connection, why, tools] = PARTS.map((part) =>
    agreed(rows, part).map(({ words, slots }) => (
      <p key={words}>
        <Said text={slots.length === 0 ? words : `${words} (process ${slots.join(', ')})`} />
      </p>
    )),
  );
  const [{ name, origin } = { name: '', origin: '' }] = rows;
  const states = rows.flatMap(({ sessions }) => sessions.map(({ state }) => state));
  return {
    key: `${name} ${process ?? ''}`,
    cells: [
      <>
        <Said text={name} max={100} />
        <p class="note">
          <Said text={origin} />
        </p>
      </>,
      ...(process === undefined ? [] : [process]),
      <div class="agreed">
        {connection}
        <div class="note">{why}</div>
      </div>,
      <div class="agreed">{tools}</div>,
      [...new Set(states)].map((state) => `${states.filter((each) => each === state).length} ${state}`).join(', ') ||
        'none',
    ],
  };
}
