// The effect of a probe on a server (decisions 3, "Status"). This is the only writer of `status`:
//
//   status    probe    at once (registration, refresh)   patient (health check)
//   any       reached  active                            active
//   active    failed   inactive                          active, until HEALTH_FAILURES_MAX in a row: inactive
//   inactive  failed   inactive                          inactive
import type { Probe } from '../prober/prober.js';
import {
  type HealthEntry,
  type ServerRecord,
  type AllLists,
  type ListDigests,
  NO_LISTS,
  ofEachList,
  type ServerInput,
} from '../records/server-record.js';
import { tagOf } from '../common/change.js';
import type { Ownership } from '../common/principal.js';

/** Of what people have set. */
export function serverETag(server: ServerRecord): string {
  const { id, name, url, description, tags, enabled, auth, curation, team, updatedAt } = server;
  return tagOf([id, name, url, description, tags, enabled, auth ?? null, curation ?? null, team ?? null, updatedAt]);
}

// The health history of a server: an entry for each time that a probe found something else than the one before. Stored
// beside the server's record, changed together with it, and deleted with it.

/** Entries in the history of a server's health. Beyond that, the oldest is forgotten. */
export const HEALTH_ENTRIES_MAX = 50;
/** Characters of one reason in the history of a server's health. The rest is cut off. */
export const HEALTH_REASON_CHARS_MAX = 300;

type Found = Pick<ServerRecord, 'status' | 'reachable' | 'lastError'>;

/** Whether a probe has found something else than the last. @param before `undefined` for a new server. */
export function isHealthChanged(before: Found | undefined, after: Found): boolean {
  if (before === undefined) return true;
  const { status, reachable, lastError } = after;
  return status !== before.status || reachable !== before.reachable || lastError !== before.lastError;
}

/** The latest first; entries beyond the bound are dropped. */
export function addHealthEntry(history: readonly HealthEntry[], after: Found, at: string): readonly HealthEntry[] {
  const { status, reachable, lastError } = after;
  const error = lastError === null ? null : lastError.slice(0, HEALTH_REASON_CHARS_MAX);
  return [{ at, status, reachable, error }, ...history].slice(0, HEALTH_ENTRIES_MAX);
}

/** Failed health checks in a row that make a server inactive. */
const HEALTH_FAILURES_MAX = 3;

/** A record, with what only the registry needs to know of a server. */
export interface StoredServer {
  readonly record: ServerRecord;
  /** Failed health checks in a row, across all control planes; counted up to `HEALTH_FAILURES_MAX`. */
  readonly failures: number;
  /** Changes when the tools change; absent until they were read. */
  readonly toolsDigest?: string;
  /** Of the other lists. */
  readonly listDigests?: Omit<ListDigests, 'tools'>;
}

export function digestsOf({ toolsDigest, listDigests }: StoredServer): ListDigests {
  return { ...listDigests, ...(toolsDigest !== undefined && { tools: toolsDigest }) };
}

export function listsOf(probe: Probe): AllLists {
  return probe.kind === 'reached' ? probe.findings.lists : NO_LISTS;
}

export type FailurePatience = 'at-once' | 'patient';

/** What was not read again keeps its last value. */
export function afterProbe(server: StoredServer, probe: Probe, judgement: FailurePatience, now: string): StoredServer {
  const { record } = server;
  if (probe.kind === 'reached') {
    const { era, eras, serverInfo, capabilities } = probe.findings;
    const lists = listsOf(probe);
    const { tools: toolsDigest, ...digests } = ofEachList(lists, ({ digest }) => digest);
    const counts = Object.entries(ofEachList(lists, ({ items }) => items.size)).map(([list, size]) => [
      // As in `toolCount`.
      `${list.slice(0, -1)}Count`,
      size,
    ]);
    const found = { era, eras, serverInfo, capabilities, ...(Object.fromEntries(counts) as ListCounts) };
    const times = { lastSeen: now, lastRefreshAt: now };
    return {
      record: { ...record, ...found, ...times, status: 'active', reachable: true, lastError: null },
      failures: 0,
      ...(toolsDigest !== undefined && { toolsDigest }),
      listDigests: { ...server.listDigests, ...digests },
    };
  }
  const failures = judgement === 'at-once' ? HEALTH_FAILURES_MAX : server.failures + 1;
  const isOut = record.status === 'inactive' || failures >= HEALTH_FAILURES_MAX;
  return {
    ...server,
    record: { ...record, status: isOut ? 'inactive' : 'active', reachable: false, lastError: probe.reason },
    failures: Math.min(failures, HEALTH_FAILURES_MAX),
  };
}

type ListCounts = Partial<Pick<ServerRecord, 'toolCount' | 'promptCount' | 'resourceCount' | 'templateCount'>>;

// Server records from what people set, without a probe, and the decision whether a changed server needs a new probe. Cold path.

/** What is known of a server that no probe has reached. */
const NOTHING_FOUND = {
  status: 'inactive',
  reachable: false,
  toolCount: 0,
  promptCount: 0,
  resourceCount: 0,
  templateCount: 0,
  capabilities: {},
  serverInfo: null,
  lastSeen: null,
  lastRefreshAt: null,
  lastError: null,
} as const;

export function newServer(checked: ServerInput, id: string, ownership: Ownership = {}): StoredServer {
  const now = new Date().toISOString();
  const defaults = { description: '', tags: [], transport: 'STREAMABLEHTTP', enabled: true } as const;
  const { name, url } = checked;
  const blank = { id, name, slug: '', url, ...defaults, ...NOTHING_FOUND, createdAt: now, updatedAt: now };
  return { record: recordAfter(blank, checked, ownership), failures: 0 };
}

/** With what people have set: what is left out stays, but for the ownership. */
export function recordAfter(before: ServerRecord, checked: ServerInput, ownership: Ownership): ServerRecord {
  const { auth: knownAuth, curation: knownCuration, owner: _owner, team: _team, ...record } = before;
  const { description = record.description, tags = record.tags, transport = record.transport } = checked;
  const { name, url, enabled = record.enabled, auth = knownAuth, curation = knownCuration } = checked;
  const said = {
    name,
    url,
    description,
    tags,
    transport,
    enabled,
    ...(auth && { auth }),
    ...(curation && { curation }),
  };
  return { ...record, ...said, ...ownership };
}

/** After a move to another place, of which nothing is known. */
export function movedServer({ era: _era, eras: _eras, ...record }: ServerRecord): StoredServer {
  return { record: { ...record, ...NOTHING_FOUND }, failures: 0 };
}

type Place = Pick<ServerInput, 'url' | 'transport' | 'auth'>;

/** Another URL, transport or `auth` may lead to another server. */
export function isSameEndpoint(one: Place, other: Place): boolean {
  return placeOf(one) === placeOf(other);
}

function placeOf({ url, transport = 'STREAMABLEHTTP', auth = null }: Place): string {
  return JSON.stringify([url, transport, auth]);
}
