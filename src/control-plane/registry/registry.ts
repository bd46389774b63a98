// The registry of servers: which are registered, under which names, and what probes found (specification 3). Its state is
// in the record store, so that several control planes may share it. Every write is a swap, so that no concurrent change
// is lost.
import { randomBytes } from 'node:crypto';
import { limits, type Logger, RepeatedLog } from '../../shared/index.js';
import { RECORDS_PER_READ_MAX, type RecordStore, retrySwap } from '../../store/index.js';
import { HealthChecks } from '../prober/health-checks.js';
import { createJob, type PublicationJob } from '../compositions/publication.js';
import { type Change, ChangeOutcome } from '../common/change.js';
import { ownershipAfter, ownershipOfNew, refuseForeignTeam, refuseUnowned } from '../common/principal.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { cursorAfter, type Page, type PageQuery } from '../mirror/named-mirror.js';
import type { CredentialedProber } from '../prober/probe-thread.js';
import type { ProbeResult } from '../prober/prober.js';
import {
  type AllLists,
  type HealthEntry,
  LIST_NAMES,
  type ListName,
  type RefreshReport,
  type ServerInput,
  type ServerRecord,
  type ServerStatus,
} from '../records/server-record.js';
import {
  serverAfterProbe,
  type FailureTolerance,
  probedListsOf,
  type StoredServer,
  newServer,
  isSameEndpoint,
  movedServer,
  recordAfter,
} from './server-state.js';
import type { Directory } from './directory.js';
import type { KnownServer } from './server-directory.js';
import { checkServerInput, prefixOf, refuseTakenPrefix, withPrefixForClients } from './server-input.js';
import { ServerStorage } from './server-storage.js';
import { logLevelOf, auditedRefresh, reportOf, type ServerChanges, type ProbeEffect } from './list-changes.js';

interface RegistryOptions {
  readonly records: RecordStore;
  readonly directory: Directory;
  /** The prober, which the registry closes. */
  readonly prober: Pick<CredentialedProber, 'probe' | 'close'>;
  readonly logger: Logger;
  readonly healthIntervalMs: number;
  readonly serversMax: number;
}

export interface ServerQuery extends PageQuery {
  /** Only servers with at least one of these tags are listed. */
  readonly tags?: readonly string[];
  readonly status?: ServerStatus;
}

/** Called after every change that the aggregate or a composition may depend on. @param job what is to be published, if anything. */
type ChangeListener = (job: PublicationJob | undefined, outcome: ChangeOutcome) => void | Promise<void>;

export class Registry {
  readonly #storage: ServerStorage;
  readonly #options: RegistryOptions;
  readonly #healthChecks: HealthChecks<KnownServer>;
  readonly #repeatedLog = new RepeatedLog();
  readonly #listeners: ChangeListener[] = [];
  readonly #refreshingIds = new Set<string>();

  constructor(options: RegistryOptions) {
    const { records, logger, healthIntervalMs: intervalMs } = options;
    this.#options = options;
    this.#storage = new ServerStorage(records);
    this.#healthChecks = new HealthChecks({
      ...{ intervalMs, logger },
      listTargets: async () => this.#listForHealthCheck(),
      check: async (server) => {
        // A refresh in progress will have a newer result.
        if (!this.#refreshingIds.has(server.id))
          await this.#applyProbe(server, await options.prober.probe(server), 'patient');
      },
    });
  }

  /** A page of the servers, sorted by name. It ends early when its records exceed `limits.listPageBytesMax`. */
  async list({ tags, status, limit = limits.listPageMax, cursor }: ServerQuery = {}): Promise<Page<ServerRecord>> {
    await this.#options.directory.sync();
    const page = this.#options.directory.servers.page(
      { limit, cursor },
      (server) =>
        (tags === undefined || server.tags.some((tag) => tags.includes(tag))) &&
        (status === undefined || server.status === status),
    );
    const items: ServerRecord[] = [];
    let bytesLeft: number = limits.listPageBytesMax;
    for (let start = 0; start < page.items.length; start += RECORDS_PER_READ_MAX) {
      const part = page.items.slice(start, start + RECORDS_PER_READ_MAX);
      const { servers, bytes } = await this.#storage.loadMany(part.map(({ id }) => id));
      for (const { record } of servers) items.push(record);
      bytesLeft -= bytes;
      const last = part.at(-1)!;
      if (bytesLeft <= 0 && last !== page.items.at(-1)) return { items, cursor: cursorAfter(last) };
    }
    return { items, cursor: page.cursor };
  }

  async count() {
    await this.#options.directory.sync();
    return this.#options.directory.servers.count();
  }

  /** The server's record. @param reference an id, a name in any case, or a slug. */
  async find(reference: string): Promise<ServerRecord | undefined> {
    return (await this.#storage.find(reference))?.row.record;
  }

  /** A list of the server as a probe last read it: a JSON array. */
  async listJson(reference: string, name: ListName): Promise<Buffer> {
    const { row } = await this.#storage.require(reference);
    return this.#storage.loadListJson(row.record.id, name);
  }

  /** The server's health history, the latest entry first. */
  async health(reference: string): Promise<readonly HealthEntry[]> {
    const { row } = await this.#storage.require(reference);
    return this.#storage.loadHealth(row.record.id);
  }

  /** Names of the tools as last read; empty if the server does not exist. */
  async toolNames(id: string): Promise<readonly string[]> {
    return [...(await this.#storage.loadDigests(id, 'tools')).keys()];
  }

  /** Probes a server. @returns what would be registered; its tools are a JSON array. Faults: `invalid`, `name-taken`, `prefix-taken`. */
  async preview(input: ServerInput) {
    const checked = checkServerInput(input);
    await this.#storage.refuseTakenName(checked.name);
    const named = await this.#withSlugAndPrefix(newServer(checked, ''));
    const probe = await this.#options.prober.probe(checked);
    const { id: _, ...server } = serverAfterProbe(named, probe, 'at-once', named.record.createdAt).record;
    return { server, toolsJson: probedListsOf(probe).tools?.json ?? Buffer.from('[]') };
  }

  /**
   * Probes the server and stores it, even if the probe fails. Faults: `invalid`, `name-taken`, `prefix-taken`,
   * `registry-full`, `not-owned` (the team is not one of the caller's).
   */
  async register(input: ServerInput, change: Change = {}): Promise<ServerRecord> {
    const { caller } = change;
    const checked = checkServerInput(input);
    refuseForeignTeam(caller, checked.team);
    // The name is checked before the probe, which takes a while. The swap checks it again.
    await this.#storage.refuseTakenName(checked.name);
    await this.#options.directory.sync();
    const { directory, serversMax } = this.#options;
    if (directory.servers.size >= serversMax) {
      throw new ControlPlaneFault('registry-full', `No more than ${serversMax} servers can be registered`);
    }
    const probe = await this.#options.prober.probe(checked);
    const blank = newServer(checked, randomBytes(16).toString('hex'), ownershipOfNew(caller, checked.team));
    const { id, name, createdAt } = blank.record;
    const job = createJob({ servers: [id, name] });
    const { after } = await this.#storage.insert(name, change, async () => {
      const after = serverAfterProbe(await this.#withSlugAndPrefix(blank), probe, 'at-once', createdAt);
      return { after, job, lists: probedListsOf(probe) };
    });
    return this.#onChanged(after, 'server registered', job, change);
  }

  /**
   * Changes the members that the input has. With another URL, transport or `auth`, the server counts as new under the old id, and is
   * probed. Faults: `not-found`, `invalid`, `name-taken`, `prefix-taken`, `changed-meanwhile`, `not-owned`.
   */
  async replace(reference: string, input: ServerInput, change: Change = {}): Promise<ServerRecord> {
    const checked = checkServerInput(input);
    let probe: ProbeResult | undefined;
    const { after, job } = await this.#storage.change(reference, change, checked.team, async (before) => {
      const { record } = before.row;
      const { id, name, slug } = record;
      await this.#options.directory.sync();
      await this.#storage.refuseTakenName(checked.name, id);
      const isSameName = name.toLowerCase() === checked.name.toLowerCase();
      const changed = {
        ...recordAfter(record, checked, ownershipAfter(record, checked.team)),
        slug: isSameName ? slug : await this.#storage.findFreeSlug(checked.name),
        updatedAt: new Date().toISOString(),
      };
      // Two servers may share a prefix if they were registered at the same time: each may keep it.
      if (prefixOf(changed) !== prefixOf(record)) refuseTakenPrefix(changed, this.#options.directory.servers.sorted);
      let after: StoredServer = { ...before.row, record: changed };
      if (!isSameEndpoint(record, changed)) {
        probe ??= await this.#options.prober.probe(changed);
        after = serverAfterProbe(movedServer(changed), probe, 'at-once', changed.updatedAt);
      }
      return { after, lists: probe && probedListsOf(probe), job: createJob({ servers: [id, name, checked.name] }) };
    });
    return this.#onChanged(after, 'server changed', job, change);
  }

  /** Removes the server. Faults: `not-found`, `changed-meanwhile`, `not-owned`. */
  async remove(reference: string, change: Change = {}): Promise<void> {
    const { job, name } = await this.#storage.change(reference, change, undefined, async (before) => {
      const { id, name } = before.row.record;
      return { after: undefined, job: createJob({ servers: [id, name] }), name };
    });
    this.#options.logger.info({ server: name }, 'server removed');
    await this.#callListeners(job, change.outcome);
  }

  /** Probes a server now, and stores the result. Faults: `not-found`, `refresh-running` (in this process), `not-owned`. */
  async refresh(reference: string, { outcome = new ChangeOutcome(), caller }: Change = {}): Promise<RefreshReport> {
    const { record } = (await this.#storage.require(reference)).row;
    refuseUnowned('server', record, caller);
    if (this.#refreshingIds.has(record.id)) {
      throw new ControlPlaneFault('refresh-running', `A refresh of ${record.name} is running`);
    }
    this.#refreshingIds.add(record.id);
    try {
      const startedAtMs = performance.now();
      const probe = await this.#options.prober.probe(record);
      const effect = await this.#applyProbe(record, probe, 'at-once', outcome);
      const report = reportOf(record, effect, performance.now() - startedAtMs);
      const { id, name, status } = record;
      outcome.change = { before: { id, name, status }, after: { id, name, ...report }, isCertain: true };
      return report;
    } finally {
      this.#refreshingIds.delete(record.id);
    }
  }

  /** Adds a listener, which is called only for changes by this process. Each change waits for all listeners. */
  addChangeListener(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  start(): void {
    this.#healthChecks.start();
  }

  async stop(): Promise<void> {
    this.#options.prober.close();
    await this.#healthChecks.stop();
  }

  /** Adds a free slug and, if needed, a prefix. Fault: `prefix-taken`. */
  async #withSlugAndPrefix(blank: StoredServer): Promise<StoredServer> {
    // Makes known what other processes have registered. If one takes the slug after this, the swap fails.
    await this.#options.directory.sync();
    const slug = await this.#storage.findFreeSlug(blank.record.name);
    const record = withPrefixForClients({ ...blank.record, slug });
    refuseTakenPrefix(record, this.#options.directory.servers.sorted);
    return { ...blank, record };
  }

  async #onChanged(
    { record }: StoredServer,
    words: string,
    job: PublicationJob,
    { outcome }: Change,
  ): Promise<ServerRecord> {
    const { name: server, status, lastError } = record;
    this.#options.logger[logLevelOf(status)]({ server, status, error: lastError }, words);
    await this.#callListeners(job, outcome);
    return record;
  }

  /** The servers to check: active ones first, so that unresponsive ones do not delay them. */
  async #listForHealthCheck(): Promise<KnownServer[]> {
    await this.#options.directory.sync();
    return this.#options.directory.servers.sorted.toSorted(
      (a, b) => Number(b.status === 'active') - Number(a.status === 'active'),
    );
  }

  async #applyProbe(
    probed: Pick<ServerRecord, 'id' | 'url' | 'transport' | 'auth'>,
    probe: ProbeResult,
    tolerance: FailureTolerance,
    outcome = new ChangeOutcome(),
  ): Promise<ProbeEffect> {
    return retrySwap(async () => {
      const before = await this.#storage.load(probed.id);
      // If the server was removed, or its endpoint changed, while it was probed, the result is dropped.
      if (before === undefined || !isSameEndpoint(before.row.record, probed)) return { record: before?.row.record };
      const { row } = before;
      const lists = probedListsOf(probe);
      const after = serverAfterProbe(row, probe, tolerance, new Date().toISOString());
      const changes = await this.#storage.compareLists(row, after, lists);
      if (changes.has('tools')) await this.#options.directory.sync();
      // Compositions are published again when a server is first reached; those with patterns also when its tools change.
      const isNew = row.record.lastSeen === null && after.record.lastSeen !== null;
      const mayChangeMatches = changes.has('tools') && this.#options.directory.compositions.hasPatternsFor(row.record);
      const { id, name } = row.record;
      const job = isNew || mayChangeMatches ? createJob({ servers: [id, name] }) : undefined;
      const audited = [auditedRefresh(row), auditedRefresh(after, changes)] as const;
      const decided = { after, lists, job, audited };
      if ((await this.#storage.commit(before, decided, { outcome })) === undefined) return undefined;
      if (probe.kind === 'reached') this.#warnOfMissingLists(name, lists);
      await this.#onProbeApplied(row, after, changes, job, outcome);
      return { record: after.record, changes };
    });
  }

  #warnOfMissingLists(server: string, found: AllLists): void {
    const lists = LIST_NAMES.filter((name) => found[name] === undefined);
    if (lists.length === 0) return;
    const words = 'lists of a server were refused or are too long; the previous ones are kept';
    this.#repeatedLog.warn(this.#options.logger, server, { server, lists }, words);
  }

  async #onProbeApplied(
    before: StoredServer,
    after: StoredServer,
    changes: ServerChanges,
    job: PublicationJob | undefined,
    outcome: ChangeOutcome,
  ): Promise<void> {
    const { name, status, lastError } = after.record;
    const isStatusChanged = status !== before.record.status;
    if (isStatusChanged)
      this.#options.logger[logLevelOf(status)]({ server: name, status, error: lastError }, 'server status changed');
    for (const [list, counts] of changes)
      this.#options.logger.info({ server: name, ...counts }, `server ${list} changed`);
    // Changes of the other lists alone are not reported to listeners: nothing depends on those lists.
    if (isStatusChanged || changes.has('tools') || job !== undefined) await this.#callListeners(job, outcome);
  }

  async #callListeners(job: PublicationJob | undefined, outcome = new ChangeOutcome()): Promise<void> {
    for (const listener of this.#listeners) await listener(job, outcome);
  }
}
