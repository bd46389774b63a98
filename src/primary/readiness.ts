// Whether the gateway can serve, and if not, why: for `/ready`, the health check on the public address, systemd and the log. Cold path.
// An absent worker is an obstacle only while no worker listens, and at the start, until it has listened or its starts keep failing.
// A lost store is an obstacle only if no listening worker can still serve user configs, from the store or from its cache.
// Any other absent worker or problem with the store is reported as degraded.
import type { Logger } from '../shared/index.js';

type ObstacleCode = 'worker-absent' | 'store-unreachable' | 'keys-missing' | 'keys-unreachable' | 'draining';

interface Obstacle {
  readonly code: ObstacleCode;
  /** What is wrong, and what to do, for operators. */
  readonly message: string;
  /** The slots that have the obstacle; absent if it is the whole gateway's. */
  readonly slots?: readonly number[];
}

export interface SlotReadiness {
  readonly slot: number;
  readonly isListening: boolean;
  /** Whether so many starts have failed that readiness does not wait for the slot. */
  readonly isFailing: boolean;
  /** Why the slot's worker cannot read user configs; `''` when it can. */
  readonly storeObstacle: string;
  /** Why the worker's user configs may be out of date, and until when it uses them; `''` when they are up to date. */
  readonly storeStaleness: string;
  /** Why the worker cannot verify tokens of some issuer; `''` when it can. */
  readonly keysObstacle: string;
  /** Whether the worker can verify tokens of no issuer. */
  readonly isKeyless: boolean;
}

export interface ReadinessReport {
  readonly isReady: boolean;
  readonly obstacles: readonly Obstacle[];
  /** Problems in spite of which requests are served. */
  readonly degraded: readonly Obstacle[];
  readonly slotCount: number;
  readonly listeningCount: number;
}

interface ReadinessSources {
  readonly hasKeys: boolean;
  slots(): readonly SlotReadiness[];
}

export class Readiness {
  readonly #sources: ReadinessSources;
  readonly #logger: Logger;
  readonly #onReportChange: (report: ReadinessReport) => void;
  readonly #listenedSlots = new Set<number>();
  #isDraining = false;
  #lastReportJson = '';
  #loggedCodes: string;

  /** @param onChange called with the first report, and with each that differs from the one before. */
  constructor(sources: ReadinessSources, logger: Logger, onChange: (report: ReadinessReport) => void) {
    this.#sources = sources;
    this.#logger = logger;
    this.#onReportChange = onChange;
    // Missing keys count as logged: they are logged before anything is started.
    this.#loggedCodes = sources.hasKeys ? '' : 'keys-missing';
  }

  get report(): ReadinessReport {
    const slots = this.#sources.slots();
    const listening = slots.filter(({ isListening }) => isListening);
    const absent = slots.filter(({ isListening }) => !isListening);
    const preventsReadiness = ({ slot, isFailing }: SlotReadiness): boolean =>
      listening.length === 0 || (!isFailing && !this.#listenedSlots.has(slot));
    const isStoreInTheWay = listening.every(({ storeObstacle }) => storeObstacle !== '');
    const counts = { slotCount: slots.length, listeningCount: listening.length };
    // During a drain nothing else is reported, because the drain causes every other change.
    if (this.#isDraining) return { isReady: false, obstacles: [DRAINING], degraded: [], ...counts };
    const store = workerObstacles('store-unreachable', listening, ({ storeObstacle }) => storeObstacle);
    const obstacles = [...absenceObstacles(absent.filter(preventsReadiness), false), ...(isStoreInTheWay ? store : [])];
    if (!this.#sources.hasKeys) obstacles.push(KEYS_MISSING);
    const keys = workerObstacles('keys-unreachable', listening, ({ keysObstacle }) => keysObstacle);
    const areKeysInTheWay = listening.every(({ isKeyless }) => isKeyless);
    if (areKeysInTheWay) obstacles.push(...keys);
    const others = absent.filter((slot) => !preventsReadiness(slot));
    const [failing, late] = [others.filter(({ isFailing }) => isFailing), others.filter(({ isFailing }) => !isFailing)];
    const degraded = [
      ...absenceObstacles(failing, true),
      ...absenceObstacles(late, false),
      ...(isStoreInTheWay ? [] : store),
      ...workerObstacles('store-unreachable', listening, ({ storeStaleness }) => storeStaleness),
      ...(areKeysInTheWay ? [] : keys),
    ];
    return { isReady: obstacles.length === 0, obstacles, degraded, ...counts };
  }

  markDraining(): void {
    this.#isDraining = true;
    this.check();
  }

  /** Calls `onChange` if the report has changed. To be called after a slot, the store or the keys may have changed. */
  check(): void {
    for (const { slot, isListening } of this.#sources.slots()) if (isListening) this.#listenedSlots.add(slot);
    const { report } = this;
    const { isReady, obstacles, degraded } = report;
    const reported = JSON.stringify({ isReady, obstacles, degraded });
    if (reported === this.#lastReportJson) return;
    this.#lastReportJson = reported;
    this.#onReportChange(report);
  }

  /** Logs changes of the obstacles. Called only once the fleet is ready. */
  log({ isReady, obstacles }: ReadinessReport): void {
    const codes = obstacles.map(({ code }) => code).join();
    if (this.#isDraining || codes === this.#loggedCodes) return;
    this.#loggedCodes = codes;
    if (isReady) this.#logger.info('ready');
    else this.#logger.warn({ obstacles }, 'not ready');
  }
}

/** Whether load balancers should send requests here. Missing keys do not count, nor does a drain, which workers report themselves. */
export function isServing({ obstacles }: ReadinessReport): boolean {
  return obstacles.every(({ code }) => ['keys-missing', 'keys-unreachable', 'draining'].includes(code));
}

/** The report on one line, for systemd. */
export function readinessInWords({ obstacles, degraded, slotCount, listeningCount }: ReadinessReport): string {
  const words = [...obstacles, ...degraded].map(({ message }) => message.replaceAll('\n', ' '));
  if (obstacles.length > 0) return `not ready: ${words.join('; ')}`;
  return [`ready: ${listeningCount} of ${slotCount} workers are listening`, ...words].join('; ');
}

const DRAINING: Obstacle = { code: 'draining', message: 'the gateway is draining' };

const KEYS_MISSING: Obstacle = {
  code: 'keys-missing',
  message: 'no token verification key or secret is configured: every MCP request gets 401',
};

/** One obstacle for all slots without a listening worker; none if there are no such slots. */
function absenceObstacles(slots: readonly SlotReadiness[], areFailing: boolean): Obstacle[] {
  if (slots.length === 0) return [];
  const [workers, verb] = slots.length === 1 ? ['1 worker', 'is'] : [`${slots.length} workers`, 'are'];
  const message = `${workers} ${areFailing ? 'cannot start: the log says why' : `${verb} not listening (yet)`}`;
  return [{ code: 'worker-absent', message, slots: slots.map(({ slot }) => slot) }];
}

/** The obstacles of workers, one for each reason: usually all workers report the same reason. */
function workerObstacles(
  code: ObstacleCode,
  listening: readonly SlotReadiness[],
  obstacleOf: (slot: SlotReadiness) => string,
): Obstacle[] {
  const byReason = new Map<string, number[]>();
  for (const slot of listening) {
    const obstacle = obstacleOf(slot);
    if (obstacle !== '') byReason.set(obstacle, [...(byReason.get(obstacle) ?? []), slot.slot]);
  }
  return Array.from(byReason, ([message, slots]) => ({ code, message, slots }));
}
