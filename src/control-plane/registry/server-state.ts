// The effect of a probe on a server (specification 3, "Status"). This is the only writer of `status`:
//
//   status    probe    at once (registration, refresh)   patient (health check)
//   any       reached  active                            active
//   active    failed   inactive                          active; after HEALTH_FAILURES_MAX in a row inactive
//   inactive  failed   inactive                          inactive
import type { Probe } from '../prober/prober.js';
import {
  type HealthEntry,
  type ServerRecord,
  type AllLists,
  type ListDigests,
  NO_LISTS,
  ofEachList,
  type ServerEndpoint,
  type ServerInput,
} from '../records/server-record.js';
import { tagOf } from '../common/change.js';
import type { Ownership } from '../common/principal.js';

/** The tag of what people have set (`common/change.ts`). */
export function serverETag(server: ServerRecord): string {
  const { id, name, url, description, tags, enabled, auth, curation, team, updatedAt } = server;
  return tagOf([id, name, url, description, tags, enabled, auth ?? null, curation ?? null, team ?? null, updatedAt]);
}

// The health history of a server: an entry for each probe whose result differs from that of the probe before. Stored
// beside the server's record, changed together with it, and deleted with it.

/** Entries in the history of a server's health. Beyond that, the oldest is forgotten. */
export const HEALTH_ENTRIES_MAX = 50;
/** Characters of one reason in the history of a server's health. The rest is cut off. */
export const HEALTH_REASON_CHARS_MAX = 300;

type ProbeResult = Pick<ServerRecord, 'status' | 'reachable' | 'lastError'>;

/** Whether a probe's result differs from the last. @param before `undefined` for a new server. */
export function isHealthChanged(before: ProbeResult | undefined, after: ProbeResult): boolean {
  if (before === undefined) return true;
  const { status, reachable, lastError } = after;
  return status !== before.status || reachable !== before.reachable || lastError !== before.lastError;
}

/** The latest first; entries beyond the bound are dropped. */
export function addHealthEntry(
  history: readonly HealthEntry[],
  after: ProbeResult,
  at: string,
): readonly HealthEntry[] {
  const { status, reachable, lastError } = after;
  const error = lastError === null ? null : lastError.slice(0, HEALTH_REASON_CHARS_MAX);
  return [{ at, status, reachable, error }, ...history].slice(0, HEALTH_ENTRIES_MAX);
}

/** Failed health checks in a row that make a server inactive. */
const HEALTH_FAILURES_MAX = 3;

/** A server as it is stored: its record, with what only the registry needs to know. */
export interface StoredServer {
  readonly record: ServerRecord;
  /** Failed health checks in a row, across all control planes; counted up to `HEALTH_FAILURES_MAX`. */
  readonly failures: number;
  /** Changes when the tools change; absent until they were read. */
  readonly toolsDigest?: string;
  /** The digests of the other lists. */
  readonly listDigests?: Omit<ListDigests, 'tools'>;
}

export function digestsOf({ toolsDigest, listDigests }: StoredServer): ListDigests {
  return { ...listDigests, ...(toolsDigest !== undefined && { tools: toolsDigest }) };
}

export function listsOf(probe: Probe): AllLists {
  return probe.kind === 'reached' ? probe.findings.lists : NO_LISTS;
}

/** Whether one failed probe makes a server inactive, or several in a row. */
export type FailurePatience = 'at-once' | 'patient';

/** The server after a probe: what was not read again keeps its last value. */
export function afterProbe(server: StoredServer, probe: Probe, patience: FailurePatience, now: string): StoredServer {
  const { record } = server;
  if (probe.kind === 'reached') {
    const { era, eras, serverInfo, capabilities } = probe.findings;
    const lists = listsOf(probe);
    const { tools: toolsDigest, ...digests } = ofEachList(lists, ({ digest }) => digest);
    // `toolCount` and so on.
    const sizes = Object.entries(ofEachList(lists, ({ items }) => items.size));
    const counts = sizes.map(([list, size]) => [`${list.slice(0, -1)}Count`, size]);
    const found = { era, eras, serverInfo, capabilities, ...(Object.fromEntries(counts) as ListCounts) };
    const times = { lastSeen: now, lastRefreshAt: now };
    return {
      record: { ...record, ...found, ...times, status: 'active', reachable: true, lastError: null },
      failures: 0,
      ...(toolsDigest !== undefined && { toolsDigest }),
      listDigests: { ...server.listDigests, ...digests },
    };
  }
  const failures = patience === 'at-once' ? HEALTH_FAILURES_MAX : server.failures + 1;
  const isInactive = record.status === 'inactive' || failures >= HEALTH_FAILURES_MAX;
  return {
    ...server,
    record: { ...record, status: isInactive ? 'inactive' : 'active', reachable: false, lastError: probe.reason },
    failures: Math.min(failures, HEALTH_FAILURES_MAX),
  };
}

type ListCounts = Partial<Pick<ServerRecord, 'toolCount' | 'promptCount' | 'resourceCount' | 'templateCount'>>;

// Server records from what people set, without a probe; and whether a changed server needs a new probe. Cold path.

/** The members of a server that no probe has reached. */
const NEVER_REACHED = {
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
  const blank = { id, name, slug: '', url, ...defaults, ...NEVER_REACHED, createdAt: now, updatedAt: now };
  return { record: recordAfter(blank, checked, ownership), failures: 0 };
}

/** The record with what people have set. What they leave out stays, except for the ownership. */
export function recordAfter(before: ServerRecord, checked: ServerInput, ownership: Ownership): ServerRecord {
  const { auth: knownAuth, curation: knownCuration, owner: _owner, team: _team, ...record } = before;
  const { description = record.description, tags = record.tags, transport = record.transport } = checked;
  const { name, url, enabled = record.enabled, auth = knownAuth, curation = knownCuration } = checked;
  const set = { name, url, description, tags, transport, enabled };
  return { ...record, ...set, ...(auth && { auth }), ...(curation && { curation }), ...ownership };
}

/** The server after its endpoint has changed: what was known is of another server. */
export function movedServer({ era: _era, eras: _eras, ...record }: ServerRecord): StoredServer {
  return { record: { ...record, ...NEVER_REACHED }, failures: 0 };
}

export function isSameEndpoint(one: ServerEndpoint, other: ServerEndpoint): boolean {
  return endpointText(one) === endpointText(other);
}

function endpointText({ url, transport = 'STREAMABLEHTTP', auth = null }: ServerEndpoint): string {
  return JSON.stringify([url, transport, auth]);
}
