// Subscriptions as they stand in the record of their session, where another process goes on with it. Cold.
import type { SessionRecord } from '../../session-directory/session-record.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import { NO_METADATA } from '../../upstream/http/request-metadata.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { allowListHash } from './allow-list-hash.js';
import type { Session } from './session.js';

/** Where the allow-list is not the one that another process went by, subscriptions are held against it anew. */
export function recheckRecorded(
  context: UpstreamContext,
  session: Session,
  recorded: SessionRecord['subscriptions'],
  theirs: SessionRecord['allowLists'] | undefined,
  virtualHost: CompiledVirtualHost | undefined,
): void {
  for (const name of Object.keys(recorded)) {
    const backend = virtualHost?.backends.get(name);
    if (backend === undefined || allowListHash(backend) === theirs?.[name]) continue;
    session.subscriptions.endUngranted(context, session.upstream(backend), NO_METADATA);
  }
}
