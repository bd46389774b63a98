// The prefix of a server's tool names where several servers are merged. Two servers with the same prefix could have the
// same tool names, so the second is refused. Cold path.
import { namePrefix } from '../../user-config/curation-schema.js';
import { readCuration } from '../common/curation.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import type { KnownServer } from './server-directory.js';
import type { ServerRecord } from '../records/server-record.js';

type Named = Pick<ServerRecord, 'name' | 'curation'>;

/** Including its `-`; `''` for none. */
export function prefixOf({ name, curation }: Named): string {
  return namePrefix(name, readCuration(curation).prefix);
}

/** Not every client accepts names that begin with a display name: the slug is then made the server's prefix. */
export function withClientsPrefix(record: ServerRecord): ServerRecord {
  const { name, slug, curation } = record;
  if (CLIENTS_PREFIX.test(name) || curation?.['prefix'] !== undefined) return record;
  return { ...record, curation: { ...curation, prefix: slug } };
}

const CLIENTS_PREFIX = /^[A-Za-z0-9_-]+$/;

/** Throws a `ControlPlaneFault` when another server has the prefix. If two arrive at once, both are kept. */
export function refuseTakenPrefix(server: Named & Pick<ServerRecord, 'id'>, servers: readonly KnownServer[]): void {
  const prefix = prefixOf(server);
  const owner = servers.find((other) => other.id !== server.id && prefixOf(other) === prefix);
  if (owner === undefined) return;
  const fact = prefix === '' ? `${owner.name} has no prefix` : `the tools of ${owner.name} begin with ${prefix}`;
  const advice = 'choose another name, or another prefix in curation.prefix';
  throw new ControlPlaneFault('prefix-taken', `Two servers cannot have the same prefix, and ${fact}: ${advice}`, {
    member: 'curation.prefix',
  });
}
