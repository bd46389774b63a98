// Finds workers that hang: processes whose event loop has not sent a heartbeat for too long, stopped or caught in a loop.
// Silence counts only for as long as the primary was awake to hear: a machine that was suspended, or too busy to run the
// primary, has kept its workers from speaking too. And no more are given up at once than could be started at once. Cold.
import { heartbeatPeriodMs } from '../ipc/heartbeat.js';

export interface HangWatchOptions<Worker> {
  /** Silence after which a worker hangs; 0 for never. */
  readonly hangTimeoutMs: number;
  /** Workers given up at one look. */
  readonly atOnceMax: number;
  /** Called once for each that hangs. */
  readonly onHung: (worker: Worker, silentMs: number) => void;
  /** In tests it is made up. */
  readonly nowMs?: () => number;
}

/** How much longer than its period a look may have taken to come, before the primary counts as having slept. */
const LATE_FACTOR = 1.5;

export class HangWatch<Worker> {
  readonly #options: HangWatchOptions<Worker>;
  readonly #nowMs: () => number;
  readonly #periodMs: number;
  /** What of its life the primary was awake. */
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

  /** For good. */
  stop(): void {
    clearInterval(this.#timer);
    this.#heardAtMs.clear();
  }

  /** From now on it has to be heard. */
  watch(worker: Worker): void {
    this.#heardAtMs.set(worker, this.#awakeMs);
  }

  heard(worker: Worker): void {
    if (this.#heardAtMs.has(worker)) this.#heardAtMs.set(worker, this.#awakeMs);
  }

  /** It has ended, or ends and is watched by whoever asked it to. */
  leave(worker: Worker): void {
    this.#heardAtMs.delete(worker);
  }

  /** The timer does this; public for tests. */
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
