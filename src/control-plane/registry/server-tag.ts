// The tag of a server, as people have said it to be (change-condition.ts). Cold.
import { tagOf } from '../common/change-condition.js';
import type { ServerRecord } from '../records/server-record.js';

type SaidOfServer = Pick<
  ServerRecord,
  'id' | 'name' | 'url' | 'description' | 'tags' | 'enabled' | 'auth' | 'curation' | 'team' | 'updatedAt'
>;

export function serverTag(server: SaidOfServer): string {
  const { id, name, url, description, tags, enabled, auth, curation, team, updatedAt } = server;
  return tagOf([id, name, url, description, tags, enabled, auth ?? null, curation ?? null, team ?? null, updatedAt]);
}
