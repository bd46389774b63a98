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
  odditiesOf,
  searchFor,
  silenceWords,
  verdictParts,
  verdictsOf,
  type BackendRow,
  type Statement,
} from '../../model/explanation.js';
import { Icon } from '../../parts/icon.js';
import { Loaded } from '../../parts/notices.js';
import { LongSaid, Said } from '../../parts/said.js';
import { Table } from '../../parts/table.js';
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
            <BackendTable rows={backendRowsOf(read)} />
            <div class="actions">
              {composition !== undefined && verdictsOf(read).length === 0 && (
                <Remedy {...{ composition, explanation: read }} />
              )}
              <button type="button" disabled={explanation.isReading} onClick={() => void explanation.reload()}>
                <Icon name="refresh" />
                Ask again
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

/** Where the composition lacks the tool, the page of the composition opens with a search for it. */
function Remedy({ composition: { id, name }, explanation }: RemedyProps): JSX.Element {
  const { tool } = explanation;
  const isLacking = verdictsOf(explanation).some(({ words }) => words.startsWith('not allowed'));
  const search = isLacking ? `?${new URLSearchParams({ search: searchFor(tool, explanation) }).toString()}` : '';
  return (
    <Link class={isLacking ? 'button main' : 'button'} href={`/compose/${id}${search}`}>
      <Icon name={isLacking ? 'add' : 'compose'} />
      <span>
        {isLacking ? 'Add it to ' : 'Open '}
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
          In the user config: <LongSaid text={words} />
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
  const { isAllowed, reason, outcome } = verdictParts(words);
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
          {outcome !== '' && `A call gets the error ${outcome}. `}
          {slots.length > 0 && `${slots.length === 1 ? 'Says process' : 'Say processes'} ${slots.join(', ')}.`}
        </p>
      </div>
      {composition !== undefined && <Remedy {...{ composition, explanation }} />}
    </div>
  );
}

const COLUMNS = [
  { name: 'Backend' },
  { name: 'Process' },
  { name: 'Connection' },
  { name: 'Allowed tools' },
  { name: 'Sessions' },
] as const;

function BackendTable({ rows }: { readonly rows: readonly BackendRow[] }): JSX.Element | null {
  if (rows.length === 0) return null;
  const isOne = new Set(rows.map(({ slot }) => slot)).size === 1;
  return (
    <Table
      label="Backends"
      columns={COLUMNS.map((column) => ({ ...column, isEmpty: isOne && column.name === 'Process' }))}
      rows={rows.map((row) => ({
        key: `${row.name} ${row.slot}`,
        cells: [
          <>
            <Said text={row.name} max={100} />
            <p class="note">
              <Said text={row.origin} />
            </p>
          </>,
          row.slot,
          <div>
            {connectionWords(row)}
            {row.why !== '' && (
              <p class="note">
                <Said text={row.why} />
              </p>
            )}
          </div>,
          <Said text={row.allowedTools === 'all' ? 'all' : row.allowedTools.join(', ')} />,
          row.sessions.map(({ state }) => state).join(', ') || 'none',
        ],
      }))}
    />
  );
}
