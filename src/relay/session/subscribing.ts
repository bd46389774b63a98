// One `resources/subscribe` or `resources/unsubscribe` on its way to a backend: the session remembers what came of it. Cold.
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { Session } from './session.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';

/**
 * A backend is asked for a subscription, or to take it back; nothing happens for other methods.
 * @returns what to do when that is settled, perhaps more than once; `full` when there is no room for one more.
 */
export function onSubscribing(
  session: Session,
  method: string,
  upstream: UpstreamSession,
  uri: string | undefined,
  metadata: RequestMetadata,
): ((isDone: boolean) => void) | 'full' | undefined {
  const { name } = upstream.backend;
  if (uri === undefined) return undefined;
  if (method === 'resources/unsubscribe') return (isDone) => isDone && session.subscriptions.delete(name, uri);
  if (method !== 'resources/subscribe') return undefined;
  const giveBack = session.subscriptions.tryReserve(name, uri);
  if (giveBack === undefined) return 'full';
  const { backend } = upstream;
  return (isDone) => {
    giveBack();
    // Meanwhile the backend may have moved, or its allow-list may have changed.
    if (isDone && session.upstreams.used(name) === upstream) session.onSubscribed(upstream, backend, uri, metadata);
  };
}
