// A server's health history: when it was reachable and when not, and why not.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ask } from '../../api/api.js';
import { useQuery } from '../../api/query.js';
import type { HealthEntry, Server } from '../../api/types.js';
import { plainReason } from '../../model/reason-words.js';
import { Loaded } from '../../parts/notices.js';
import { Said } from '../../parts/said.js';
import { Since } from '../../parts/since.js';

export function HealthHistory({ server }: { readonly server: Server }): JSX.Element {
  const path = `/servers/${server.id}/health`;
  const history = useQuery(path, async () => (await ask<HealthEntry[]>(path)).value);
  // When the server is read again, so is its history: a failure that came and went in between leaves no trace in the record.
  const read = useRef(server);
  useEffect(() => {
    if (read.current === server) return;
    read.current = server;
    void history.reload();
  }, [server]);
  return (
    <>
      <h3 id="history">Health history</h3>
      <Loaded query={history}>
        {(entries) =>
          entries.length === 0 ? (
            <p class="note">No checks yet.</p>
          ) : (
            <ol class="history" aria-labelledby="history">
              {entries.map((entry) => (
                <li key={entry.at} class={entry.reachable ? undefined : 'missed'}>
                  {healthWords(entry)} <Since time={entry.at} />
                  {entry.error !== null && (
                    <>
                      : <Said text={plainReason(entry.error)} />
                    </>
                  )}
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </>
  );
}

function healthWords({ status, reachable }: HealthEntry): string {
  if (reachable) return 'Reached';
  return status === 'active' ? 'Unreachable, still in use,' : 'Not reached';
}
