// Whether the gateway can serve, and if not, what is in the way: the one judgement behind `/ready`, the health check on
// the public address, systemd's READY= and STATUS=, and the log. Cold: looked at when something has changed.
//
// A slot whose worker cannot be started, however often it was tried, does not keep the others from being ready: it is told
// as degraded. One that has died is in the way until it is replaced, which takes a second.
import type { Logger } from '../shared/logger.js';

export type ObstacleCode = 'worker-absent' | 'store-unreachable' | 'keys-missing' | 'draining';

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
    const absent = slots.filter((slot) => !slot.isListening && (listening.length === 0 || !slot.isFailing));
    const failing = slots.filter((slot) => !slot.isListening && !absent.includes(slot));
    const counts = { slotCount: slots.length, listeningCount: listening.length };
    // Whatever else changes from here on is the drain's doing.
    if (this.#isDraining) return { isReady: false, obstacles: [DRAINING], degraded: [], ...counts };
    const obstacles: Obstacle[] = [];
    if (absent.length > 0) obstacles.push(absence(absent));
    obstacles.push(...storeObstacles(listening));
    if (!this.#sources.hasKeys) obstacles.push(KEYS_MISSING);
    const degraded = failing.length > 0 ? [absence(failing, 'cannot start: the log says why')] : [];
    return { isReady: obstacles.length === 0, obstacles, degraded, ...counts };
  }

  drain(): void {
    this.#isDraining = true;
    this.check();
  }

  /** Something may have changed. */
  check(): void {
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
  return obstacles.every(({ code }) => code === 'keys-missing' || code === 'draining');
}

/** One line of it, for systemd. */
export function readinessInWords({ obstacles, degraded, slotCount, listeningCount }: ReadinessReport): string {
  const words = [...obstacles, ...degraded].map(({ message }) => message.replaceAll('\n', ' '));
  const workers = `${listeningCount} of ${slotCount} workers listen`;
  if (obstacles.length > 0) return `not ready: ${words.join('; ')}`;
  return words.length > 0 ? `ready, ${workers}: ${words.join('; ')}` : `ready: ${workers}`;
}

const DRAINING: Obstacle = { code: 'draining', message: 'the gateway drains, and ends after that' };

const KEYS_MISSING: Obstacle = {
  code: 'keys-missing',
  message: 'no token verification key or secret is configured: every MCP request is answered 401',
};

function absence(slots: readonly SlotStanding[], what = 'does not listen (yet)'): Obstacle {
  const subject = slots.length === 1 ? '1 worker' : `${slots.length} workers`;
  const words = slots.length === 1 ? what : what.replace('does not', 'do not');
  return { code: 'worker-absent', message: `${subject} ${words}`, slots: slots.map(({ slot }) => slot) };
}

/** By what the workers say: usually all of them the same. */
function storeObstacles(listening: readonly SlotStanding[]): Obstacle[] {
  const byReason = new Map<string, number[]>();
  for (const { slot, storeObstacle } of listening) {
    if (storeObstacle !== '') byReason.set(storeObstacle, [...(byReason.get(storeObstacle) ?? []), slot]);
  }
  return Array.from(byReason, ([message, slots]) => ({ code: 'store-unreachable', message, slots }));
}
