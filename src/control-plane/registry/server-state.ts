// The effect of a probe on a server (decisions 3, "Status"). This is the only writer of `status`:
//
//   status    probe    at once (registration, refresh)   patient (health check)
//   any       reached  active                            active
//   active    failed   inactive                          active, until healthFailuresMax in a row: inactive
//   inactive  failed   inactive                          inactive
import type { Probe } from '../prober/prober.js';
import { digestOfList } from '../records/item-digest.js';
import { listCountsOf, listDigestsOf, type ServerListDigests } from '../records/server-lists.js';
import type { ServerRecord } from '../records/server-record.js';

/** Failed health checks in a row. Beyond it, the server becomes inactive. */
const HEALTH_FAILURES_MAX = 3;

/** A record, with what only the registry needs to know of a server. */
export interface StoredServer {
  readonly record: ServerRecord;
  /** Failed health checks in a row, across all control planes; counted up to `healthFailuresMax`. */
  readonly failures: number;
  /** Changes when the tools change; absent until this version has read them. */
  readonly toolsDigest?: string;
  readonly listDigests?: ServerListDigests;
}

export type Judgement = 'at-once' | 'patient';

/** What was not read again keeps its last value. */
export function afterProbe(server: StoredServer, probe: Probe, judgement: Judgement, now: string): StoredServer {
  const { record } = server;
  if (probe.kind === 'reached') {
    const { era, eras, serverInfo, capabilities, tools, lists } = probe.findings;
    const found = { era, eras, serverInfo, capabilities, toolCount: tools.digests.size, ...listCountsOf(lists) };
    const times = { lastSeen: now, lastRefreshAt: now };
    return {
      record: { ...record, ...found, ...times, status: 'active', reachable: true, lastError: null },
      failures: 0,
      toolsDigest: digestOfList(tools.digests),
      listDigests: { ...server.listDigests, ...listDigestsOf(lists) },
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
