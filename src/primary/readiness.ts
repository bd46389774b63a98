// Whether the gateway can serve, and if not, what is in the way: the one judgement behind `/ready`, the health check on
// the public address, systemd's READY= and STATUS=, and the log. Cold: looked at when something has changed.
//
// One slot does not keep the others from being ready: a worker that is absent is in the way while the gateway starts, until it
// has listened once or could not be started however often it was tried, and while no other listens; a store that one worker
// cannot read is not. Both are told as degraded.
import type { Logger } from '../shared/logger.js';

export type ObstacleCode = 'worker-absent' | 'store-unreachable' | 'keys-missing' | 'keys-unreachable' | 'draining';

export interface Obstacle {
  readonly code: ObstacleCode;
  /** For a person: what is wrong, and what to do unless it passes by itself. */
  readonly message: string;
  /** The slots that it concerns, when it does not concern all. */
  readonly slots?: readonly number[];
}

export interface SlotStanding {
  readonly slot: number;
  readonly isListening: boolean;
  /** So many of its starts have failed that nobody should wait for it. */
  readonly isFailing: boolean;
  /** Why its worker cannot read user configs; `''` when it can. */
  readonly storeObstacle: string;
  /** Why its worker cannot tell good tokens of some issuer from bad ones; `''` when it can. */
  readonly keysObstacle: string;
  /** It can tell no issuer's. */
  readonly isKeyless: boolean;
}

export interface ReadinessReport {
  readonly isReady: boolean;
  readonly obstacles: readonly Obstacle[];
  /** What is wrong and keeps nobody from being served. */
  readonly degraded: readonly Obstacle[];
  readonly slotCount: number;
  readonly listeningCount: number;
}

export interface ReadinessSources {
  readonly hasKeys: boolean;
  /** Of every slot. */
  slots(): readonly SlotStanding[];
}

export class Readiness {
  readonly #sources: ReadinessSources;
  readonly #logger: Logger;
  readonly #onChange: (report: ReadinessReport) => void;
  /** Slots that have listened. */
  readonly #settled = new Set<number>();
  #isDraining = false;
  #told = '';
  /** What was in the way when it was last logged. */
  #loggedCodes: string;

  /** @param onChange hears of the first report, and of each that differs from the one before. */
  constructor(sources: ReadinessSources, logger: Logger, onChange: (report: ReadinessReport) => void) {
    this.#sources = sources;
    this.#logger = logger;
    this.#onChange = onChange;
    // That has a line of its own, before anything is started.
    this.#loggedCodes = sources.hasKeys ? '' : 'keys-missing';
  }

  get report(): ReadinessReport {
    const slots = this.#sources.slots();
    const listening = slots.filter(({ isListening }) => isListening);
    const absent = slots.filter(({ isListening }) => !isListening);
    const isInTheWay = ({ slot, isFailing }: SlotStanding): boolean =>
      listening.length === 0 || (!isFailing && !this.#settled.has(slot));
    const isStoreInTheWay = listening.every(({ storeObstacle }) => storeObstacle !== '');
    const counts = { slotCount: slots.length, listeningCount: listening.length };
    // Whatever else changes from here on is the drain's doing.
    if (this.#isDraining) return { isReady: false, obstacles: [DRAINING], degraded: [], ...counts };
    const store = workerObstacles('store-unreachable', listening, ({ storeObstacle }) => storeObstacle);
    const obstacles = [...absences(absent.filter(isInTheWay), NOT_YET), ...(isStoreInTheWay ? store : [])];
    if (!this.#sources.hasKeys) obstacles.push(KEYS_MISSING);
    const keys = workerObstacles('keys-unreachable', listening, ({ keysObstacle }) => keysObstacle);
    const areKeysInTheWay = listening.every(({ isKeyless }) => isKeyless);
    if (areKeysInTheWay) obstacles.push(...keys);
    const others = absent.filter((slot) => !isInTheWay(slot));
    const degraded = [
      ...absences(
        others.filter(({ isFailing }) => isFailing),
        FAILING,
      ),
      ...absences(
        others.filter(({ isFailing }) => !isFailing),
        NOT_YET,
      ),
      ...(isStoreInTheWay ? [] : store),
      ...(areKeysInTheWay ? [] : keys),
    ];
    return { isReady: obstacles.length === 0, obstacles, degraded, ...counts };
  }

  drain(): void {
    this.#isDraining = true;
    this.check();
  }

  /** Something may have changed. */
  check(): void {
    for (const { slot, isListening } of this.#sources.slots()) if (isListening) this.#settled.add(slot);
    const { report } = this;
    const { isReady, obstacles, degraded } = report;
    const told = JSON.stringify({ isReady, obstacles, degraded });
    if (told === this.#told) return;
    this.#told = told;
    this.#onChange(report);
  }

  /** From the start of all workers on: what is in the way is logged, once, and that nothing is any more. */
  log({ isReady, obstacles }: ReadinessReport): void {
    const codes = obstacles.map(({ code }) => code).join();
    if (this.#isDraining || codes === this.#loggedCodes) return;
    this.#loggedCodes = codes;
    if (isReady) this.#logger.info('ready');
    else this.#logger.warn({ obstacles }, 'not ready');
  }
}

/** Of a report, whether requests with good tokens are served, as load balancers ask. That they drain the workers know. */
export function isServing({ obstacles }: ReadinessReport): boolean {
  return obstacles.every(({ code }) => ['keys-missing', 'keys-unreachable', 'draining'].includes(code));
}

/** One line of it, for systemd. */
export function readinessInWords({ obstacles, degraded, slotCount, listeningCount }: ReadinessReport): string {
  const words = [...obstacles, ...degraded].map(({ message }) => message.replaceAll('\n', ' '));
  const workers = `${listeningCount} of ${slotCount} workers are listening`;
  if (obstacles.length > 0) return `not ready: ${words.join('; ')}`;
  return words.length > 0 ? `ready, ${workers}: ${words.join('; ')}` : `ready: ${workers}`;
}

const DRAINING: Obstacle = { code: 'draining', message: 'the gateway is draining' };

const KEYS_MISSING: Obstacle = {
  code: 'keys-missing',
  message: 'no token verification key or secret is configured: every MCP request gets 401',
};

/** What is said of one worker, and of several. */
interface Absence {
  readonly one: string;
  readonly several: string;
}

const NOT_YET: Absence = { one: 'is not listening (yet)', several: 'are not listening (yet)' };
const FAILING: Absence = { one: 'cannot start: the log says why', several: 'cannot start: the log says why' };

/** None, or one of all of them. */
function absences(slots: readonly SlotStanding[], { one, several }: Absence): Obstacle[] {
  if (slots.length === 0) return [];
  const message = slots.length === 1 ? `1 worker ${one}` : `${slots.length} workers ${several}`;
  return [{ code: 'worker-absent', message, slots: slots.map(({ slot }) => slot) }];
}

/** By what the workers say: usually all of them the same. */
function workerObstacles(
  code: ObstacleCode,
  listening: readonly SlotStanding[],
  obstacleOf: (standing: SlotStanding) => string,
): Obstacle[] {
  const byReason = new Map<string, number[]>();
  for (const standing of listening) {
    const obstacle = obstacleOf(standing);
    if (obstacle !== '') byReason.set(obstacle, [...(byReason.get(obstacle) ?? []), standing.slot]);
  }
  return Array.from(byReason, ([message, slots]) => ({ code, message, slots }));
}
