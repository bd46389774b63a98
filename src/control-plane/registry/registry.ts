// The registry of servers: who is registered, under which names, and what their probes found (decisions 3). All state
// is in the record store, so that several control planes may share it; this keeps none but what is under way. Whatever
// it writes is a swap of what it read: a change of somebody else's is never lost, it is read and built upon.
import { randomBytes } from 'node:crypto';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import type { RecordStore } from '../../store/record-store.js';
import { retrySwap } from '../../store/retry-swap.js';
import { HealthChecks } from '../prober/health-checks.js';
import type { Probe, Prober } from '../prober/prober.js';
import { RegistryFault } from './registry-fault.js';
import { checkServerInput, type CheckedInput } from './server-input.js';
import type { RefreshReport, ServerInput, ServerRecord, ServerTool } from './server-record.js';
import { afterProbe, type Judgement, type StoredServer } from './server-state.js';
import { ServerStorage, type ServerSnapshot } from './server-storage.js';
import { slugsFor } from './slug.js';
import { compareTools, type ToolChanges } from './tool-changes.js';

export interface RegistryOptions {
  readonly records: RecordStore;
  /** Closed by the registry when it stops. */
  readonly prober: Prober;
  readonly logger: Logger;
  /** Between two health checks of one server. */
  readonly healthIntervalMs: number;
}

/** What a probe made of a server; `unsettled` when it is no longer the server that was probed. */
type Settlement =
  | { readonly kind: 'settled'; readonly record: ServerRecord; readonly toolChanges: ToolChanges }
  | { readonly kind: 'unsettled'; readonly record: ServerRecord | undefined };

const NO_TOOL_CHANGES: ToolChanges = { added: [], updated: [], removed: [] };

export class Registry {
  readonly #storage: ServerStorage;
  readonly #prober: Prober;
  readonly #logger: Logger;
  readonly #healthChecks: HealthChecks<ServerRecord>;
  readonly #listeners: (() => void)[] = [];
  /** Ids of the servers whose refresh is under way. */
  readonly #refreshing = new Set<string>();

  constructor({ records, prober, logger, healthIntervalMs }: RegistryOptions) {
    this.#storage = new ServerStorage(records);
    this.#prober = prober;
    this.#logger = logger;
    this.#healthChecks = new HealthChecks({
      intervalMs: healthIntervalMs,
      logger,
      listTargets: async () => this.#listForHealthCheck(),
      check: async (record) => this.#checkHealth(record),
    });
  }

  /** Every server, sorted by name. */
  async list(): Promise<ServerRecord[]> {
    const records = (await this.#storage.list()).map(({ record }) => record);
    return records.sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  }

  /** By id, by name in any case, or by slug, in this order. */
  async find(reference: string): Promise<ServerRecord | undefined> {
    return (await this.#storage.find(reference))?.record;
  }

  /** The tools last read. */
  async tools(reference: string): Promise<readonly ServerTool[]> {
    const { record } = await this.#require(reference);
    return (await this.#storage.loadTools(record.id)).tools;
  }

  /** Probes the server and keeps it, active or not. Faults: `invalid`, `name-taken`, `registry-full`. */
  async register(input: ServerInput): Promise<ServerRecord> {
    const checked = checkServerInput(input);
    // Asked before the probe, which takes its time; what counts is the swap.
    await this.#refuseTakenName(checked.name);
    if ((await this.#storage.list()).length >= limits.serversMax) {
      throw new RegistryFault('registry-full', `No more than ${limits.serversMax} servers can be registered`);
    }
    const probe = await this.#prober.probe(checked.url);
    const blank = blankServer(checked, randomBytes(16).toString('hex'));
    const record = await retrySwap(async () => {
      const slug = await this.#findFreeSlug(checked.name);
      const named = { ...blank, record: { ...blank.record, slug } };
      const server = afterProbe(named, probe, 'at-once', blank.record.createdAt);
      if (await this.#storage.tryInsert(server, toolsOf(probe))) return server.record;
      await this.#refuseTakenName(checked.name);
      return undefined;
    });
    this.#logger.info({ server: record.name, status: record.status, error: record.lastError }, 'server registered');
    this.#tellChange();
    return record;
  }

  /**
   * Changes what people say of a server, and nothing that they leave out; one whose URL is another is a new server under
   * the old id, and is probed.
   * Faults: `not-found`, `invalid`, `name-taken`.
   */
  async replace(reference: string, input: ServerInput): Promise<ServerRecord> {
    const checked = checkServerInput(input);
    const { id } = (await this.#require(reference)).record;
    let probe: Probe | undefined;
    const record = await retrySwap(async () => {
      const before = await this.#require(id);
      await this.#refuseTakenName(checked.name, id);
      const isSameName = before.record.name.toLowerCase() === checked.name.toLowerCase();
      const slug = isSameName ? before.record.slug : await this.#findFreeSlug(checked.name);
      const { description, tags, enabled } = before.record;
      const said = {
        ...checked,
        description: checked.description ?? description,
        tags: checked.tags ?? tags,
        enabled: checked.enabled ?? enabled,
      };
      const updatedAt = new Date().toISOString();
      if (before.record.url === checked.url) {
        const after = { ...before.record, ...said, slug, updatedAt };
        const isDone = await this.#storage.tryUpdate(before, { record: after, failures: before.failures });
        return isDone ? after : undefined;
      }
      probe ??= await this.#prober.probe(checked.url);
      const { createdAt } = before.record;
      const blank = blankServer(said, id);
      const named = { ...blank, record: { ...blank.record, slug, createdAt, updatedAt } };
      const after = afterProbe(named, probe, 'at-once', updatedAt);
      const tools = { before: await this.#storage.loadTools(id), after: toolsOf(probe) };
      return (await this.#storage.tryUpdate(before, after, tools)) ? after.record : undefined;
    });
    this.#logger.info({ server: record.name, status: record.status, error: record.lastError }, 'server changed');
    this.#tellChange();
    return record;
  }

  /** Fault: `not-found`. */
  async remove(reference: string): Promise<void> {
    const { id, name } = (await this.#require(reference)).record;
    await retrySwap(async () => {
      const server = await this.#require(id);
      return (await this.#storage.tryDelete(server, await this.#storage.loadTools(id))) ? true : undefined;
    });
    this.#logger.info({ server: name }, 'server removed');
    this.#tellChange();
  }

  /** Probes now, and sets the status both ways. Faults: `not-found`, `refresh-running` (in this process). */
  async refresh(reference: string): Promise<RefreshReport> {
    const { record } = await this.#require(reference);
    if (this.#refreshing.has(record.id)) {
      throw new RegistryFault('refresh-running', `A refresh of ${record.name} is running`);
    }
    this.#refreshing.add(record.id);
    try {
      const startedAtMs = performance.now();
      const settlement = await this.#settle(record, await this.#prober.probe(record.url), 'at-once');
      return reportOf(record, settlement, performance.now() - startedAtMs);
    } finally {
      this.#refreshing.delete(record.id);
    }
  }

  /** Calls back after something changed that the aggregate or a composition may depend on, by this process. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Starts the health checks. */
  start(): void {
    this.#healthChecks.start();
  }

  /** Ends them, and whatever probe is under way. */
  async stop(): Promise<void> {
    this.#prober.close();
    await this.#healthChecks.stop();
  }

  async #require(reference: string): Promise<ServerSnapshot> {
    const server = await this.#storage.find(reference);
    if (server === undefined) throw notFound(reference);
    return server;
  }

  /** @param id of the server that may have it. */
  async #refuseTakenName(name: string, id?: string): Promise<void> {
    const owner = await this.#storage.ownerOfName(name);
    if (owner === undefined || owner === id) return;
    throw new RegistryFault('name-taken', `A server named ${name} is registered already`, 'name');
  }

  async #findFreeSlug(name: string): Promise<string> {
    const slugs = slugsFor(name);
    let slug = slugs.next().value;
    while (!(await this.#storage.isSlugFree(slug))) slug = slugs.next().value;
    return slug;
  }

  /** Those that were reached last come first, so that those that hang make no one else wait. */
  async #listForHealthCheck(): Promise<ServerRecord[]> {
    const records = (await this.#storage.list()).map(({ record }) => record);
    return records.sort((a, b) => Number(b.reachable) - Number(a.reachable));
  }

  async #checkHealth(record: ServerRecord): Promise<void> {
    // What the refresh finds out is newer.
    if (this.#refreshing.has(record.id)) return;
    await this.#settle(record, await this.#prober.probe(record.url), 'patient');
  }

  /** Writes down what a probe of the server found. */
  async #settle(probed: ServerRecord, probe: Probe, judgement: Judgement): Promise<Settlement> {
    return retrySwap(async () => {
      const before = await this.#storage.load(probed.id);
      // It was removed, or is another server by now: the probe says nothing of it.
      if (before?.record.url !== probed.url) return { kind: 'unsettled', record: before?.record };
      const after = afterProbe(before, probe, judgement, new Date().toISOString());
      if (probe.kind === 'failed') {
        if (!(await this.#storage.tryUpdate(before, after))) return undefined;
        this.#onSettled(before, after, NO_TOOL_CHANGES);
        return { kind: 'settled', record: after.record, toolChanges: NO_TOOL_CHANGES };
      }
      const toolsBefore = await this.#storage.loadTools(probed.id);
      const { tools } = probe.findings;
      if (!(await this.#storage.tryUpdate(before, after, { before: toolsBefore, after: tools }))) return undefined;
      const toolChanges = compareTools(toolsBefore.tools, tools);
      this.#onSettled(before, after, toolChanges);
      return { kind: 'settled', record: after.record, toolChanges };
    });
  }

  #onSettled(before: StoredServer, after: StoredServer, toolChanges: ToolChanges): void {
    const { name, status, lastError } = after.record;
    const isStatusChanged = status !== before.record.status;
    if (isStatusChanged) this.#logger.info({ server: name, status, error: lastError }, 'server status changed');
    const [added, updated, removed] = [toolChanges.added, toolChanges.updated, toolChanges.removed].map(
      ({ length }) => length,
    );
    const areToolsChanged = added !== 0 || updated !== 0 || removed !== 0;
    if (areToolsChanged) this.#logger.info({ server: name, added, updated, removed }, 'server tools changed');
    if (isStatusChanged || areToolsChanged) this.#tellChange();
  }

  #tellChange(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A server of which only is known what people say. */
function blankServer(checked: CheckedInput, id: string): StoredServer {
  const now = new Date().toISOString();
  const { name, url, description = '', tags = [], enabled = true } = checked;
  return {
    record: {
      id,
      name,
      slug: '',
      url,
      description,
      tags,
      transport: 'STREAMABLEHTTP',
      status: 'inactive',
      enabled,
      reachable: false,
      toolCount: 0,
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

function toolsOf(probe: Probe): readonly ServerTool[] {
  return probe.kind === 'reached' ? probe.findings.tools : [];
}

function reportOf(probed: ServerRecord, settlement: Settlement, durationMs: number): RefreshReport {
  if (settlement.record === undefined) throw notFound(probed.name);
  const isSettled = settlement.kind === 'settled';
  const { added, updated, removed } = isSettled ? settlement.toolChanges : NO_TOOL_CHANGES;
  const error = isSettled ? settlement.record.lastError : 'it was given another URL meanwhile: refresh it again';
  return {
    status: settlement.record.status,
    toolsAdded: added.length,
    toolsUpdated: updated.length,
    toolsRemoved: removed.length,
    durationMs: Math.round(durationMs),
    refreshedAt: new Date().toISOString(),
    ...(error === null ? {} : { error }),
  };
}

function notFound(reference: string): RegistryFault {
  return new RegistryFault('not-found', `Server not found: ${reference}`);
}
