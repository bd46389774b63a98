// Publishes compositions as virtual hosts in the user configs of their subjects, where the dataplane finds them on its
// next request (decisions 3). What is published follows from the store alone, so any number of publishers may be at it:
// each change is a swap that fails when the user config, what we own of it or a composition is not as it was read.
import { limits } from '../../shared/limits.js';
import { subjectHash, type Logger } from '../../shared/logger.js';
import type { RecordStore } from '../../store/record-store.js';
import { retrySwap } from '../../store/retry-swap.js';
import type { Registry } from '../registry/registry.js';
import { composeBackends, KnownServers, type Match } from './composed-backends.js';
import { guardComposition, type CompositionSnapshot, type CompositionStorage } from './composition-storage.js';
import { FreshRuns } from './fresh-runs.js';
import {
  planPublication,
  PUBLICATIONS,
  publicationKey,
  subjectOfPublication,
  userConfigKey,
  type PublicationState,
} from './publication.js';

export interface PublisherParts {
  readonly records: RecordStore;
  readonly compositions: CompositionStorage;
  readonly registry: Registry;
  readonly logger: Logger;
}

/** Compositions and servers as they were read. */
interface Wishes {
  readonly compositions: readonly CompositionSnapshot[];
  readonly servers: KnownServers;
}

export class Publisher {
  readonly #parts: PublisherParts;
  readonly #runs = new FreshRuns((subject) => this.#publish(subject));
  /** Why nothing can be published to a subject, as last logged. */
  readonly #obstacles = new Map<string, string>();

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Brings the user configs up to date with what is in the store now. Those that cannot be are told in the log. */
  async publish(subjects: readonly string[]): Promise<void> {
    const waiting = [...subjects];
    const work = async (): Promise<void> => {
      for (let subject = waiting.pop(); subject !== undefined; subject = waiting.pop()) await this.#runs.run(subject);
    };
    await Promise.all(Array.from({ length: limits.publicationsAtOnceMax }, work));
  }

  /** The same for everybody who has, or should have, something of ours. */
  async publishAll(): Promise<void> {
    const published = await this.#parts.records.list(PUBLICATIONS);
    const wishes = await this.#readWishes();
    const subjects = new Set(published.map(({ value }) => subjectOfPublication(value)));
    for (const { composition } of wishes.compositions)
      for (const subject of composition.subjects) subjects.add(subject);
    for (const subject of subjects) {
      const plan = planPublication(await this.#readState(subject), wantedBy(subject, wishes));
      // What was read together may be stale by now: `publish` reads in an order that makes sure.
      if (plan.kind !== 'current') await this.publish([subject]);
    }
  }

  /** Why the composition could not be published to the subject, as things are. */
  async findObstacle(subject: string, id: string, matches: readonly Match[]): Promise<string | undefined> {
    const state = await this.#readState(subject);
    const wanted = wantedBy(subject, await this.#readWishes());
    wanted.set(id, virtualHostJson(matches));
    const plan = planPublication(state, wanted);
    return plan.kind === 'obstructed' ? plan.reason : undefined;
  }

  /** Resolved when nothing is under way. */
  async settled(): Promise<void> {
    await this.#runs.settled();
  }

  async #publish(subject: string): Promise<void> {
    const { records, logger } = this.#parts;
    await retrySwap(async () => {
      // First what is published, then what should be: a virtual host that another publisher has put there meanwhile
      // would look like one that nobody wants.
      const state = await this.#readState(subject);
      const wishes = await this.#readWishes();
      const plan = planPublication(state, wantedBy(subject, wishes));
      if (plan.kind === 'obstructed') this.#tellObstacle(subject, plan.reason);
      else this.#obstacles.delete(subject);
      if (plan.kind !== 'stale') return true;
      const guards = wishes.compositions.filter((snapshot) => isFor(subject, snapshot)).map(guardComposition);
      if (!(await records.swap([...plan.changes, ...guards]))) return undefined;
      logger.info({ subject: subjectHash(subject), virtualHosts: guards.length }, 'compositions published');
      return true;
    });
  }

  async #readState(subject: string): Promise<PublicationState> {
    const { records } = this.#parts;
    const [record, config] = await Promise.all([
      records.read(publicationKey(subject)),
      records.read(userConfigKey(subject)),
    ]);
    return { subject, record, config };
  }

  async #readWishes(): Promise<Wishes> {
    const { compositions, registry } = this.#parts;
    const servers = new KnownServers(await registry.list());
    return { compositions: await compositions.list(), servers };
  }

  #tellObstacle(subject: string, reason: string): void {
    if (this.#obstacles.get(subject) === reason) return;
    this.#obstacles.set(subject, reason);
    this.#parts.logger.error({ subject: subjectHash(subject), reason }, 'compositions cannot be published');
  }
}

function isFor(subject: string, { composition }: CompositionSnapshot): boolean {
  return composition.subjects.includes(subject);
}

/** JSON of the virtual hosts by id. */
function wantedBy(subject: string, { compositions, servers }: Wishes): Map<string, string> {
  const wanted = new Map<string, string>();
  for (const snapshot of compositions) {
    if (isFor(subject, snapshot))
      wanted.set(snapshot.composition.id, virtualHostJson(servers.match(snapshot.composition)));
  }
  return wanted;
}

function virtualHostJson(matches: readonly Match[]): string {
  return JSON.stringify({ backends: Object.fromEntries(composeBackends(matches)) });
}
