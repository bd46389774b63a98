// Measures the load of a process, and forces garbage collection when memory is short: a process that accepts no more requests creates no
// garbage, so its collector would not run.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readFileSync } from 'node:fs';
import { type Overload, type OverloadSample, overloadBounds } from './overload.js';
import { heapMemory, residentBytes } from './process-memory.js';

/** The file with this thread's times: nanoseconds on a processor, nanoseconds of waiting for one, number of time slices. */
const SCHEDSTAT = '/proc/thread-self/schedstat';

const SCHEDSTAT_FORMAT = /^\d+ (\d+) \d+\s*$/;

/** How long this thread has waited while others had the processor; 0 on systems other than Linux. */
export class RunQueueWait {
  readonly #path: string;
  #totalMs = 0;

  constructor(path: string = SCHEDSTAT) {
    this.#path = path;
  }

  totalMs(): number {
    try {
      const waitNs = SCHEDSTAT_FORMAT.exec(readFileSync(this.#path, 'latin1'))?.[1];
      if (waitNs !== undefined) this.#totalMs = Number(waitNs) / 1_000_000;
    } catch {
      // There is no such file except on Linux, or no free file descriptor for now.
    }
    return this.#totalMs;
  }
}

export const OVERLOAD_SAMPLE_MS = 100;
/** Interval between collections when memory is short; each blocks the event loop. */
export const OVERLOAD_COLLECTION_MS = 10_000;

/** How many samples in a row must be late for the event loop to count as late: one long task is no overload. */
const LATE_SAMPLES_MIN = 5;

/** What is measured. Replaced in tests. */
export interface OverloadGauges {
  nowMs(): number;
  runQueueWaitMs(): number;
  residentBytes(): number;
  /** The heap in use after the last full garbage collection, or now if that is less; 0 before the first collection. */
  liveHeapBytes(): number;
  heapBytesMax(): number;
  collectGarbage(): void;
}

export class OverloadWatch {
  readonly #overload: Overload;
  readonly #memoryBytes: number;
  readonly #gauges: OverloadGauges;
  readonly #onDelay: (delayMs: number) => void;
  readonly #delaysMs: number[] = [];
  #dueMs: number;
  #lastRunQueueWaitMs: number;
  #collectedAtMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /** @param memoryBytes what the process may use. @param onDelay gets the whole delay of each sample, whatever caused it. */
  constructor(
    overload: Overload,
    memoryBytes: number,
    gauges: OverloadGauges = new ProcessGauges(),
    onDelay: (delayMs: number) => void = () => {},
  ) {
    this.#onDelay = onDelay;
    this.#overload = overload;
    this.#memoryBytes = memoryBytes;
    this.#gauges = gauges;
    this.#dueMs = gauges.nowMs() + OVERLOAD_SAMPLE_MS;
    this.#lastRunQueueWaitMs = gauges.runQueueWaitMs();
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.takeSample();
      this.start();
    }, OVERLOAD_SAMPLE_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Takes one sample. Called by the timer; public for tests. */
  takeSample(): void {
    const nowMs = this.#gauges.nowMs();
    const delayMs = Math.max(0, nowMs - this.#dueMs);
    this.#onDelay(delayMs);
    this.#delaysMs.push(this.#ownDelayMs(delayMs));
    if (this.#delaysMs.length > LATE_SAMPLES_MIN) this.#delaysMs.shift();
    this.#dueMs = nowMs + OVERLOAD_SAMPLE_MS;
    let sample = this.#readGauges();
    const lacksMemory =
      sample.residentPercent >= overloadBounds.residentPercentPressed ||
      sample.heapPercent >= overloadBounds.heapPercentPressed;
    if (lacksMemory && nowMs - this.#collectedAtMs >= OVERLOAD_COLLECTION_MS) {
      this.#collectedAtMs = nowMs;
      this.#gauges.collectGarbage();
      sample = this.#readGauges();
      // The next sample is due later, because the pause for the collection must not count as a delay.
      this.#dueMs = this.#gauges.nowMs() + OVERLOAD_SAMPLE_MS;
      this.#lastRunQueueWaitMs = this.#gauges.runQueueWaitMs();
    }
    this.#overload.observe(sample);
  }

  /**
   * The delay without the time in which this thread waited for a processor: refusals would not reduce that. Waiting for a cgroup's quota
   * counts as such, so under a quota only memory shows an overload.
   */
  #ownDelayMs(delayMs: number): number {
    const waitedMs = this.#gauges.runQueueWaitMs();
    const ownMs = Math.max(0, delayMs - (waitedMs - this.#lastRunQueueWaitMs));
    this.#lastRunQueueWaitMs = waitedMs;
    return ownMs;
  }

  #readGauges(): OverloadSample {
    const gauges = this.#gauges;
    const isDelayKnown = this.#delaysMs.length === LATE_SAMPLES_MIN;
    return {
      residentPercent: (100 * gauges.residentBytes()) / this.#memoryBytes,
      heapPercent: (100 * gauges.liveHeapBytes()) / gauges.heapBytesMax(),
      loopDelayMs: isDelayKnown ? Math.min(...this.#delaysMs) : 0,
    };
  }
}

export class ProcessGauges implements OverloadGauges {
  #collectedHeapBytes = 0;
  readonly #runQueueWait = new RunQueueWait();
  readonly #collect = globalThis.gc ?? exposeCollector();
  /** Reports each full collection: only that frees the registered object. */
  readonly #witness = new FinalizationRegistry<undefined>(() => this.#onCollected());

  /** Memory that V8 does not manage: at the start, that of the program's code. */
  readonly #nativeBytes: number | undefined;

  /** @param counted `managed`: what V8 manages now, and what else there was at the start, but not what the C library keeps when freed. */
  constructor(counted: 'resident' | 'managed' = 'resident') {
    if (counted === 'managed') this.#nativeBytes = Math.max(0, residentBytes() - managedBytes());
    this.#witness.register({}, undefined);
  }

  nowMs(): number {
    return performance.now();
  }

  runQueueWaitMs(): number {
    return this.#runQueueWait.totalMs();
  }

  residentBytes(): number {
    const bytes = residentBytes();
    return this.#nativeBytes === undefined ? bytes : Math.min(bytes, this.#nativeBytes + managedBytes());
  }

  liveHeapBytes(): number {
    return Math.min(this.#collectedHeapBytes, getHeapStatistics().used_heap_size);
  }

  heapBytesMax(): number {
    return getHeapStatistics().heap_size_limit;
  }

  collectGarbage(): void {
    this.#collect();
    this.#collectedHeapBytes = getHeapStatistics().used_heap_size;
  }

  #onCollected(): void {
    this.#collectedHeapBytes = getHeapStatistics().used_heap_size;
    this.#witness.register({}, undefined);
  }
}

function managedBytes(): number {
  const { heapTotal, external } = heapMemory();
  return heapTotal + external;
}

/**
 * A function that collects garbage, for processes without `--expose-gc`. V8 adds `gc` to contexts that are created while the flag is set.
 */
function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
