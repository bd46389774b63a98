// Server records from what people set, without a probe, and the decision whether a changed server needs a new probe. Cold path.
import type { Ownership } from '../common/principal.js';
import type { ServerInput, ServerRecord } from '../records/server-record.js';
import type { StoredServer } from './server-state.js';

export function newServer(checked: ServerInput, id: string, ownership: Ownership = {}): StoredServer {
  const now = new Date().toISOString();
  const { name, url, description = '', tags = [], transport = 'STREAMABLEHTTP', enabled = true } = checked;
  const { auth, curation } = checked;
  return {
    record: {
      id,
      name,
      slug: '',
      url,
      description,
      tags,
      transport,
      ...(auth && { auth }),
      ...(curation && { curation }),
      status: 'inactive',
      enabled,
      ...ownership,
      reachable: false,
      toolCount: 0,
      promptCount: 0,
      resourceCount: 0,
      templateCount: 0,
      capabilities: {},
      serverInfo: null,
      createdAt: now,
      updatedAt: now,
      lastSeen: null,
      lastRefreshAt: null,
      lastError: null,
    },
    failures: 0,
  };
}

/** What people have set after the change: what is left out stays. */
export function settingsAfter(before: ServerRecord, checked: ServerInput) {
  const { description = before.description, tags = before.tags, transport = before.transport } = checked;
  const { enabled = before.enabled, auth = before.auth, curation = before.curation } = checked;
  return { ...checked, description, tags, transport, enabled, auth, curation };
}

/** The record of a server that stays in the same place. @param anew members with their new values. */
export function recordAfter(
  before: ServerRecord,
  said: ReturnType<typeof settingsAfter>,
  anew: Ownership & Pick<ServerRecord, 'slug' | 'updatedAt'>,
): ServerRecord {
  const { auth: _same, curation, team: _said, ...words } = said;
  const { curation: _before, owner: _owner, team: _team, ...record } = before;
  return { ...record, ...words, ...(curation && { curation }), ...anew };
}

type Place = Pick<ServerInput, 'url' | 'transport' | 'auth'>;

/** Another URL, transport or `auth` may lead to another server. */
export function isSameEndpoint(one: Place, other: Place): boolean {
  return placeOf(one) === placeOf(other);
}

function placeOf({ url, transport = 'STREAMABLEHTTP', auth = null }: Place): string {
  return JSON.stringify([url, transport, auth]);
}
