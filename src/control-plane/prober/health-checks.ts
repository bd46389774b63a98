// Checks the health of all targets at intervals, several targets at once. The interval varies a little, so that several
// control planes do not fall into step. After a round that takes longer than the interval, the next begins at once.
import type { Logger } from '../../shared/index.js';

/** The most health checks that one control plane runs at once. */
export const PROBES_AT_ONCE_MAX = 16;

interface HealthCheckOptions<Target> {
  readonly intervalMs: number;
  readonly logger: Logger;
  /** Called at the beginning of each round. */
  listTargets(): Promise<readonly Target[]>;
  check(target: Target): Promise<void>;
}

/** The largest fraction of the interval by which the interval varies. */
const JITTER_FRACTION_MAX = 0.1;

export class HealthChecks<Target> {
  readonly #options: HealthCheckOptions<Target>;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: HealthCheckOptions<Target>) {
    this.#options = options;
  }

  /** The first round begins soon: servers may have changed since another process checked them. */
  start(): void {
    this.#schedule(Math.random() * JITTER_FRACTION_MAX * this.#options.intervalMs);
  }

  /** Starts no further checks. Resolves when those in progress are over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#round = this.#runRound();
    }, delayMs).unref();
  }

  async #runRound(): Promise<void> {
    const startedAtMs = performance.now();
    const faults: unknown[] = [];
    try {
      const targets = (await this.#options.listTargets()).values();
      // The concurrent checks take their targets from one iterator.
      const checkNext = async (): Promise<void> => {
        for (const target of targets) {
          if (this.#isStopped) return;
          await this.#options.check(target).catch((error: unknown) => faults.push(error));
        }
      };
      await Promise.all(Array.from({ length: PROBES_AT_ONCE_MAX }, checkNext));
    } catch (error) {
      faults.push(error);
    }
    if (faults.length > 0 && !this.#isStopped) {
      // Usually the store has failed. The next round tries again.
      const error = faults[0] instanceof Error ? faults[0].message : String(faults[0]);
      this.#options.logger.warn({ error, faults: faults.length }, 'health checks failed');
    }
    const intervalMs = this.#options.intervalMs * (1 + JITTER_FRACTION_MAX * (2 * Math.random() - 1));
    this.#schedule(Math.max(0, intervalMs - (performance.now() - startedAtMs)));
  }
}
