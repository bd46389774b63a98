// Settles the results of probes: writes them to the server that was probed, if it is still the same server, and
// notifies whatever may depend on it.
import { type Logger, RepeatedLog } from '../../shared/index.js';
import { retrySwap } from '../../store/index.js';
import { ChangeNote } from '../common/change.js';
import { createJob, type PublicationJob } from '../compositions/publication.js';
import type { Directory } from './directory.js';
import type { Probe } from '../prober/prober.js';
import { afterProbe, type FailurePatience, listsOf, type StoredServer, isSameEndpoint } from './server-state.js';
import { notFound } from '../common/control-plane-fault.js';
import {
  type RefreshReport,
  type ReportedCounts,
  type ServerRecord,
  type ServerStatus,
  type AllLists,
  LISTS,
  type ListName,
} from '../records/server-record.js';
import { listsChanged, type ServerStorage } from './server-storage.js';

/** The differences between two readings of one of a server's lists. */
export interface ItemChanges {
  readonly added: number;
  readonly updated: number;
  readonly removed: number;
}

/** Both arguments map an item's key to its digest. */
export function compareItems(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ItemChanges {
  let [added, updated] = [0, 0];
  for (const [key, digest] of after) {
    const known = before.get(key);
    if (known === undefined) added += 1;
    else if (known !== digest) updated += 1;
  }
  return { added, updated, removed: before.size + added - after.size };
}

/** Of the lists that have changed. */
type ServerChanges = ReadonlyMap<ListName, ItemChanges>;

/** As in `toolsAdded`. */
function reportedCounts(changes: ServerChanges = new Map()): ReportedCounts {
  const counts = LISTS.flatMap((list) => {
    const { added, updated, removed } = changes.get(list) ?? { added: 0, updated: 0, removed: 0 };
    return [
      [`${list}Added`, added],
      [`${list}Updated`, updated],
      [`${list}Removed`, removed],
    ];
  });
  return Object.fromEntries(counts) as ReportedCounts;
}

/** The effect of a probe on a server. */
interface Settlement {
  /** `undefined`: it was removed. */
  readonly record: ServerRecord | undefined;
  /** `undefined`: it is no longer the server that was probed. */
  readonly changes?: ServerChanges;
}

/** Called with each change; the job is what is to be published for it, which `note` may wait for. */
type TellChange = (job: PublicationJob | undefined, note: ChangeNote) => Promise<void>;

interface SettlementParts {
  readonly servers: ServerStorage;
  readonly directory: Directory;
  readonly logger: Logger;
  readonly tellChange: TellChange;
}

export class Settlements {
  readonly #parts: SettlementParts;
  readonly #repeated = new RepeatedLog();

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  /** Stores what a probe of the server found. */
  async settle(
    probed: Pick<ServerRecord, 'id' | 'url' | 'transport' | 'auth'>,
    probe: Probe,
    judgement: FailurePatience,
    note = new ChangeNote(),
  ): Promise<Settlement> {
    return retrySwap(async () => {
      const before = await this.#parts.servers.load(probed.id);
      // The server was removed or replaced meanwhile: the probe says nothing about it.
      if (before === undefined || !isSameEndpoint(before.row.record, probed)) return { record: before?.row.record };
      const { row } = before;
      const lists = listsOf(probe);
      const after = afterProbe(row, probe, judgement, new Date().toISOString());
      const changes = await this.#compareLists(row, after, lists);
      if (changes.has('tools')) await this.#parts.directory.sync();
      // A server is published to compositions when it is first reached, and to those with patterns when its tools change.
      const isNew = row.record.lastSeen === null && after.record.lastSeen !== null;
      const isFollowed = changes.has('tools') && this.#parts.directory.compositions.areFollowing(row.record);
      const { id, name } = row.record;
      const job = isNew || isFollowed ? createJob({ servers: [id, name] }) : undefined;
      const audited = [refreshed(row), refreshed(after, changes)] as const;
      const decided = { after, lists, job, audited };
      if ((await this.#parts.servers.make(before, decided, { note })) === undefined) return undefined;
      if (probe.kind === 'reached') this.#warnOfMissing(name, lists);
      await this.#onSettled(row, after, changes, job, note);
      return { record: after.record, changes };
    });
  }

  /** Only lists whose digest has changed are read from the store. */
  async #compareLists(before: StoredServer, after: StoredServer, lists: AllLists): Promise<ServerChanges> {
    const changes = new Map<ListName, ItemChanges>();
    for (const name of listsChanged(before, after)) {
      const found = compareItems(
        await this.#parts.servers.loadList(before.record.id, name),
        lists[name]?.items ?? new Map(),
      );
      if (found.added + found.updated + found.removed > 0) changes.set(name, found);
    }
    return changes;
  }

  #warnOfMissing(server: string, found: AllLists): void {
    const lists = LISTS.filter((name) => found[name] === undefined);
    if (lists.length === 0) return;
    const words = 'lists of a server were refused or are too long; the previous ones are kept';
    this.#repeated.warn(this.#parts.logger, server, { server, lists }, words);
  }

  async #onSettled(
    before: StoredServer,
    after: StoredServer,
    changes: ServerChanges,
    job: PublicationJob | undefined,
    note: ChangeNote,
  ): Promise<void> {
    const { name, status, lastError } = after.record;
    const isStatusChanged = status !== before.record.status;
    if (isStatusChanged)
      this.#parts.logger[levelOf(status)]({ server: name, status, error: lastError }, 'server status changed');
    for (const [list, counts] of changes)
      this.#parts.logger.info({ server: name, ...counts }, `server ${list} changed`);
    // Nothing depends on the contents of the other lists.
    if (isStatusChanged || changes.has('tools') || job !== undefined) await this.#parts.tellChange(job, note);
  }
}

export function levelOf(status: ServerStatus): 'info' | 'warn' {
  return status === 'inactive' ? 'warn' : 'info';
}

/** What the audit says of a refresh until it is complete. */
function refreshed({ record: { id, name, status } }: StoredServer, changes?: ServerChanges): object {
  return { id, name, status, ...(changes && reportedCounts(changes)) };
}

/** The result of a refresh, for its caller. Throws `not-found` if the server was removed meanwhile. */
export function reportOf(probed: ServerRecord, { record, changes }: Settlement, durationMs: number): RefreshReport {
  if (record === undefined) throw notFound('server', probed.name);
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
