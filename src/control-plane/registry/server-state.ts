// What a probe makes of a server (decisions 3, "Status"). The only writer of `status`:
//
//   status    probe    at once (registration, refresh)   patient (health check)
//   any       reached  active                            active
//   active    failed   inactive                          active, until healthFailuresMax in a row: inactive
//   inactive  failed   inactive                          inactive
import { limits } from '../../shared/limits.js';
import type { Probe } from '../prober/prober.js';
import { digestOfList } from '../records/item-digest.js';
import { listCountsOf, listDigestsOf, type ServerListDigests } from '../records/server-lists.js';
import type { ServerRecord } from '../records/server-record.js';

/** A record, and what only the registry needs to know of a server. */
export interface StoredServer {
  readonly record: ServerRecord;
  /** Health checks that failed in a row, over all control planes; no more are counted than it takes. */
  readonly failures: number;
  /** Another one when its tools are others; there once they were read by this version. */
  readonly toolsDigest?: string;
  readonly listDigests?: ServerListDigests;
}

export type Judgement = 'at-once' | 'patient';

/** What was not read again stays as it was last read. */
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
  const failures = judgement === 'at-once' ? limits.healthFailuresMax : server.failures + 1;
  const isOut = record.status === 'inactive' || failures >= limits.healthFailuresMax;
  return {
    ...server,
    record: { ...record, status: isOut ? 'inactive' : 'active', reachable: false, lastError: probe.reason },
    failures: Math.min(failures, limits.healthFailuresMax),
  };
}
