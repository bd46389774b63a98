// What a subject can reach at a virtual host, and why, according to the workers of the dataplane.
import type { JSX } from 'preact';
import { Link } from 'wouter-preact';
import { ask } from '../../api/api.js';
import { useQuery } from '../../api/query.js';
import type { Explanation } from '../../api/view-types.js';
import {
  backendRowsOf,
  connectionWords,
  keptOf,
  odditiesOf,
  silenceWords,
  verdictsOf,
  type BackendRow,
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
      {(read) => (
        <div class="card" role="region" aria-label="Explanation">
          <p>
            <Said text={read.tool === '' ? 'All tools' : read.tool} /> for <Said text={read.subject} />
          </p>
          <Words explanation={read} />
          <BackendTable rows={backendRowsOf(read)} />
          <div class="actions">
            {compositions.some(({ id }) => id === read.virtualHost) && (
              <Link class="button" href={`/compose/${read.virtualHost}`}>
                <Icon name="compose" />
                Open the composition
              </Link>
            )}
            <button type="button" disabled={explanation.isReading} onClick={() => void explanation.reload()}>
              <Icon name="refresh" />
              Ask again
            </button>
          </div>
        </div>
      )}
    </Loaded>
  );
}

function Words({ explanation }: { readonly explanation: Explanation }): JSX.Element {
  const hosts = explanation.workers.find(({ virtualHosts }) => virtualHosts !== undefined)?.virtualHosts;
  const silence = silenceWords(explanation.silent);
  return (
    <>
      {silence !== '' && <p class="bad">{silence}</p>}
      {verdictsOf(explanation).map(({ words, slots }) => (
        <div key={words} class={`verdict${words.startsWith('allowed') ? ' yes' : ''}`}>
          <div class="said-verdict">
            <Icon name={words.startsWith('allowed') ? 'done' : 'close'} />
            <LongSaid text={words} max={1_000} />
          </div>
          {slots.length > 0 && (
            <p class="note">
              {slots.length === 1 ? 'says process' : 'say processes'} {slots.join(', ')}
            </p>
          )}
        </div>
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

const COLUMNS = [
  { name: 'Backend' },
  { name: 'Process' },
  { name: 'Connection' },
  { name: 'Allowed tools' },
  { name: 'Sessions' },
] as const;

function BackendTable({ rows }: { readonly rows: readonly BackendRow[] }): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <Table
      label="Backends"
      columns={COLUMNS}
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
