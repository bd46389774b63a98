// Compositions: virtual servers made of tools of registered servers (specification 3). They are kept in the record store,
// and published into user configs by `Publisher`.
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { limits, type Logger } from '../../shared/index.js';
import { RECORDS_AT_ONCE_MAX, type RecordStore, walkRecords } from '../../store/index.js';
import type { ComposerQuotas } from '../../config/index.js';
import { CoalescedRuns } from '../../fair/index.js';
import type { Exposure } from '../../user-config/index.js';
import { type Change, ChangeOutcome } from '../common/change.js';
import { ownershipAfter, ownershipOfNew, refuseForeignTeam } from '../common/principal.js';
import { parseCuration } from '../common/curation.js';
import { ControlPlaneFault, refuseMember } from '../common/control-plane-fault.js';
import { cursorAfter, type Page, type PageQuery } from '../mirror/named-mirror.js';
import { Collection } from '../registry/collection.js';
import type { Directory } from '../registry/directory.js';
import type { Registry } from '../registry/registry.js';
import {
  composeBackends,
  findClash,
  matchServers,
  isCallable,
  type MatchedServer,
  ToolNames,
} from './composed-backends.js';
import { checkCompositionInput } from './composition-input.js';
import { findQuotaObstacle, refuseAboveQuota } from './composition-quota.js';
import {
  type ComposedServer,
  type Composition,
  type CompositionInput,
  COMPOSITIONS_PREFIX,
  compositionTag,
  encodeComposition,
  type StoredComposedServer,
  type StoredComposition,
} from './composition.js';
import { createJob, PUBLICATION_JOBS_PREFIX, readJob, type PublicationJob } from './publication.js';
import { Publisher, virtualHostJson } from './publisher.js';
import { isPattern, matchesAny, includesAllTools } from './tool-patterns.js';

/** Whether a server has the tool. @param tool a name, or a pattern: `*` alone always exists, other patterns must match a tool. */
function toolExists(tool: string, names: ReadonlySet<string>): boolean {
  if (includesAllTools([tool])) return true;
  return isPattern(tool) ? matchesAny(tool, names) : names.has(tool);
}

function serverNameOf({ composed, server }: MatchedServer): string {
  return server?.name ?? composed.name;
}

/** Interval between checks that every composition is published. */
const PUBLISH_REPAIR_MS = 30_000;
/** How many user configs the check of all compositions reads at once. */
const PUBLICATION_CHECKS_AT_ONCE_MAX = 50;
/** Pause of that check after each `PUBLICATION_CHECKS_AT_ONCE_MAX` user configs, so that it takes little of the process's time. */
const PUBLICATION_CHECK_PAUSE_MS = 50;

interface CompositionsOptions {
  readonly records: RecordStore;
  readonly directory: Directory;
  readonly registry: Registry;
  readonly quotas: ComposerQuotas;
  readonly logger: Logger;
  /** Interval between repairs; `PUBLISH_REPAIR_MS` by default. */
  readonly repairIntervalMs?: number;
}

export class Compositions {
  readonly #options: CompositionsOptions;
  readonly #compositions: Collection<StoredComposition, StoredComposition>;
  readonly #toolNames: ToolNames;
  readonly #publisher: Publisher;
  readonly #repairs = new CoalescedRuns(() => this.#repair());
  /** Publication jobs that this process is running, by key. */
  readonly #runningJobs = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(options: CompositionsOptions) {
    const { records, registry } = options;
    this.#options = options;
    this.#compositions = new Collection<StoredComposition, StoredComposition>(records, {
      ...{ noun: 'composition', prefix: COMPOSITIONS_PREFIX, indices: ['composition-names/'] },
      entityOf: (composition) => composition,
      namesOf: ({ name }) => [name],
      tagOf: compositionTag,
      takenMessage: (name) => `A composition named ${name} already exists`,
    });
    this.#toolNames = new ToolNames(registry);
    this.#publisher = new Publisher({ ...options, toolNames: this.#toolNames });
    registry.addChangeListener(async (job, outcome) => {
      if (job !== undefined) await this.#runJob(job, outcome);
    });
  }

  /** A page of the compositions, sorted by name. It ends early when its records exceed `limits.listPageBytesMax`. */
  async list({ limit = limits.listPageMax, ...query }: PageQuery = {}): Promise<Page<Composition>> {
    await this.#options.directory.sync();
    const { compositions } = this.#options.directory;
    const page = compositions.page({ ...query, limit });
    let bytesLeft: number = limits.listPageBytesMax;
    const count = page.items.findIndex((each) => (bytesLeft -= compositions.storedBytesOf(each)) <= 0) + 1;
    const fitting = count === 0 ? page.items : page.items.slice(0, count);
    const isCut = fitting.length < page.items.length;
    const items = await Promise.all(fitting.map((each) => this.#describe(each)));
    return { items, cursor: isCut ? cursorAfter(fitting.at(-1)!) : page.cursor };
  }

  /** The composition as the API shows it. @param reference an id, or a name in any case. */
  async find(reference: string): Promise<Composition | undefined> {
    const found = await this.#compositions.find(reference);
    await this.#options.directory.sync();
    return found && this.#describe(found.row);
  }

  /** What the composition's own endpoint serves; `undefined` if there is no such composition, or it is not for the subject. */
  async findHost(reference: string, subject: string) {
    const composition = (await this.#compositions.find(reference))?.row;
    if (composition === undefined || !composition.subjects.includes(subject)) return undefined;
    await this.#options.directory.sync();
    const matches = await this.#toolNames.resolvePatterns(matchServers(composition, this.#options.directory.servers));
    const { id, exposure = 'all' } = composition;
    return { id, backends: composeBackends(matches), exposure };
  }

  /**
   * Resolves when all subjects have the composition, or when the request stops waiting for that.
   * Faults: `invalid`, `name-taken`, `compositions-full`, `not-owned` (the team is not one of the caller's).
   */
  async create(input: CompositionInput, maker: string, change: Change = {}): Promise<Composition> {
    const { exposure, subjects = [maker], description = '', team, ...checked } = checkCompositionInput(input);
    refuseForeignTeam(change.caller, team);
    await this.#options.directory.sync();
    const { compositionsMax } = this.#options.quotas;
    if (this.#options.directory.compositions.size >= compositionsMax) {
      throw new ControlPlaneFault('compositions-full', `There can be no more than ${compositionsMax} compositions`);
    }
    const id = randomBytes(16).toString('hex');
    const ownership = ownershipOfNew(change.caller, team);
    const draft = { id, ...checked, description, ...storedExposure(exposure), subjects, ...ownership, maker };
    const now = new Date().toISOString();
    const composition = await this.#checkedRecord({ ...draft, createdAt: now, updatedAt: now }, input.isForced);
    const job = createJob({ subjects });
    await this.#compositions.insert(checked.name, change, async () => ({ after: composition, job }));
    return this.#onChanged(composition, 'composition created', job, change);
  }

  /**
   * Resolves when all subjects have the change, or when the request stops waiting for that. Faults: `not-found`, `invalid`, `name-taken`,
   * `compositions-full`, `changed-meanwhile`, `not-owned`. Servers that the composition already has may have been removed since.
   */
  async replace(reference: string, input: CompositionInput, maker: string, change: Change = {}): Promise<Composition> {
    const { team, ...checked } = checkCompositionInput(input);
    const { after, job } = await this.#compositions.change(reference, change, team, async (before) => {
      const { owner: _owner, team: _team, ...known } = before.row;
      const { exposure = known.exposure, subjects = known.subjects, description = known.description } = checked;
      const ownership = ownershipAfter(before.row, team);
      const changed = { ...checked, description, ...storedExposure(exposure), subjects, ...ownership, maker };
      const next = { ...known, ...changed, updatedAt: new Date().toISOString() };
      const after = await this.#checkedRecord(next, input.isForced, before.row);
      await this.#compositions.refuseTakenName(checked.name, known.id);
      return { after, job: createJob({ subjects: [...new Set([...known.subjects, ...subjects])] }) };
    });
    return this.#onChanged(after, 'composition changed', job, change);
  }

  /** Resolves when no subject has it, or when the request stops waiting. Faults: `not-found`, `changed-meanwhile`, `not-owned`. */
  async remove(reference: string, change: Change = {}): Promise<void> {
    const { job, removed } = await this.#compositions.change(reference, change, undefined, async ({ row: removed }) => {
      return { after: undefined, job: createJob({ subjects: removed.subjects }), removed };
    });
    this.#options.logger.info({ composition: removed.id, name: removed.name }, 'composition removed');
    await this.#runJob(job, change.outcome);
  }

  /** Counts the changes of all control planes that are not in all user configs yet, up to `RECORDS_AT_ONCE_MAX`. */
  async countUnpublished(): Promise<number> {
    return (await this.#options.records.listKeys(PUBLICATION_JOBS_PREFIX, '', RECORDS_AT_ONCE_MAX)).length;
  }

  /** Publishes, now and at intervals, what other processes or failures have left unpublished. */
  start(): void {
    const { repairIntervalMs = PUBLISH_REPAIR_MS } = this.#options;
    this.#timer = setInterval(() => void this.#repairs.run(''), repairIntervalMs);
    void this.#repairs.run('');
  }

  /** Stops publishing. Resolves when no publication is running. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStopping = true;
    await this.#publisher.stop();
    await this.#repairs.settled();
    await Promise.allSettled(this.#runningJobs.values());
    await this.#publisher.close();
  }

  /** Resolves when the job is done, or when the request stops waiting for that. If the store fails, a later repair does the job. */
  async #runJob(job: PublicationJob, outcome = new ChangeOutcome()): Promise<void> {
    const done = this.#publisher.runJob(job, outcome).finally(() => this.#runningJobs.delete(job.key));
    this.#runningJobs.set(job.key, done);
    await outcome.waitFor(done);
    if (outcome.unpublished === 0) return;
    this.#options.logger.info(
      { left: outcome.unpublished },
      'a change was answered before it was published to everybody',
    );
    void done.catch((error: unknown) => {
      this.#options.logger.warn({ err: error }, 'a change could not be published to everybody; retrying');
    });
  }

  /** Does the jobs that other processes left undone, then checks all subjects of compositions in batches. */
  async #repair(): Promise<void> {
    try {
      for await (const records of walkRecords(this.#options.records, PUBLICATION_JOBS_PREFIX)) {
        for (const { key, value } of records) {
          if (this.#isStopping) return;
          // Another process may be running the job: running it twice is harmless.
          if (!this.#runningJobs.has(key)) await this.#runJob(readJob(key, value));
        }
      }
      await this.#options.directory.sync();
      const subjects = [...this.#options.directory.compositions.subjects];
      for (let start = 0; start < subjects.length; start += PUBLICATION_CHECKS_AT_ONCE_MAX) {
        if (this.#isStopping) return;
        await this.#publisher.publishOutdated(subjects.slice(start, start + PUBLICATION_CHECKS_AT_ONCE_MAX));
        await setTimeout(PUBLICATION_CHECK_PAUSE_MS);
      }
    } catch (error) {
      // Most likely the store has failed. The next repair, which is soon, tries again.
      this.#options.logger.warn({ err: error }, 'the check of all compositions failed');
    }
  }

  async #onChanged(
    composition: StoredComposition,
    words: string,
    job: PublicationJob,
    { outcome }: Change,
  ): Promise<Composition> {
    const { id, name } = composition;
    this.#options.logger.info({ composition: id, name }, words);
    await this.#runJob(job, outcome);
    await this.#options.directory.sync();
    return this.#describe(composition);
  }

  /** The record to store. Throws a `ControlPlaneFault` if it must be refused. @param known the record as stored now. */
  async #checkedRecord(
    draft: Omit<StoredComposition, 'servers'> & { readonly servers: readonly ComposedServer[] },
    isForced = false,
    known?: StoredComposition,
  ): Promise<StoredComposition> {
    const servers = await this.#resolveServers(draft.servers, known?.servers ?? []);
    await this.#options.directory.sync();
    if (!isForced) await this.#refuseUnknownTools(servers, known?.servers ?? []);
    const composition = { ...draft, servers };
    const matches = await this.#toolNames.resolvePatterns(matchServers(composition, this.#options.directory.servers));
    const json = virtualHostJson(matches, composition);
    const measured = { ...composition, hostBytes: Buffer.byteLength(json) };
    await this.#refuseUnpublishable(measured, matches, json, known?.subjects ?? []);
    return measured;
  }

  /** @param known the composition's stored servers, which may no longer be registered. */
  async #resolveServers(
    servers: readonly ComposedServer[],
    known: readonly StoredComposedServer[],
  ): Promise<StoredComposedServer[]> {
    const resolved: StoredComposedServer[] = [];
    for (const [index, { name, ...given }] of servers.entries()) {
      const member = `servers.${index}.name`;
      const isSameName = (server: StoredComposedServer): boolean => server.name.toLowerCase() === name.toLowerCase();
      const server = (await this.#options.registry.find(name)) ?? known.find(isSameName);
      if (server === undefined)
        refuseMember(member, `must be the name of a registered server, and ${quoted(name)} is none`);
      if (resolved.some(({ id }) => id === server.id)) refuseMember(member, 'must not name a server twice');
      resolved.push({ id: server.id, name: server.name, ...given });
    }
    return resolved;
  }

  /** @param known the composition's stored servers: tools that these already name are not refused. */
  async #refuseUnknownTools(
    servers: readonly StoredComposedServer[],
    known: readonly StoredComposedServer[],
  ): Promise<void> {
    for (const [index, { id, name, tools }] of servers.entries()) {
      const server = this.#options.directory.servers.byId(id);
      // The tools of a server that was never reached are unknown.
      if (server === undefined || server.lastSeen === null) continue;
      const names = await this.#toolNames.namesOf(server);
      const named = new Set(known.find((before) => before.id === id)?.tools);
      const missing = tools.findIndex((tool) => !named.has(tool) && !toolExists(tool, names));
      const tool = tools[missing];
      if (tool === undefined) continue;
      const advice = 'correct it, refresh the server, or use force=true (--force) to name it anyway';
      const what = isPattern(tool) ? `matches no tool of ${name}` : `is not a tool of ${name}`;
      refuseMember(`servers.${index}.tools.${missing}`, `${quoted(tool)} ${what}: ${advice}`);
    }
  }

  /** @param published subjects that have the composition already: an obstacle to publishing to these is not due to this change. */
  async #refuseUnpublishable(
    composition: StoredComposition,
    matches: readonly MatchedServer[],
    json: string,
    published: readonly string[],
  ): Promise<void> {
    const excessBytes = encodeComposition(composition).length - limits.compositionBytesMax;
    if (excessBytes > 0) refuseMember('servers', `and subjects must be shorter by ${excessBytes} bytes together`);
    const { compositions } = this.#options.directory;
    refuseAboveQuota(composition, compositions, this.#options.quotas);
    const clash = findClash(matches);
    if (clash !== '') refuseMember('servers', `have a conflict: ${clash}`);
    for (const [index, subject] of composition.subjects.entries()) {
      const obstacle =
        findQuotaObstacle(subject, composition, compositions, this.#options.quotas) ??
        (published.includes(subject) ? undefined : await this.#publisher.findObstacle(subject, composition.id, json));
      if (obstacle !== undefined) refuseMember(`subjects.${index}`, `cannot be published to: ${obstacle}`);
    }
  }

  /** The composition as the API shows it: with the servers' current names and the missing tools. */
  async #describe({ maker: _, hostBytes: _bytes, exposure, ...composition }: StoredComposition): Promise<Composition> {
    const matches = matchServers(composition, this.#options.directory.servers);
    const missing = await Promise.all(
      matches.map(async (match) => {
        const { server } = match;
        const names =
          isCallable(server) && server.lastSeen !== null ? await this.#toolNames.namesOf(server) : undefined;
        const { tools: chosen, curation } = match.composed;
        // A curated tool that the server is known not to have is a slip, too.
        const curated = (names && parseCuration(curation).tools?.keys()) ?? [];
        const named = [...new Set([...chosen, ...curated])];
        const tools = named.filter((tool) => names === undefined || !toolExists(tool, names));
        return tools.map((tool) => ({ server: serverNameOf(match), tool }));
      }),
    );
    const servers = matches.map((match) => {
      const { id: _, ...given } = match.composed;
      return { ...given, name: serverNameOf(match) };
    });
    return { ...composition, servers, ...(exposure && { exposure }), missingTools: missing.flat() };
  }
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, limits.toolPatternCharsMax));
}

/** The exposure as stored: the default, `all`, is stored as absent. */
function storedExposure(exposure: Exposure | undefined): { readonly exposure: Exposure | undefined } {
  return { exposure: exposure === 'all' ? undefined : exposure };
}
