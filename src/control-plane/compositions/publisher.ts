// Publishes compositions as virtual hosts in the user configs of their subjects, where the dataplane finds them on its
// next request (specification 3). What to publish follows from the store alone, so many publishers may run at once. A
// user config and its publication record change in one swap. Compositions and servers may be on other nodes of a Redis
// cluster, so they are read again after the swap: a publisher that finds a change starts over.
import { isDeepStrictEqual } from 'node:util';
import type { ComposerQuotas } from '../../config/index.js';
import { CoalescedRuns, TurnScheduler } from '../../fair/index.js';
import { limits, subjectHash, type Logger } from '../../shared/index.js';
import { type RecordStore, retrySwap } from '../../store/index.js';
import { CONFIG_INLINE_BYTES_MAX, mapsAsObjects, publicationKey, TaskThread } from '../../user-config/index.js';
import type { ChangeOutcome } from '../common/change.js';
import type { Directory } from '../registry/directory.js';
import { composeBackends, matchServers, type MatchedServer, type ToolNames } from './composed-backends.js';
import type { StoredComposition } from './composition.js';
import { hostsWithinQuotas } from './composition-quota.js';
import type { PublicationTask } from './publication-thread.js';
import {
  publicationChanges,
  jobChangeAfterRun,
  toBuffer,
  planPublication,
  userConfigKey,
  type PublicationJob,
  type PublicationPlan,
  type PublicationState,
} from './publication.js';

/** The most user configs that one change of a composition writes at once. */
const PUBLICATIONS_AT_ONCE_MAX = 8;

interface PublisherDependencies {
  readonly records: RecordStore;
  readonly directory: Directory;
  readonly toolNames: ToolNames;
  readonly logger: Logger;
  readonly quotas: Pick<ComposerQuotas, 'makerConfigBytesMax'>;
}

/** Time between two log lines about a long publication. */
const PROGRESS_LOG_MS = 5_000;

export class Publisher {
  readonly #dependencies: PublisherDependencies;
  /** Plans small publications on the event loop, for a millisecond in each turn of it. */
  readonly #scheduler = new TurnScheduler({ untimedMax: 1, turnMs: limits.turnMs, waiting: [Infinity, Infinity] });
  /** Plans large publications, whose decoding would block the event loop for up to a second. */
  readonly #thread = new TaskThread<PublicationTask, PublicationPlan>(
    new URL('./publication-thread.js', import.meta.url),
  );
  readonly #subjectRuns = new CoalescedRuns((subject) => this.#publish(subject));
  /** By subject, the last logged reason why not all of its compositions can be published. */
  readonly #obstacles = new Map<string, string>();
  /** Virtual hosts as JSON, with the server directory's version when they were made. */
  readonly #hostJson = new WeakMap<StoredComposition, { readonly version: number; readonly json: string }>();
  #isStopped = false;

  constructor(parts: PublisherDependencies) {
    this.#dependencies = parts;
  }

  /** Updates these subjects' user configs. @returns the subjects whose config cannot have all compositions; the log says why. */
  async publish(
    subjects: readonly string[],
    progress: Pick<ChangeOutcome, 'configsLeft'> = { configsLeft: undefined },
  ): Promise<string[]> {
    const { logger } = this.#dependencies;
    const waiting = [...subjects];
    let left = (progress.configsLeft = subjects.length);
    let loggedAtMs = performance.now();
    const work = async (): Promise<void> => {
      for (let subject = waiting.pop(); subject !== undefined && !this.#isStopped; subject = waiting.pop()) {
        await this.#subjectRuns.run(subject);
        progress.configsLeft = left -= 1;
        if (performance.now() - loggedAtMs < PROGRESS_LOG_MS) continue;
        loggedAtMs = performance.now();
        logger.info({ left, of: subjects.length }, 'compositions are being published');
      }
    };
    await Promise.all(Array.from({ length: PUBLICATIONS_AT_ONCE_MAX }, work));
    return subjects.filter((subject) => this.#obstacles.has(subject));
  }

  async runJob(job: PublicationJob, progress?: Pick<ChangeOutcome, 'configsLeft'>): Promise<void> {
    const { directory, records } = this.#dependencies;
    await directory.sync();
    const subjects = new Set(job.subjects);
    for (const server of job.servers ?? []) {
      for (const composition of directory.compositions.ofServer(server)) {
        for (const subject of composition.subjects) subjects.add(subject);
      }
    }
    const obstructed = await this.publish([...subjects], progress);
    // A stopped publisher leaves the job to the next process that finds it.
    if (this.#isStopped) return;
    // Subjects that have compositions are checked at intervals anyway. The others are known from this job alone.
    const left = obstructed.filter((subject) => directory.compositions.forSubject(subject).length === 0);
    // The swap fails if another process has finished the job.
    await records.swap([jobChangeAfterRun(job, left)]);
  }

  /** Updates those of the subjects' user configs that are outdated. Reads all of them first, because reads cost less than writes. */
  async publishOutdated(subjects: readonly string[]): Promise<void> {
    const stale: string[] = [];
    const states = await Promise.all(subjects.map((subject) => this.#readState(subject)));
    for (const state of states) {
      const { kind } = await this.#plan(state, await this.#virtualHostsOf(state.subject));
      if (kind !== 'current') stale.push(state.subject);
    }
    await this.publish(stale);
  }

  /** Why the composition, given with its virtual host as JSON, cannot be published to the subject; `undefined` if it can. */
  async findObstacle(subject: string, id: string, json: string): Promise<string | undefined> {
    const state = await this.#readState(subject);
    const wanted = await this.#virtualHostsOf(subject);
    wanted.set(id, json);
    const plan = await this.#plan(state, wanted, id);
    return plan.kind === 'obstructed' ? plan.reason : undefined;
  }

  /** Publishes to no further subject. Resolves when no publication is running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#subjectRuns.settled();
  }

  /** Ends the thread. Call this after `stop`. */
  async close(): Promise<void> {
    await this.#thread.close();
  }

  async #publish(subject: string): Promise<void> {
    const { records, directory, logger } = this.#dependencies;
    await retrySwap(async () => {
      // The published state is read before the wanted one: otherwise a virtual host that another process has just
      // published would look unwanted.
      const state = await this.#readState(subject);
      await directory.sync();
      const wanted = await this.#virtualHostsOf(subject);
      const plan = await this.#plan(state, wanted);
      const obstacle = plan.kind === 'obstructed' ? plan.reason : plan.obstacle;
      if (obstacle === undefined) this.#obstacles.delete(subject);
      else this.#logObstacle(subject, obstacle);
      if (plan.kind !== 'stale') return true;
      if (!(await records.swap(publicationChanges(state, plan)))) return undefined;
      logger.info({ subject: subjectHash(subject), virtualHosts: wanted.size }, 'compositions published');
      await directory.sync();
      return isDeepStrictEqual(await this.#virtualHostsOf(subject), wanted) || undefined;
    });
  }

  /**
   * Plans a publication. If a subject cannot have all virtual hosts, leaves out those that exceed their maker's quota, if that helps.
   * @param checkedId a composition that is not left out, because its quota was just checked.
   */
  async #plan(
    state: PublicationState,
    wanted: ReadonlyMap<string, string>,
    checkedId?: string,
  ): Promise<PublicationPlan & { readonly obstacle?: string }> {
    const plan = await this.#planFor(state, wanted);
    if (plan.kind !== 'obstructed') return plan;
    const { directory, quotas } = this.#dependencies;
    const fitting = hostsWithinQuotas(directory.compositions.forSubject(state.subject), wanted, quotas);
    const checkedJson = checkedId === undefined ? undefined : wanted.get(checkedId);
    if (checkedJson !== undefined) fitting.set(checkedId!, checkedJson);
    if (fitting.size === wanted.size) return plan;
    const less = await this.#planFor(state, fitting);
    if (less.kind === 'obstructed') return plan;
    const [first = '', ...others] = [...wanted.keys()].filter((id) => !fitting.has(id));
    const leftOut = others.length === 0 ? first : `${first} and ${others.length} more`;
    return { ...less, obstacle: `${plan.reason}; published without ${leftOut}, which exceeds the share of its maker` };
  }

  async #planFor(state: PublicationState, wanted: ReadonlyMap<string, string>): Promise<PublicationPlan> {
    let bytes = state.config?.length ?? 0;
    for (const json of wanted.values()) bytes += json.length;
    if (bytes <= CONFIG_INLINE_BYTES_MAX) {
      const plan = async (): Promise<PublicationPlan> => planPublication(state, wanted);
      return new Promise((resolve) => this.#scheduler.run(state.subject, () => resolve(plan())));
    }
    const plan = await this.#thread.run({ state, wanted });
    if (plan.kind !== 'stale') return plan;
    return { ...plan, record: toBuffer(plan.record), config: toBuffer(plan.config) };
  }

  async #readState(subject: string): Promise<PublicationState> {
    const { records } = this.#dependencies;
    const [record, config] = await Promise.all([
      records.read(publicationKey(subject)),
      records.read(userConfigKey(subject)),
    ]);
    return { subject, record, config };
  }

  /** The virtual hosts that the subject should have: JSON by id. */
  async #virtualHostsOf(subject: string): Promise<Map<string, string>> {
    const { compositions } = this.#dependencies.directory;
    const wanted = new Map<string, string>();
    for (const composition of compositions.forSubject(subject)) {
      wanted.set(composition.id, await this.#virtualHostJsonOf(composition));
    }
    return wanted;
  }

  /** The composition's virtual host as JSON, computed once for all its subjects. */
  async #virtualHostJsonOf(composition: StoredComposition): Promise<string> {
    const { servers } = this.#dependencies.directory;
    const { version } = servers;
    const known = this.#hostJson.get(composition);
    if (known?.version === version) return known.json;
    const matches = await this.#dependencies.toolNames.resolvePatterns(matchServers(composition, servers));
    const json = virtualHostJson(matches, composition);
    this.#hostJson.set(composition, { version, json });
    return json;
  }

  #logObstacle(subject: string, reason: string): void {
    if (this.#obstacles.get(subject) === reason) return;
    this.#obstacles.set(subject, reason);
    this.#dependencies.logger.error({ subject: subjectHash(subject), reason }, 'compositions cannot be published');
  }
}

export function virtualHostJson(
  matches: readonly MatchedServer[],
  { exposure }: Pick<StoredComposition, 'exposure'>,
): string {
  return JSON.stringify({ backends: Object.fromEntries(composeBackends(matches)), exposure }, mapsAsObjects);
}
