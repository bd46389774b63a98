// Compositions: virtual servers that people put together from tools of registered servers (decisions 3). All state is
// in the record store. The publisher writes them into user configs; this class tells it when to.
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { limits, type Logger } from '../../shared/index.js';
import type { ComposerShares } from '../../config/index.js';
import { type RecordStore, walkRecords, retrySwap } from '../../store/index.js';
import type { Exposure, BackendConfig } from '../../user-config/index.js';
import type { Registry } from '../registry/registry.js';
import { ChangeNote } from '../common/audit.js';
import { ownershipAfter, ownershipOfNew, refuseGivenAway, refuseUnowned } from '../common/principal.js';
import { ChangeCondition } from '../common/change-condition.js';
import {
  compositionTag,
  type ComposedServer,
  type Composition,
  type CompositionInput,
  type ComposedTool,
} from './composition.js';
import { ControlPlaneFault, notFound, refuseMember } from '../common/control-plane-fault.js';
import type { Directory } from '../registry/directory.js';
import { cursorAfter, pageOf, type Page, type PageQuery } from '../common/page.js';
import { composeBackends, findClash, matchServers, isServed, type Match } from './composed-backends.js';
import { checkCompositionInput } from './composition-input.js';
import {
  CompositionStorage,
  encodeComposition,
  type CompositionSnapshot,
  type StoredComposedServer,
  type StoredComposition,
} from './composition-storage.js';
import { findShareObstacle, refuseAboveQuota } from './composition-quota.js';
import { FreshRuns } from '../mirror/fresh-runs.js';
import { createJob, PUBLICATION_JOBS, readJob, type PublicationJob } from './publication-job.js';
import type { Change, PublicationProgress, PublicationWait } from './publication-wait.js';
import { Publisher, virtualHostJson } from './publisher.js';
import { ToolNames } from './tool-names.js';
import { isPattern, matchesAny, namesAll } from './tool-patterns.js';
import type { ServerDirectory } from '../registry/server-directory.js';

/** The position of an unknown tool in a composition. */
interface UnknownTool {
  readonly server: number;
  readonly place: number;
  readonly tool: string;
}

/** What people see of stored compositions: servers under their current names, and the tools that are missing by the registry. */
class CompositionView {
  readonly #servers: ServerDirectory;
  readonly #names: ToolNames;

  /** @param servers synced as recently as the answers require. */
  constructor(servers: ServerDirectory, names: ToolNames) {
    this.#servers = servers;
    this.#names = names;
  }

  async describe(compositions: readonly StoredComposition[]): Promise<Composition[]> {
    return Promise.all(compositions.map((composition) => this.#describe(composition)));
  }

  /** The first tool that its server, once reached, does not have. */
  async findUnknown(servers: readonly StoredComposedServer[]): Promise<UnknownTool | undefined> {
    for (const [index, { id, tools }] of servers.entries()) {
      const server = this.#servers.byId(id);
      // The tools of a server that was never reached are unknown.
      const names = server === undefined || server.lastSeen === null ? undefined : await this.#names.of(server);
      const place = names === undefined ? -1 : tools.findIndex((tool) => !isThere(tool, names));
      if (place !== -1) return { server: index, place, tool: tools[place]! };
    }
    return undefined;
  }

  async #describe(composition: StoredComposition): Promise<Composition> {
    const { id, name, description, exposure, subjects, owner, team, createdAt, updatedAt } = composition;
    const ownership = { ...(owner !== undefined && { owner }), ...(team !== undefined && { team }) };
    const matches = matchServers(composition, this.#servers);
    const missing = await Promise.all(matches.map((match) => this.#findMissing(match)));
    const servers = matches.map((match) => {
      const { id: _, ...given } = match.composed;
      return { ...given, name: nameOf(match) };
    });
    return {
      ...{ id, name, description, servers, ...(exposure && { exposure }), subjects, ...ownership },
      ...{ createdAt, updatedAt },
      missingTools: missing.flat(),
    };
  }

  async #findMissing(match: Match): Promise<ComposedTool[]> {
    const { composed, server } = match;
    const names = isServed(server) ? await this.#names.of(server) : undefined;
    const missing = composed.tools.filter((tool) => names === undefined || !isThere(tool, names));
    return missing.map((tool) => ({ server: nameOf(match), tool }));
  }
}

/** A pattern is present if it matches something, or is all. */
function isThere(tool: string, names: ReadonlySet<string>): boolean {
  if (namesAll([tool])) return true;
  return isPattern(tool) ? matchesAny(tool, names) : names.has(tool);
}

function nameOf({ composed, server }: Match): string {
  return server?.name ?? composed.name;
}

/** Interval between checks that every composition is published; each publishes what is missing. */
const PUBLISH_REPAIR_MS = 30_000;
/** User configs that such a check reads at once; the others follow. */
const PUBLICATION_CHECKS_AT_ONCE_MAX = 50;
/** Pause between the groups of user configs that such a check reads; it is in no hurry. */
const PUBLICATION_CHECK_PAUSE_MS = 50;

interface CompositionsOptions {
  readonly records: RecordStore;
  readonly directory: Directory;
  readonly registry: Registry;
  readonly shares: ComposerShares;
  readonly logger: Logger;
  /** Interval of the checks that everything is published; `limits.publishRepairMs` by default. */
  readonly repairIntervalMs?: number;
}

/** A composition's virtual host, as served right now. */
interface ComposedHost {
  readonly id: string;
  readonly backends: ReadonlyMap<string, BackendConfig>;
  readonly exposure: Exposure;
}

export class Compositions {
  readonly #records: RecordStore;
  readonly #storage: CompositionStorage;
  readonly #directory: Directory;
  readonly #names: ToolNames;
  readonly #view: CompositionView;
  readonly #registry: Registry;
  readonly #publisher: Publisher;
  readonly #shares: ComposerShares;
  readonly #logger: Logger;
  readonly #repairIntervalMs: number;
  readonly #repairs = new FreshRuns(() => this.#repair());
  /** Publication jobs of this process, by key. */
  readonly #underway = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(options: CompositionsOptions) {
    const { records, directory, registry, logger, repairIntervalMs = PUBLISH_REPAIR_MS } = options;
    this.#records = records;
    this.#storage = new CompositionStorage(records);
    this.#directory = directory;
    this.#names = new ToolNames(registry);
    this.#view = new CompositionView(directory.servers, this.#names);
    this.#registry = registry;
    this.#publisher = new Publisher({ records, directory, names: this.#names, logger, shares: options.shares });
    this.#shares = options.shares;
    this.#logger = logger;
    this.#repairIntervalMs = repairIntervalMs;
    registry.onChange(async (job, wait) => {
      if (job !== undefined) await this.#run(job, wait);
    });
  }

  /** Sorted by name. A page ends before its limit when its records exceed `limits.listPageBytesMax`. */
  async list({ limit = limits.listPageMax, ...query }: PageQuery = {}): Promise<Page<Composition>> {
    await this.#directory.sync();
    const { compositions } = this.#directory;
    const { items, cursor } = pageOf(compositions.sorted, { ...query, limit });
    let bytesLeft: number = limits.listPageBytesMax;
    const count = items.findIndex(({ id }) => (bytesLeft -= compositions.bytesOf(id)) <= 0) + 1;
    if (count === 0 || count === items.length) return { items: await this.#view.describe(items), cursor };
    const fitting = items.slice(0, count);
    return { items: await this.#view.describe(fitting), cursor: cursorAfter(fitting.at(-1)!) };
  }

  /** By id, else by name in any case. */
  async find(reference: string): Promise<Composition | undefined> {
    const found = await this.#storage.find(reference);
    return found && this.#describe(found.composition);
  }

  /** What a subject gets at the composition's own endpoint; `undefined` when it is not one of the composition's subjects. */
  async findHost(reference: string, subject: string): Promise<ComposedHost | undefined> {
    const composition = (await this.#storage.find(reference))?.composition;
    if (composition === undefined || !composition.subjects.includes(subject)) return undefined;
    await this.#directory.sync();
    const matches = await this.#names.resolved(matchServers(composition, this.#directory.servers));
    const { id, exposure = 'all' } = composition;
    return { id, backends: composeBackends(matches), exposure };
  }

  /**
   * Resolves when the composition is published to all of its subjects, or when the wait is over; publishing then continues.
   * Faults: `invalid`, `name-taken`, `compositions-full`, `not-owned` (the given team is not one of the caller's).
   */
  async create(
    input: CompositionInput,
    callerSubject: string,
    { wait, note = new ChangeNote(), caller }: Change = {},
  ): Promise<Composition> {
    const { exposure, subjects = [callerSubject], description = '', team, ...checked } = checkCompositionInput(input);
    refuseGivenAway(caller, team);
    await this.#directory.sync();
    const { compositionsMax } = this.#shares;
    if (this.#directory.compositions.size >= compositionsMax) {
      throw new ControlPlaneFault('compositions-full', `There can be no more than ${compositionsMax} compositions`);
    }
    const now = new Date().toISOString();
    const id = randomBytes(16).toString('hex');
    const servers = await this.#resolve(checked.servers, []);
    if (input.isForced !== true) await this.#refuseUnknownTools(servers, []);
    const ownership = ownershipOfNew(caller, team);
    const said = { ...checked, description, servers, ...shownAs(exposure), subjects, ...ownership };
    const composition = await this.#measured({ id, ...said, maker: callerSubject, createdAt: now, updatedAt: now });
    await this.#refuseUnpublishable(composition, []);
    const job = createJob({ subjects });
    const isDone = await note.making(undefined, composition, () => this.#storage.tryInsert(composition, job));
    if (!isDone) throw nameTaken(checked.name);
    this.#logger.info({ composition: id, name: checked.name }, 'composition created');
    await this.#run(job, wait);
    return this.#describe(composition);
  }

  /**
   * Resolves when the change is published, or the wait is over. An omitted description, exposure or list of subjects stays. Unregistered
   * servers may stay. Faults: `not-found`, `invalid`, `name-taken`, `compositions-full`, `changed-meanwhile`, `not-owned`.
   */
  async replace(
    reference: string,
    input: CompositionInput,
    callerSubject: string,
    { wait, note = new ChangeNote(), condition = ChangeCondition.none, caller }: Change = {},
  ): Promise<Composition> {
    const { team, ...checked } = checkCompositionInput(input);
    const { id } = (await this.#require(reference)).composition;
    const [after, job] = await retrySwap(async () => {
      const snapshot = await this.#require(id);
      const { owner: _owner, team: before, ...known } = snapshot.composition;
      refuseUnowned('composition', snapshot.composition, caller);
      refuseGivenAway(caller, team, before);
      refuseUnlessMet(condition, snapshot.composition);
      const servers = await this.#resolve(checked.servers, known.servers);
      if (input.isForced !== true) await this.#refuseUnknownTools(servers, known.servers);
      const { exposure = known.exposure, subjects = known.subjects, description = known.description } = checked;
      const ownership = ownershipAfter(snapshot.composition, team);
      const said = { ...checked, description, servers, ...shownAs(exposure), subjects, ...ownership };
      const updatedAt = new Date().toISOString();
      const next = await this.#measured({ ...known, ...said, maker: callerSubject, updatedAt });
      await this.#refuseUnpublishable(next, known.subjects);
      const publication = createJob({ subjects: [...new Set([...known.subjects, ...subjects])] });
      const swap = (): Promise<boolean> => this.#storage.tryUpdate(snapshot, next, publication);
      if (await note.making(snapshot.composition, next, swap)) return [next, publication];
      const owner = await this.#storage.ownerOfName(checked.name);
      if (owner !== undefined && owner !== id) throw nameTaken(checked.name);
      return undefined;
    });
    this.#logger.info({ composition: id, name: after.name }, 'composition changed');
    await this.#run(job, wait);
    return this.#describe(after);
  }

  /** Resolves when it is gone from all user configs, or the wait is over. Faults: `not-found`, `changed-meanwhile`, `not-owned`. */
  async remove(
    reference: string,
    { wait, note = new ChangeNote(), condition = ChangeCondition.none, caller }: Change = {},
  ): Promise<void> {
    const { id } = (await this.#require(reference)).composition;
    const [removed, job] = await retrySwap(async () => {
      const snapshot = await this.#require(id);
      const { composition } = snapshot;
      refuseUnowned('composition', composition, caller);
      refuseUnlessMet(condition, composition);
      const publication = createJob({ subjects: composition.subjects });
      const swap = (): Promise<boolean> => this.#storage.tryDelete(snapshot, publication);
      return (await note.making(composition, undefined, swap)) ? [composition, publication] : undefined;
    });
    this.#logger.info({ composition: id, name: removed.name }, 'composition removed');
    await this.#run(job, wait);
  }

  /** Counts the changes, of all control planes, that are not in all user configs yet; at most `limits.recordsAtOnceMax` are counted. */
  async countUnpublished(): Promise<number> {
    return (await this.#records.listKeys(PUBLICATION_JOBS, '', limits.recordsAtOnceMax)).length;
  }

  /** Publishes what is not published, now and at intervals. */
  start(): void {
    this.#timer = setInterval(() => void this.#repairs.run(''), this.#repairIntervalMs);
    void this.#repairs.run('');
  }

  /** Stops that; resolves when nothing is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStopping = true;
    await this.#publisher.stop();
    await this.#repairs.settled();
    await Promise.allSettled(this.#underway.values());
    await this.#publisher.close();
  }

  /** Resolves when the job is done, or the wait is over. If the store fails now, a later repair does the job. */
  async #run(job: PublicationJob, wait?: PublicationWait): Promise<void> {
    const progress: PublicationProgress = { left: undefined };
    const done = this.#publisher.run(job, progress).finally(() => this.#underway.delete(job.key));
    this.#underway.set(job.key, done);
    if (wait === undefined) return done;
    await wait.for(done, progress);
    if (wait.left === 0) return;
    this.#logger.info({ left: wait.left }, 'a change was answered before it was published to everybody');
    void done.catch((error: unknown) => {
      this.#logger.warn({ err: error }, 'a change could not be published to everybody; retrying');
    });
  }

  /**
   * First does the jobs that other processes left undone, then checks all subjects of compositions, a batch at a time.
   * A repair that takes longer than the interval is followed by the next one at once.
   */
  async #repair(): Promise<void> {
    try {
      for await (const records of walkRecords(this.#records, PUBLICATION_JOBS)) {
        for (const { key, value } of records) {
          if (this.#isStopping) return;
          // Another process may be doing the job right now: doing it twice is harmless.
          if (!this.#underway.has(key)) await this.#run(readJob(key, value));
        }
      }
      await this.#directory.sync();
      const subjects = [...this.#directory.compositions.subjects];
      for (let start = 0; start < subjects.length; start += PUBLICATION_CHECKS_AT_ONCE_MAX) {
        if (this.#isStopping) return;
        await this.#publisher.check(subjects.slice(start, start + PUBLICATION_CHECKS_AT_ONCE_MAX));
        await setTimeout(PUBLICATION_CHECK_PAUSE_MS);
      }
    } catch (error) {
      // Most likely a store failure: the next repair is soon.
      this.#logger.warn({ err: error }, 'the check of all compositions failed');
    }
  }

  async #require(reference: string): Promise<CompositionSnapshot> {
    const found = await this.#storage.find(reference);
    if (found === undefined) throw notFound('composition', reference);
    return found;
  }

  /** @param known the servers that the composition already has: they may no longer be registered. */
  async #resolve(
    servers: readonly ComposedServer[],
    known: readonly StoredComposedServer[],
  ): Promise<StoredComposedServer[]> {
    const resolved: StoredComposedServer[] = [];
    for (const [index, { name, ...given }] of servers.entries()) {
      const member = `servers.${index}.name`;
      const isSameName = (server: StoredComposedServer): boolean => server.name.toLowerCase() === name.toLowerCase();
      const server = (await this.#registry.find(name)) ?? known.find(isSameName);
      if (server === undefined) refuseMember(member, 'must be the name of a registered server');
      if (resolved.some(({ id }) => id === server.id)) refuseMember(member, 'must not name a server twice');
      resolved.push({ id: server.id, name: server.name, ...given });
    }
    return resolved;
  }

  /** @param known tools that the composition already names are not checked: they may have been removed meanwhile. */
  async #refuseUnknownTools(
    servers: readonly StoredComposedServer[],
    known: readonly StoredComposedServer[],
  ): Promise<void> {
    await this.#directory.sync();
    const named = new Map(known.map(({ id, tools }) => [id, new Set(tools)]));
    const added = servers.map((server) => {
      const before = named.get(server.id);
      return before === undefined ? server : { ...server, tools: server.tools.filter((tool) => !before.has(tool)) };
    });
    const unknown = await this.#view.findUnknown(added);
    if (unknown === undefined) return;
    const { name, tools } = servers[unknown.server]!;
    const place = tools.indexOf(unknown.tool);
    const advice = 'correct it, refresh the server, or use force=true (--force) to name it anyway';
    const what = isPattern(unknown.tool) ? `matches no tool of ${name}` : `is not a tool of ${name}`;
    const said = JSON.stringify(unknown.tool.slice(0, limits.toolPatternCharsMax));
    refuseMember(`servers.${unknown.server}.tools.${place}`, `${said} ${what}: ${advice}`);
  }

  /** @param published subjects that already have the composition: an obstacle to publishing to them is not this change's fault. */
  async #refuseUnpublishable(composition: StoredComposition, published: readonly string[]): Promise<void> {
    const excessBytes = encodeComposition(composition).length - limits.compositionBytesMax;
    if (excessBytes > 0) refuseMember('servers', `and subjects must be shorter by ${excessBytes} bytes together`);
    const { servers, compositions } = this.#directory;
    refuseAboveQuota(composition, compositions, this.#shares);
    const matches = await this.#names.resolved(matchServers(composition, servers));
    const clash = findClash(matches);
    if (clash !== '') refuseMember('servers', `have a conflict: ${clash}`);
    const json = virtualHostJson(matches, composition);
    for (const [index, subject] of composition.subjects.entries()) {
      const obstacle =
        findShareObstacle(subject, composition, compositions, this.#shares) ??
        (published.includes(subject) ? undefined : await this.#publisher.findObstacle(subject, composition.id, json));
      if (obstacle !== undefined) refuseMember(`subjects.${index}`, `cannot be published to: ${obstacle}`);
    }
  }

  /** Syncs the directory first, so that it is as recent as the composition. */
  async #measured(composition: StoredComposition): Promise<StoredComposition> {
    await this.#directory.sync();
    const matches = matchServers(composition, this.#directory.servers);
    const json = virtualHostJson(await this.#names.resolved(matches), composition);
    return { ...composition, hostBytes: Buffer.byteLength(json) };
  }

  async #describe(composition: StoredComposition): Promise<Composition> {
    await this.#directory.sync();
    const [described] = await this.#view.describe([composition]);
    return described!;
  }
}

/** The default, `all`, is stored as absent. */
function shownAs(exposure: Exposure | undefined): { readonly exposure: Exposure | undefined } {
  return { exposure: exposure === 'all' ? undefined : exposure };
}

function nameTaken(name: string): ControlPlaneFault {
  return new ControlPlaneFault('name-taken', `A composition named ${name} already exists`);
}

function refuseUnlessMet(condition: ChangeCondition, composition: StoredComposition): void {
  condition.refuseUnlessMet('composition', composition.name, compositionTag(composition));
}
