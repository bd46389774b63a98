// SIGINT, SIGTERM and SIGHUP (a terminal that is closed) as two promises: the first asks for a drain, the second no longer wants to wait for it. They keep
// their effect until the process ends, so that one that comes late does not change its exit status. Cold.
import { limits } from '../shared/limits.js';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';
const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export class StopSignals {
  readonly first: Promise<StopSignal>;
  readonly second: Promise<StopSignal>;
  #resolveFirst!: (signal: StopSignal) => void;
  #resolveSecond!: (signal: StopSignal) => void;
  #firstAtMs: number | undefined;

  constructor() {
    this.first = new Promise((resolve) => (this.#resolveFirst = resolve));
    this.second = new Promise((resolve) => (this.#resolveSecond = resolve));
    for (const signal of stopSignals) process.on(signal, this.#onSignal);
  }

  readonly #onSignal = (signal: StopSignal): void => {
    const nowMs = performance.now();
    if (this.#firstAtMs === undefined) {
      this.#firstAtMs = nowMs;
      this.#resolveFirst(signal);
    } else if (nowMs - this.#firstAtMs > limits.stopSignalRepeatMsMax) {
      this.#resolveSecond(signal);
    }
  };
}
