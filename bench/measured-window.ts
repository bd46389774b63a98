// The part of a load run that counts: between `open` and `close`, answers are counted and timed and the CPU time of the
// watched processes is taken. Everything before (connections, warm caches) and after stays out. Hot.
import { createHistogram } from 'node:perf_hooks';
import type { LoadPlan, Measurement } from './load-plan.js';
import { cpuUsOf, residentBytesOf } from './process-usage.js';

interface Reading {
  readonly atMs: number;
  readonly targetCpuUs: number;
  readonly backendCpuUs: number;
  readonly loadCpuUs: number;
}

export class MeasuredWindow {
  readonly #plan: LoadPlan;
  readonly #latencyUs = createHistogram({ figures: 3 });
  #opened: Reading | undefined;
  #isOpen = false;
  #requests = 0;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
  }

  open(): void {
    this.#opened = this.#read();
    this.#isOpen = true;
  }

  /** @param latencyMs of one whole answer. */
  record(latencyMs: number): void {
    if (!this.#isOpen) return;
    this.#requests += 1;
    this.#latencyUs.record(Math.max(1, Math.round(latencyMs * 1_000)));
  }

  close(): Omit<Measurement, 'faults'> {
    if (this.#opened === undefined) throw new Error('the window was never opened');
    const closed = this.#read();
    this.#isOpen = false;
    if (this.#requests === 0) throw new Error('no answer came in the measured window');
    return {
      requests: this.#requests,
      elapsedMs: closed.atMs - this.#opened.atMs,
      latency: {
        p50Us: this.#latencyUs.percentile(50),
        p90Us: this.#latencyUs.percentile(90),
        p99Us: this.#latencyUs.percentile(99),
        p99_9Us: this.#latencyUs.percentile(99.9),
      },
      targetCpuUs: closed.targetCpuUs - this.#opened.targetCpuUs,
      backendCpuUs: closed.backendCpuUs - this.#opened.backendCpuUs,
      loadCpuUs: closed.loadCpuUs - this.#opened.loadCpuUs,
      targetResidentBytes: residentBytesOf(this.#plan.targetPids),
    };
  }

  #read(): Reading {
    return {
      atMs: performance.now(),
      targetCpuUs: cpuUsOf(this.#plan.targetPids),
      backendCpuUs: cpuUsOf(this.#plan.backendPids),
      loadCpuUs: cpuUsOf([process.pid]),
    };
  }
}
