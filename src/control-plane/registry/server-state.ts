// The effect of a probe on a server (specification 3, "Status"). Only this file writes `status`:
//
//   status    probe    at once (registration, refresh)   patient (health check)
//   any       reached  active                            active
//   active    failed   inactive                          active; after HEALTH_FAILURES_MAX in a row inactive
//   inactive  failed   inactive                          inactive
import type { ProbeResult } from '../prober/prober.js';
import {
  type HealthEntry,
  type ServerRecord,
  type AllLists,
  type ListDigests,
  NO_LISTS,
  LIST_NAMES,
  type ServerEndpoint,
  type ServerInput,
} from '../records/server-record.js';
import { tagOf } from '../common/change.js';
import type { Ownership } from '../common/principal.js';

export function serverETag(server: ServerRecord): string {
  const { id, name, url, description, tags, enabled, auth, curation, team, updatedAt } = server;
  return tagOf([id, name, url, description, tags, enabled, auth ?? null, curation ?? null, team ?? null, updatedAt]);
}

// The health history of a server has an entry for each probe whose result differs from the one before. It is stored beside
// the server's record.

/** The most entries of a health history. Beyond that, the oldest are dropped. */
export const HEALTH_ENTRIES_MAX = 50;
/** The most characters of each reason in a health history; the rest is cut off. */
export const HEALTH_REASON_CHARS_MAX = 300;

type HealthState = Pick<ServerRecord, 'status' | 'reachable' | 'lastError'>;

/** Whether the health history gets another entry. @param before `undefined` for a new server. */
export function isHealthChanged(before: HealthState | undefined, after: HealthState): boolean {
  if (before === undefined) return true;
  const { status, reachable, lastError } = after;
  return status !== before.status || reachable !== before.reachable || lastError !== before.lastError;
}

/** The history with an entry added; the latest is first. */
export function addHealthEntry(
  history: readonly HealthEntry[],
  after: HealthState,
  at: string,
): readonly HealthEntry[] {
  const { status, reachable, lastError } = after;
  const error = lastError === null ? null : lastError.slice(0, HEALTH_REASON_CHARS_MAX);
  return [{ at, status, reachable, error }, ...history].slice(0, HEALTH_ENTRIES_MAX);
}

const HEALTH_FAILURES_MAX = 3;

/** A server as stored: its record, and what only the registry needs. */
export interface StoredServer {
  readonly record: ServerRecord;
  /** Failed health checks in a row, over all control planes, up to `HEALTH_FAILURES_MAX`. */
  readonly failures: number;
  /** A digest of the tools; absent until they were read. */
  readonly toolsDigest?: string;
  readonly listDigests?: Omit<ListDigests, 'tools'>;
}

export function digestsOf({ toolsDigest, listDigests }: StoredServer): ListDigests {
  return { ...listDigests, ...(toolsDigest !== undefined && { tools: toolsDigest }) };
}

export function probedListsOf(probe: ProbeResult): AllLists {
  return probe.kind === 'reached' ? probe.findings.lists : NO_LISTS;
}

/** `at-once`: one failed probe makes a server inactive; `patient`: only several in a row do. */
export type FailureTolerance = 'at-once' | 'patient';

/** The server after a probe. Whatever the probe could not read keeps its last value. */
export function serverAfterProbe(
  server: StoredServer,
  probe: ProbeResult,
  tolerance: FailureTolerance,
  now: string,
): StoredServer {
  const { record } = server;
  if (probe.kind === 'reached') {
    const { era, eras, serverInfo, capabilities } = probe.findings;
    const lists = probedListsOf(probe);
    const readLists = LIST_NAMES.filter((name) => lists[name] !== undefined);
    const digests: ListDigests = Object.fromEntries(readLists.map((name) => [name, lists[name]!.digest]));
    const counts = readLists.map((name) => [`${name.slice(0, -1)}Count`, lists[name]!.items.size]);
    const found = { era, eras, serverInfo, capabilities, ...(Object.fromEntries(counts) as ListCounts) };
    const { tools: toolsDigest, ...otherDigests } = digests;
    const times = { lastSeen: now, lastRefreshAt: now };
    return {
      record: { ...record, ...found, ...times, status: 'active', reachable: true, lastError: null },
      failures: 0,
      ...(toolsDigest !== undefined && { toolsDigest }),
      listDigests: { ...server.listDigests, ...otherDigests },
    };
  }
  const failures = tolerance === 'at-once' ? HEALTH_FAILURES_MAX : server.failures + 1;
  const isInactive = record.status === 'inactive' || failures >= HEALTH_FAILURES_MAX;
  return {
    ...server,
    record: { ...record, status: isInactive ? 'inactive' : 'active', reachable: false, lastError: probe.reason },
    failures: Math.min(failures, HEALTH_FAILURES_MAX),
  };
}

type ListCounts = Partial<Pick<ServerRecord, 'toolCount' | 'promptCount' | 'resourceCount' | 'templateCount'>>;

/** The state of a server that no probe has reached. */
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

/** The record with the members of the input. Members that the input leaves out stay; the ownership is replaced. */
export function recordAfter(before: ServerRecord, checked: ServerInput, ownership: Ownership): ServerRecord {
  const { auth: knownAuth, curation: knownCuration, owner: _owner, team: _team, ...record } = before;
  const { description = record.description, tags = record.tags, transport = record.transport } = checked;
  const { name, url, enabled = record.enabled, auth = knownAuth, curation = knownCuration } = checked;
  const set = { name, url, description, tags, transport, enabled };
  return { ...record, ...set, ...(auth && { auth }), ...(curation && { curation }), ...ownership };
}

/** The server after its endpoint changed. What probes found before is removed, because it is about another server. */
export function movedServer({ era: _era, eras: _eras, ...record }: ServerRecord): StoredServer {
  return { record: { ...record, ...NEVER_REACHED }, failures: 0 };
}

export function isSameEndpoint(one: ServerEndpoint, other: ServerEndpoint): boolean {
  return endpointText(one) === endpointText(other);
}

function endpointText({ url, transport = 'STREAMABLEHTTP', auth = null }: ServerEndpoint): string {
  return JSON.stringify([url, transport, auth]);
}
