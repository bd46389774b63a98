// SIGINT, SIGTERM and perhaps SIGHUP as promises: the first asks for a drain, the second cuts it short. Handlers stay, so that a late
// signal does not change the exit status. Cold path.

/** Time in which a second signal is ignored: npm repeats a Ctrl-C that the process group already received. After that, it counts. */
export const STOP_SIGNAL_REPEAT_MS_MAX = 500;

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';
const STOP_SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export class StopSignals {
  readonly first: Promise<StopSignal>;
  readonly second: Promise<StopSignal>;
  #resolveFirst!: (signal: StopSignal) => void;
  #resolveSecond!: (signal: StopSignal) => void;
  #firstAtMs: number | undefined;

  /** @param onHangup called on SIGHUP, which then is no stop signal. */
  constructor(onHangup?: () => void) {
    this.first = new Promise((resolve) => (this.#resolveFirst = resolve));
    this.second = new Promise((resolve) => (this.#resolveSecond = resolve));
    for (const signal of STOP_SIGNALS) {
      process.on(signal, signal === 'SIGHUP' && onHangup !== undefined ? onHangup : this.#onSignal);
    }
  }

  readonly #onSignal = (signal: StopSignal): void => {
    const nowMs = performance.now();
    if (this.#firstAtMs === undefined) {
      this.#firstAtMs = nowMs;
      this.#resolveFirst(signal);
    } else if (nowMs - this.#firstAtMs > STOP_SIGNAL_REPEAT_MS_MAX) {
      this.#resolveSecond(signal);
    }
  };
}
