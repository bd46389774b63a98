// The part of a load run that counts: between `open` and `close`, responses are counted and timed and the CPU time of the
// watched processes is taken. Everything before (connections, warm caches) and after is excluded. Hot path.
import { createHistogram } from 'node:perf_hooks';
import type { LoadPlan, Measurement } from './load-plan.js';
import { cpuUsOf, residentBytesOf } from './process-usage.js';

type WatchedProcesses = Pick<LoadPlan, 'targetPids' | 'backendPids'>;

interface Reading {
  readonly atMs: number;
  readonly targetCpuUs: number;
  readonly backendCpuUs: number;
  readonly loadCpuUs: number;
  readonly targetResidentBytes: number;
}

export class MeasuredWindow {
  readonly #watched: WatchedProcesses;
  readonly #latencyUs = createHistogram({ figures: 3 });
  #opened: Reading | undefined;
  #closed: Reading | undefined;
  #requests = 0;

  constructor(watched: WatchedProcesses) {
    this.#watched = watched;
  }

  open(): void {
    this.#opened = this.#read();
  }

  close(): void {
    this.#closed = this.#read();
  }

  /**
   * @param latencyMs of one whole response.
   * @param atMs when it came, or was due: a time outside the window does not count, even when it is recorded later.
   */
  record(latencyMs: number, atMs = performance.now()): void {
    if (this.#opened === undefined || atMs < this.#opened.atMs) return;
    if (this.#closed !== undefined && atMs > this.#closed.atMs) return;
    this.#requests += 1;
    this.#latencyUs.record(Math.max(1, Math.round(latencyMs * 1_000)));
  }

  /** To be called once the window is closed. */
  figures(): Omit<Measurement, 'faults'> {
    const [opened, closed] = [this.#opened, this.#closed];
    if (opened === undefined || closed === undefined) throw new Error('the window was not opened and closed');
    if (this.#requests === 0) throw new Error('no answer came in the measured window');
    return {
      requests: this.#requests,
      elapsedMs: closed.atMs - opened.atMs,
      latency: {
        p50Us: this.#latencyUs.percentile(50),
        p90Us: this.#latencyUs.percentile(90),
        p99Us: this.#latencyUs.percentile(99),
        p99_9Us: this.#latencyUs.percentile(99.9),
      },
      targetCpuUs: closed.targetCpuUs - opened.targetCpuUs,
      backendCpuUs: closed.backendCpuUs - opened.backendCpuUs,
      loadCpuUs: closed.loadCpuUs - opened.loadCpuUs,
      targetResidentBytes: closed.targetResidentBytes,
    };
  }

  #read(): Reading {
    return {
      atMs: performance.now(),
      targetCpuUs: cpuUsOf(this.#watched.targetPids),
      backendCpuUs: cpuUsOf(this.#watched.backendPids),
      loadCpuUs: cpuUsOf([process.pid]),
      targetResidentBytes: residentBytesOf(this.#watched.targetPids),
    };
  }
}
