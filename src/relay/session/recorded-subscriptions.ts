// Subscriptions from the record of a session that another process continues. Cold path.
import type { SessionRecord } from '../../session-directory/session-record.js';
import type { UpstreamContext } from '../../upstream/upstream-context.js';
import { NO_METADATA } from '../../upstream/http/request-metadata.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { allowListHash } from './allow-list-hash.js';
import type { Session } from './session.js';

/** Checks the subscriptions again wherever the allow-list differs from the one that the other process used. */
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
