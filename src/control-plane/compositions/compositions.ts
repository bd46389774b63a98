// Compositions: virtual servers that people put together from tools of registered servers (decisions 3). All state is in
// the record store. What they come to in user configs is the publisher's; this says when it is to look.
import { randomBytes } from 'node:crypto';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import type { RecordStore } from '../../store/record-store.js';
import { retrySwap } from '../../store/retry-swap.js';
import type { BackendConfig } from '../../store/user-config-schema.js';
import type { Registry } from '../registry/registry.js';
import { composeBackends, KnownServers, type Match } from './composed-backends.js';
import { CompositionFault } from './composition-fault.js';
import { checkCompositionInput, refuse } from './composition-input.js';
import {
  CompositionStorage,
  encodeComposition,
  type CompositionSnapshot,
  type StoredComposedServer,
  type StoredComposition,
} from './composition-storage.js';
import { describeCompositions } from './composition-view.js';
import type { ComposedServer, Composition, CompositionInput } from './composition.js';
import { FreshRuns } from './fresh-runs.js';
import { Publisher } from './publisher.js';

export interface CompositionsOptions {
  readonly records: RecordStore;
  readonly registry: Registry;
  readonly logger: Logger;
  /** Between two looks whether everything is published; `limits.publishRepairMs` unless given. */
  readonly repairIntervalMs?: number;
}

/** A composition's virtual host, as it is served right now. */
export interface ComposedHost {
  readonly id: string;
  readonly backends: ReadonlyMap<string, BackendConfig>;
}

export class Compositions {
  readonly #storage: CompositionStorage;
  readonly #registry: Registry;
  readonly #publisher: Publisher;
  readonly #logger: Logger;
  readonly #repairIntervalMs: number;
  readonly #repairs = new FreshRuns(() => this.#repair());
  #timer: NodeJS.Timeout | undefined;

  constructor({ records, registry, logger, repairIntervalMs = limits.publishRepairMs }: CompositionsOptions) {
    this.#storage = new CompositionStorage(records);
    this.#registry = registry;
    this.#publisher = new Publisher({ records, compositions: this.#storage, registry, logger });
    this.#logger = logger;
    this.#repairIntervalMs = repairIntervalMs;
    registry.onChange(() => this.#repairSoon());
  }

  /** Every composition, sorted by name. */
  async list(): Promise<Composition[]> {
    const compositions = (await this.#storage.list()).map(({ composition }) => composition);
    compositions.sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
    return describeCompositions(compositions, this.#registry);
  }

  /** By id, else by name in any case. */
  async find(reference: string): Promise<Composition | undefined> {
    const found = await this.#storage.find(reference);
    return found && this.#describe(found.composition);
  }

  /** What a subject gets at the composition's own endpoint; `undefined` when it is none of the composition's subjects. */
  async findHost(reference: string, subject: string): Promise<ComposedHost | undefined> {
    const composition = (await this.#storage.find(reference))?.composition;
    if (composition === undefined || !composition.subjects.includes(subject)) return undefined;
    return { id: composition.id, backends: composeBackends(await this.#match(composition)) };
  }

  /** Published to all of its subjects when this resolves. Faults: `invalid`, `name-taken`, `compositions-full`. */
  async create(input: CompositionInput, callerSubject: string): Promise<Composition> {
    const { subjects = [callerSubject], description = '', ...checked } = checkCompositionInput(input);
    if ((await this.#storage.list()).length >= limits.compositionsMax) {
      throw new CompositionFault(
        'compositions-full',
        `There can be no more than ${limits.compositionsMax} compositions`,
      );
    }
    const now = new Date().toISOString();
    const id = randomBytes(16).toString('hex');
    const servers = await this.#resolve(checked.servers, []);
    const composition: StoredComposition = {
      id,
      ...checked,
      description,
      servers,
      subjects,
      createdAt: now,
      updatedAt: now,
    };
    await this.#refuseUnpublishable(composition, []);
    if (!(await this.#storage.tryInsert(composition))) throw nameTaken(checked.name);
    this.#logger.info({ composition: id, name: checked.name }, 'composition created');
    await this.#publisher.publish(subjects);
    return this.#describe(composition);
  }

  /**
   * Published when this resolves. A description and subjects that are left out stay. Servers that the registry has no
   * more may stay. Faults: `not-found`, `invalid`, `name-taken`.
   */
  async replace(reference: string, input: CompositionInput): Promise<Composition> {
    const checked = checkCompositionInput(input);
    const { id } = (await this.#require(reference)).composition;
    const [before, after] = await retrySwap(async () => {
      const snapshot = await this.#require(id);
      const known = snapshot.composition;
      const servers = await this.#resolve(checked.servers, known.servers);
      const { subjects = known.subjects, description = known.description } = checked;
      const next = { ...known, ...checked, description, servers, subjects, updatedAt: new Date().toISOString() };
      await this.#refuseUnpublishable(next, known.subjects);
      if (await this.#storage.tryUpdate(snapshot, next)) return [known, next];
      const owner = await this.#storage.ownerOfName(checked.name);
      if (owner !== undefined && owner !== id) throw nameTaken(checked.name);
      return undefined;
    });
    this.#logger.info({ composition: id, name: after.name }, 'composition changed');
    await this.#publisher.publish([...new Set([...before.subjects, ...after.subjects])]);
    return this.#describe(after);
  }

  /** Gone from the user configs of all of its subjects when this resolves. Fault: `not-found`. */
  async remove(reference: string): Promise<void> {
    const { id } = (await this.#require(reference)).composition;
    const removed = await retrySwap(async () => {
      const snapshot = await this.#require(id);
      return (await this.#storage.tryDelete(snapshot)) ? snapshot.composition : undefined;
    });
    this.#logger.info({ composition: id, name: removed.name }, 'composition removed');
    await this.#publisher.publish(removed.subjects);
  }

  /** Publishes what is not published: now, after changes of the registry, and from time to time. */
  start(): void {
    this.#timer = setInterval(() => this.#repairSoon(), this.#repairIntervalMs);
    this.#repairSoon();
  }

  /** Ends that; resolved when nothing is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#repairs.settled();
    await this.#publisher.settled();
  }

  #repairSoon(): void {
    if (this.#timer !== undefined) void this.#repairs.run('');
  }

  async #repair(): Promise<void> {
    try {
      await this.#publisher.publishAll();
    } catch (error) {
      // The store, most likely: the next look is not far away.
      this.#logger.warn({ err: error }, 'compositions could not be looked through');
    }
  }

  async #require(reference: string): Promise<CompositionSnapshot> {
    const found = await this.#storage.find(reference);
    if (found === undefined) throw new CompositionFault('not-found', `Composition not found: ${reference}`);
    return found;
  }

  /** @param known the servers that the composition has already: they may be gone from the registry. */
  async #resolve(
    servers: readonly ComposedServer[],
    known: readonly StoredComposedServer[],
  ): Promise<StoredComposedServer[]> {
    const resolved: StoredComposedServer[] = [];
    for (const [index, { name, tools }] of servers.entries()) {
      const member = `servers.${index}.name`;
      const isSameName = (server: StoredComposedServer): boolean => server.name.toLowerCase() === name.toLowerCase();
      const server = (await this.#registry.find(name)) ?? known.find(isSameName);
      if (server === undefined) refuse(member, 'must be the name of a registered server');
      if (resolved.some(({ id }) => id === server.id)) refuse(member, 'must not name a server twice');
      resolved.push({ id: server.id, name: server.name, tools });
    }
    return resolved;
  }

  /** @param published subjects to whom it is published as it was: if that went wrong, this is not the place to say so. */
  async #refuseUnpublishable(composition: StoredComposition, published: readonly string[]): Promise<void> {
    const excessBytes = encodeComposition(composition).length - limits.compositionBytesMax;
    if (excessBytes > 0) refuse('servers', `and subjects must be shorter by ${excessBytes} bytes together`);
    const matches = await this.#match(composition);
    for (const [index, subject] of composition.subjects.entries()) {
      if (published.includes(subject)) continue;
      const obstacle = await this.#publisher.findObstacle(subject, composition.id, matches);
      if (obstacle !== undefined) refuse(`subjects.${index}`, `cannot be published to: ${obstacle}`);
    }
  }

  async #describe(composition: StoredComposition): Promise<Composition> {
    const [described] = await describeCompositions([composition], this.#registry);
    return described!;
  }

  async #match(composition: StoredComposition): Promise<Match[]> {
    return new KnownServers(await this.#registry.list()).match(composition);
  }
}

function nameTaken(name: string): CompositionFault {
  return new CompositionFault('name-taken', `A composition named ${name} is there already`);
}
