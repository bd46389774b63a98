// A `resources/subscribe` or `resources/unsubscribe` on its way to a backend: the session remembers the outcome. Cold path.
import type { UpstreamSession } from '../upstream/index.js';
import type { Session } from './session.js';
import type { RequestMetadata } from '../http-client/index.js';

/**
 * Called when a backend is asked to subscribe or unsubscribe; does nothing for other methods.
 * @returns a callback for the outcome, which may be called more than once; `full` when there is no room for another subscription.
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
    // While it was asked, the backend may have moved, or its allow-list may have changed.
    if (isDone && session.upstreams.used(name) === upstream) session.onSubscribed(upstream, backend, uri, metadata);
  };
}
