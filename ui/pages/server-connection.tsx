// A server that requires each user's own consent: opens the page where it is given, and shows the outcome.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ask, faultWords } from '../api/api.js';
import { useQuery } from '../api/query.js';
import type { Connection, Server } from '../api/types.js';
import { announce } from '../parts/announcements.js';
import { Fault } from '../parts/notices.js';
import { Said } from '../parts/said.js';
import { Since } from '../parts/since.js';

interface ConnectionProps {
  readonly server: Server;
  readonly isChangeable: boolean;
}

export function ServerConnection({ server, isChangeable }: ConnectionProps): JSX.Element {
  const connections = useQuery('connections', async () => (await ask<Connection[]>('/connect')).value);
  const [fault, setFault] = useState('');
  const connection = connections.value?.find(({ url }) => url === server.url);
  const run = async (action: () => Promise<void>): Promise<void> => {
    setFault('');
    await action().catch((error: unknown) => setFault(faultWords(error)));
  };
  const connect = (probes: boolean): Promise<void> => {
    // The window is opened at once, within the click: after a request the browser would block it as a popup.
    const opened = window.open('', '_blank');
    return run(async () => {
      try {
        const body = probes ? { probes } : {};
        const { url } = (await ask<{ url: string }>(`/servers/${server.id}/connect`, { method: 'POST', body })).value;
        goTo(opened, url);
      } catch (error) {
        opened?.close();
        throw error;
      }
    });
  };
  const disconnect = (name: string): Promise<void> =>
    run(async () => {
      const path = `/connect/${encodeURIComponent(name)}`;
      const { revocation } = (await ask<{ revocation: string }>(path, { method: 'DELETE' })).value;
      await connections.reload();
      const there = revocation === 'revoked' ? '' : ': withdraw it at its authorization server, too';
      announce(`Your consent for ${name} is withdrawn${there}`);
    });
  return (
    <section class="card" aria-labelledby="connection">
      <h2 id="connection">Your consent</h2>
      {connection === undefined ? (
        <p>It acts for each user separately. You have not connected it yet: your calls get a link for doing so.</p>
      ) : (
        <p>
          You connected it <Since time={connection.connectedAt} />, at <Said text={connection.issuer} max={200} />.
        </p>
      )}
      <Fault words={fault === '' ? connections.fault : fault} />
      <div class="actions">
        <button type="button" onClick={() => void connect(false)}>
          {connection === undefined ? 'Connect it for me' : 'Connect it again'}
        </button>
        {connection !== undefined && (
          <button type="button" onClick={() => void disconnect(connection.server)}>
            Disconnect
          </button>
        )}
        {isChangeable && (
          <button type="button" onClick={() => void connect(true)}>
            Connect it for the gateway’s probes
          </button>
        )}
        <button type="button" onClick={() => void connections.reload()}>
          Check whether it is connected
        </button>
      </div>
    </section>
  );
}

/** The consent page gets no reference to this one. @param opened `null` where the browser has blocked the window. */
function goTo(opened: Window | null, url: string): void {
  if (!/^https?:\/\//.test(url)) throw new Error('The control plane returned no URL of a page');
  if (opened === null) {
    location.assign(url);
    return;
  }
  opened.opener = null;
  opened.location.replace(url);
}
