// The effect of a probe on a server's lists: how many items are new, changed and gone.
import { notFoundFault } from '../common/control-plane-fault.js';
import {
  type RefreshReport,
  type ReportedCounts,
  type ServerRecord,
  type ServerStatus,
  LIST_NAMES,
  type ListName,
} from '../records/server-record.js';
import type { StoredServer } from './server-state.js';

export interface ItemChanges {
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
}

/** Compares two readings of a list, each given as digests by the items' keys. */
export function compareItems(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ItemChanges {
  let [added, updated] = [0, 0];
  for (const [key, digest] of after) {
    const known = before.get(key);
    if (known === undefined) added += 1;
    else if (known !== digest) updated += 1;
  }
  return { added, updated, removed: before.size + added - after.size };
}

/** The changes of items by list, only for lists that have changed. */
export type ServerChanges = ReadonlyMap<ListName, ItemChanges>;

function reportedCounts(changes: ServerChanges = new Map()): ReportedCounts {
  const counts = LIST_NAMES.map((list) => {
    const { added, updated, removed } = changes.get(list) ?? { added: 0, updated: 0, removed: 0 };
    return { [`${list}Added`]: added, [`${list}Updated`]: updated, [`${list}Removed`]: removed };
  });
  return Object.assign({}, ...counts) as ReportedCounts;
}

export interface ProbeEffect {
  /** The server after the probe; `undefined` if it was removed meanwhile. */
  readonly record: ServerRecord | undefined;
  /** Absent if the server's endpoint changed during the probe: then the probe says nothing about the server. */
  readonly changes?: ServerChanges;
}

export function logLevelOf(status: ServerStatus): 'info' | 'warn' {
  return status === 'inactive' ? 'warn' : 'info';
}

export function auditedRefresh({ record: { id, name, status } }: StoredServer, changes?: ServerChanges): object {
  return { id, name, status, ...(changes && reportedCounts(changes)) };
}

/** The result of a refresh. Throws `not-found` if the server was removed meanwhile. */
export function reportOf(probed: ServerRecord, { record, changes }: ProbeEffect, durationMs: number): RefreshReport {
  if (record === undefined) throw notFoundFault('server', probed.name);
  const moved = 'its URL, transport or auth changed while it was being read: refresh it again';
  const error = changes === undefined ? moved : record.lastError;
  return {
    status: record.status,
    ...reportedCounts(changes),
    durationMs: Math.round(durationMs),
    refreshedAt: new Date().toISOString(),
    ...(error === null ? {} : { error }),
  };
}
