// The tag of a server, over what people have set (change-condition.ts). Cold path.
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
