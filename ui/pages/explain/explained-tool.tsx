// What a subject can reach at a virtual host, and why, according to the workers of the dataplane.
import type { JSX } from 'preact';
import { ask } from '../../api/api.js';
import { useQuery } from '../../api/query.js';
import type { Explanation } from '../../api/view-types.js';
import {
  backendRowsOf,
  keptOf,
  odditiesOf,
  silenceWords,
  verdictsOf,
  type BackendRow,
} from '../../model/explanation.js';
import { Loaded } from '../../parts/notices.js';
import { LongSaid, Said } from '../../parts/said.js';

interface ExplainedToolProps {
  readonly virtualHost: string;
  /** `''`: the user's own. */
  readonly subject: string;
  readonly tool: string;
}

export function ExplainedTool({ virtualHost, subject, tool }: ExplainedToolProps): JSX.Element {
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
          <button type="button" disabled={explanation.isReading} onClick={() => void explanation.reload()}>
            Ask again
          </button>
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
        <div key={words}>
          <strong>
            <LongSaid text={words} max={1_000} />
          </strong>
          {slots.length > 0 && <p class="note">says the worker of slot {slots.join(', ')}</p>}
        </div>
      ))}
      {keptOf(explanation).map(({ words, slots }) => (
        <p key={words} class="bad">
          {words} {slots.length > 0 && `(slot ${slots.join(', ')})`}
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

function BackendTable({ rows }: { readonly rows: readonly BackendRow[] }): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <div class="table-frame" tabIndex={0} role="region" aria-label="Backends">
      <table>
        <thead>
          <tr>
            <th scope="col">Backend</th>
            <th scope="col">Worker</th>
            <th scope="col">Connection</th>
            <th scope="col">Allowed tools</th>
            <th scope="col">Sessions</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.name} ${row.slot}`}>
              <th scope="row">
                <Said text={row.name} max={100} />
                <p class="note">
                  <Said text={row.origin} />
                </p>
              </th>
              <td>{row.slot}</td>
              <td>
                {row.obstacle === undefined ? row.circuit : 'never'}
                {row.why !== '' && (
                  <p class="note">
                    <Said text={row.why} />
                  </p>
                )}
              </td>
              <td>
                <Said text={row.allowedTools === 'all' ? 'all' : row.allowedTools.join(', ')} />
              </td>
              <td>{row.sessions.map(({ state }) => state).join(', ') || 'none'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
