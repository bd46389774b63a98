// The registry of servers: which are registered, under which names, and what their probes found (decisions 3). All
// state is in the record store, so that several control planes may share it; the registry itself keeps only what is
// under way. Every write is a swap of what was read: a concurrent change is never lost, but is read and built upon.
import { randomBytes } from 'node:crypto';
import { limits, type Logger } from '../../shared/index.js';
import { type RecordStore, retrySwap } from '../../store/index.js';
import { HealthChecks } from '../prober/health-checks.js';
import { createJob, type PublicationJob } from '../compositions/publication-job.js';
import type { Change, PublicationWait } from '../compositions/publication-wait.js';
import { ChangeNote } from '../common/audit.js';
import { ownershipAfter, ownershipOfNew, refuseGivenAway, refuseUnowned, type Principal } from '../common/principal.js';
import { ChangeCondition } from '../common/change-condition.js';
import { serverTag, type HealthEntry, afterProbe } from './server-state.js';
import { ControlPlaneFault, notFound } from '../common/control-plane-fault.js';
import type { Directory } from './directory.js';
import { cursorAfter, pageOf, type Page, type PageQuery } from '../common/page.js';
import type { CredentialedProber } from '../prober/probe-credentials.js';
import type { Probe } from '../prober/prober.js';
import { blankServer, contentsOf, isSamePlace, recordAfter, saidAfter } from './blank-server.js';
import { checkServerInput, prefixOf, refuseTakenPrefix, withClientsPrefix } from './server-input.js';
import type { KnownServer, ServerCounts } from './server-directory.js';
import type {
  RefreshReport,
  ServerInput,
  ServerPreview,
  ServerRecord,
  ServerStatus,
} from '../records/server-record.js';
import type { ServerListName } from '../records/server-lists.js';
import { ServerStorage, type ServerSnapshot } from './server-storage.js';
import { levelOf, reportOf, Settlements } from './settlements.js';

interface RegistryOptions {
  readonly records: RecordStore;
  readonly directory: Directory;
  /** Closed by the registry when it stops. */
  readonly prober: Pick<CredentialedProber, 'probe' | 'close'>;
  readonly logger: Logger;
  /** Interval between two health checks of one server. */
  readonly healthIntervalMs: number;
  readonly serversMax: number;
}

export interface ServerQuery extends PageQuery {
  /** Servers that have any of these tags. */
  readonly tags?: readonly string[];
  readonly status?: ServerStatus;
}

/** Called after every change that the aggregate or a composition may depend on. The job is what is to be published,
 * if anything; the wait is how long the request that made the change waits for that. */
type ChangeListener = (job: PublicationJob | undefined, wait?: PublicationWait) => void | Promise<void>;

export class Registry {
  readonly #storage: ServerStorage;
  readonly #directory: Directory;
  readonly #prober: Pick<CredentialedProber, 'probe' | 'close'>;
  readonly #logger: Logger;
  readonly #serversMax: number;
  readonly #healthChecks: HealthChecks<KnownServer>;
  readonly #settlements: Settlements;
  readonly #listeners: ChangeListener[] = [];
  /** Ids of the servers whose refresh is under way. */
  readonly #refreshing = new Set<string>();

  constructor({ records, directory, prober, logger, healthIntervalMs, serversMax }: RegistryOptions) {
    this.#serversMax = serversMax;
    this.#storage = new ServerStorage(records);
    this.#directory = directory;
    this.#prober = prober;
    this.#logger = logger;
    this.#settlements = new Settlements(this.#storage, directory, logger, (job, wait) => this.#tellChange(job, wait));
    this.#healthChecks = new HealthChecks({
      intervalMs: healthIntervalMs,
      logger,
      listTargets: async () => this.#listForHealthCheck(),
      check: async (server) => this.#checkHealth(server),
    });
  }

  /** Sorted by name. A page ends before its limit when its records exceed `limits.listPageBytesMax`. */
  async list({ tags, status, limit = limits.listPageMax, cursor }: ServerQuery = {}): Promise<Page<ServerRecord>> {
    await this.#directory.sync();
    const query = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const page = pageOf(
      this.#directory.servers.sorted,
      query,
      (server) =>
        (tags === undefined || server.tags.some((tag) => tags.includes(tag))) &&
        (status === undefined || server.status === status),
    );
    const items: ServerRecord[] = [];
    let bytesLeft: number = limits.listPageBytesMax;
    for (let start = 0; start < page.items.length; start += limits.recordsPerReadMax) {
      const part = page.items.slice(start, start + limits.recordsPerReadMax);
      const { servers, bytes } = await this.#storage.loadMany(part.map(({ id }) => id));
      for (const { record } of servers) items.push(record);
      bytesLeft -= bytes;
      const last = part.at(-1)!;
      if (bytesLeft <= 0 && last !== page.items.at(-1)) return { items, cursor: cursorAfter(last) };
    }
    return { items, cursor: page.cursor };
  }

  async count(): Promise<ServerCounts> {
    await this.#directory.sync();
    return this.#directory.servers.count();
  }

  /** By id, by name in any case, or by slug, in this order. */
  async find(reference: string): Promise<ServerRecord | undefined> {
    return (await this.#storage.find(reference))?.record;
  }

  /** A list as last read: a JSON array. */
  async listJson(reference: string, name: 'tools' | ServerListName): Promise<Buffer> {
    const { record } = await this.#require(reference);
    return this.#storage.loadListJson(record.id, name);
  }

  /** Health history, the latest first. */
  async health(reference: string): Promise<readonly HealthEntry[]> {
    const { record } = await this.#require(reference);
    return this.#storage.loadHealth(record.id);
  }

  /** Names of the tools as last read; none when there is no such server. */
  async toolNames(id: string): Promise<readonly string[]> {
    return [...(await this.#storage.loadTools(id)).digests.keys()];
  }

  /**
   * Probes a server and returns what would be registered; stores nothing. Faults: `invalid`, `name-taken`, `prefix-taken`.
   */
  async preview(input: ServerInput): Promise<ServerPreview> {
    const checked = checkServerInput(input);
    await this.#refuseTakenName(checked.name);
    await this.#directory.sync();
    const blank = blankServer(checked, '');
    const named = {
      ...blank,
      record: withClientsPrefix({ ...blank.record, slug: await this.#storage.findFreeSlug(checked.name) }),
    };
    refuseTakenPrefix(named.record, this.#directory.servers.sorted);
    const probe = await this.#prober.probe(checked);
    const { id: _, ...server } = afterProbe(named, probe, 'at-once', blank.record.createdAt).record;
    return { server, toolsJson: contentsOf(probe).tools.json };
  }

  /**
   * Probes the server and stores it, active or not. Faults: `invalid`, `name-taken`, `prefix-taken`, `registry-full`,
   * `not-owned` (the given team is not one of the caller's).
   */
  async register(input: ServerInput, { wait, note = new ChangeNote(), caller }: Change = {}): Promise<ServerRecord> {
    const checked = checkServerInput(input);
    refuseGivenAway(caller, checked.team);
    // Checked before the probe, which takes a while; the swap decides.
    await this.#refuseTakenName(checked.name);
    await this.#directory.sync();
    if (this.#directory.servers.size >= this.#serversMax) {
      throw new ControlPlaneFault('registry-full', `No more than ${this.#serversMax} servers can be registered`);
    }
    const probe = await this.#prober.probe(checked);
    const ownership = ownershipOfNew(caller, checked.team);
    const blank = blankServer(checked, randomBytes(16).toString('hex'), ownership);
    const job = createJob({ servers: [blank.record.id, blank.record.name] });
    const record = await retrySwap(async () => {
      // Synced before names and slugs are looked up: anything newer makes the swap fail.
      await this.#directory.sync();
      await this.#refuseTakenName(checked.name);
      const slug = await this.#storage.findFreeSlug(checked.name);
      const named = { ...blank, record: withClientsPrefix({ ...blank.record, slug }) };
      refuseTakenPrefix(named.record, this.#directory.servers.sorted);
      const server = afterProbe(named, probe, 'at-once', blank.record.createdAt);
      const swap = (): Promise<boolean> => this.#storage.tryInsert(server, contentsOf(probe), job);
      if (await note.making(undefined, server.record, swap)) return server.record;
      await this.#refuseTakenName(checked.name);
      return undefined;
    });
    const { name: server, status, lastError } = record;
    this.#logger[levelOf(status)]({ server, status, error: lastError }, 'server registered');
    await this.#tellChange(job, wait);
    return record;
  }

  /**
   * Changes what people set on a server, except what they leave out. With another URL, transport or `auth` it counts as
   * a new server under the old id, and is probed. Faults: `not-found`, `invalid`, `name-taken`, `prefix-taken`,
   * `changed-meanwhile`, `not-owned`.
   */
  async replace(
    reference: string,
    input: ServerInput,
    { wait, note = new ChangeNote(), condition = ChangeCondition.none, caller }: Change = {},
  ): Promise<ServerRecord> {
    const checked = checkServerInput(input);
    const { id } = await this.#requireChangeable(reference, condition, caller);
    let probe: Probe | undefined;
    const [record, job] = await retrySwap(async () => {
      const before = await this.#require(id);
      refuseUnowned('server', before.record, caller);
      refuseGivenAway(caller, checked.team, before.record.team);
      refuseUnlessMet(condition, before.record);
      const ownership = ownershipAfter(before.record, checked.team);
      const change = createJob({ servers: [id, before.record.name, checked.name] });
      await this.#directory.sync();
      await this.#refuseTakenName(checked.name, id);
      const isSameName = before.record.name.toLowerCase() === checked.name.toLowerCase();
      const slug = isSameName ? before.record.slug : await this.#storage.findFreeSlug(checked.name);
      const said = saidAfter(before.record, checked);
      const named = { id, name: said.name, ...(said.curation && { curation: said.curation }) };
      // An unchanged prefix may stay even if it is taken: two servers were registered at once, or by an earlier version.
      if (prefixOf(named) !== prefixOf(before.record)) refuseTakenPrefix(named, this.#directory.servers.sorted);
      const updatedAt = new Date().toISOString();
      if (isSamePlace(before.record, said)) {
        const after = recordAfter(before.record, said, { ...ownership, slug, updatedAt });
        const { bytes: _, ...rest } = before;
        const swap = (): Promise<boolean> =>
          this.#storage.tryUpdate(before, { ...rest, record: after }, undefined, change);
        return (await note.making(before.record, after, swap)) ? [after, change] : undefined;
      }
      probe ??= await this.#prober.probe(said);
      const { createdAt } = before.record;
      const blank = blankServer(said, id, ownership);
      const moved = { ...blank, record: { ...blank.record, slug, createdAt, updatedAt } };
      const after = afterProbe(moved, probe, 'at-once', updatedAt);
      const contents = { ...contentsOf(probe), toolsBefore: await this.#storage.loadTools(id) };
      const swap = (): Promise<boolean> => this.#storage.tryUpdate(before, after, contents, change);
      return (await note.making(before.record, after.record, swap)) ? [after.record, change] : undefined;
    });
    const { name: server, status, lastError } = record;
    this.#logger[levelOf(status)]({ server, status, error: lastError }, 'server changed');
    await this.#tellChange(job, wait);
    return record;
  }

  /** Faults: `not-found`, `changed-meanwhile`, `not-owned`. */
  async remove(
    reference: string,
    { wait, note = new ChangeNote(), condition = ChangeCondition.none, caller }: Change = {},
  ): Promise<void> {
    const { id, name } = await this.#requireChangeable(reference, condition, caller);
    const job = createJob({ servers: [id, name] });
    await retrySwap(async () => {
      const server = await this.#require(id);
      refuseUnowned('server', server.record, caller);
      refuseUnlessMet(condition, server.record);
      const tools = await this.#storage.loadTools(id);
      const swap = (): Promise<boolean> => this.#storage.tryDelete(server, tools, job);
      return (await note.making(server.record, undefined, swap)) ? true : undefined;
    });
    this.#logger.info({ server: name }, 'server removed');
    await this.#tellChange(job, wait);
  }

  /** Probes now, and sets the status both ways. Faults: `not-found`, `refresh-running` (in this process), `not-owned`. */
  async refresh(reference: string, { wait, note = new ChangeNote(), caller }: Change = {}): Promise<RefreshReport> {
    const { record } = await this.#require(reference);
    refuseUnowned('server', record, caller);
    if (this.#refreshing.has(record.id)) {
      throw new ControlPlaneFault('refresh-running', `A refresh of ${record.name} is running`);
    }
    this.#refreshing.add(record.id);
    try {
      const startedAtMs = performance.now();
      const probe = await this.#prober.probe(record);
      const settlement = await this.#settlements.settle(record, probe, 'at-once', wait, note);
      const report = reportOf(record, settlement, performance.now() - startedAtMs);
      const { id, name, status } = record;
      note.made({ id, name, status }, { id, name, ...report });
      return report;
    } finally {
      this.#refreshing.delete(record.id);
    }
  }

  /** Calls back after each change by this process; the change waits for the listener. */
  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /** Starts the health checks. */
  start(): void {
    this.#healthChecks.start();
  }

  /** Stops the health checks, and every probe under way. */
  async stop(): Promise<void> {
    this.#prober.close();
    await this.#healthChecks.stop();
  }

  async #require(reference: string): Promise<ServerSnapshot> {
    const server = await this.#storage.find(reference);
    if (server === undefined) throw notFound('server', reference);
    return server;
  }

  async #requireChangeable(
    reference: string,
    condition: ChangeCondition,
    caller: Principal | undefined,
  ): Promise<ServerRecord> {
    const { record } = await this.#require(reference);
    refuseUnowned('server', record, caller);
    refuseUnlessMet(condition, record);
    return record;
  }

  /** @param id of the server that may have the name. */
  async #refuseTakenName(name: string, id?: string): Promise<void> {
    const owner = await this.#storage.ownerOfName(name);
    if (owner === undefined || owner === id) return;
    throw new ControlPlaneFault('name-taken', `A server named ${name} is already registered`, { member: 'name' });
  }

  /** Active servers come first, so that servers that hang do not delay them. */
  async #listForHealthCheck(): Promise<KnownServer[]> {
    await this.#directory.sync();
    return this.#directory.servers.sorted.toSorted(
      (a, b) => Number(b.status === 'active') - Number(a.status === 'active'),
    );
  }

  async #checkHealth(server: KnownServer): Promise<void> {
    // The result of the refresh will be newer.
    if (this.#refreshing.has(server.id)) return;
    await this.#settlements.settle(server, await this.#prober.probe(server), 'patient');
  }

  async #tellChange(job: PublicationJob | undefined, wait?: PublicationWait): Promise<void> {
    for (const listener of this.#listeners) await listener(job, wait);
  }
}

function refuseUnlessMet(condition: ChangeCondition, record: ServerRecord): void {
  condition.refuseUnlessMet('server', record.name, serverTag(record));
}
