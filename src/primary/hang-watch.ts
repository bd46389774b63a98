// Finds workers that hang: their event loop has sent no heartbeat for too long, because the process is stopped or caught in a loop.
// Only silence during which the primary was awake counts: a machine that was suspended, or too busy to run the primary, kept its
// workers silent too. And no more workers are given up at once than could be started at once. Cold path.
import { heartbeatPeriodMs } from '../ipc/heartbeat.js';

export interface HangWatchOptions<Worker> {
  /** Silence after which a worker is considered hung; 0 disables the watch. */
  readonly hangTimeoutMs: number;
  /** How many workers are given up per look, at most. */
  readonly atOnceMax: number;
  /** Called once per hung worker. */
  readonly onHung: (worker: Worker, silentMs: number) => void;
  /** Replaced in tests. */
  readonly nowMs?: () => number;
}

/** How many periods may pass between two looks before the primary counts as having slept. */
const LATE_FACTOR = 1.5;

export class HangWatch<Worker> {
  readonly #options: HangWatchOptions<Worker>;
  readonly #nowMs: () => number;
  readonly #periodMs: number;
  /** For how long the primary was awake so far. */
  #awakeMs = 0;
  #lookedAtMs: number;
  /** When each worker was last heard, in awake time. */
  readonly #heardAtMs = new Map<Worker, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HangWatchOptions<Worker>) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? ((): number => performance.now());
    this.#periodMs = heartbeatPeriodMs(options.hangTimeoutMs);
    this.#lookedAtMs = this.#nowMs();
  }

  start(): void {
    if (this.#options.hangTimeoutMs === 0) return;
    this.#lookedAtMs = this.#nowMs();
    this.#timer = setInterval(() => this.look(), this.#periodMs);
  }

  /** Stops the watch for good. */
  stop(): void {
    clearInterval(this.#timer);
    this.#heardAtMs.clear();
  }

  /** From now on the worker has to send heartbeats. */
  watch(worker: Worker): void {
    this.#heardAtMs.set(worker, this.#awakeMs);
  }

  heard(worker: Worker): void {
    if (this.#heardAtMs.has(worker)) this.#heardAtMs.set(worker, this.#awakeMs);
  }

  /** The worker has ended, or is being ended by code that watches it itself. */
  leave(worker: Worker): void {
    this.#heardAtMs.delete(worker);
  }

  /** Called by the timer; public for tests. */
  look(): void {
    const nowMs = this.#nowMs();
    this.#awakeMs += Math.min(nowMs - this.#lookedAtMs, this.#periodMs * LATE_FACTOR);
    this.#lookedAtMs = nowMs;
    let left = this.#options.atOnceMax;
    for (const [worker, heardAtMs] of this.#heardAtMs) {
      const silentMs = this.#awakeMs - heardAtMs;
      if (silentMs < this.#options.hangTimeoutMs) continue;
      if (left-- === 0) return;
      this.#heardAtMs.delete(worker);
      this.#options.onHung(worker, Math.round(silentMs));
    }
  }
}
