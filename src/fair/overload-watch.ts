// Takes the readings by which a process judges whether it is overloaded, and forces garbage collection when it lacks memory: a
// process that accepts no more requests creates no garbage either, so its collector would not run.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readFileSync } from 'node:fs';
import { type Overload, type OverloadSample, overloadBounds } from './overload.js';

/** Of the thread that reads the file: nanoseconds on a processor, nanoseconds of waiting for a processor, number of time slices. */
const SCHEDSTAT = '/proc/thread-self/schedstat';

const SCHEDSTAT_FORMAT = /^\d+ (\d+) \d+\s*$/;

/** How long this thread has been ready to run while others had the processor, as counted by Linux; 0 on other systems. */
export class RunQueueWait {
  readonly #path: string;
  #totalMs = 0;

  constructor(path: string = SCHEDSTAT) {
    this.#path = path;
  }

  /** The total wait since the thread began; the last known value while it cannot be read. */
  totalMs(): number {
    try {
      const waitNs = SCHEDSTAT_FORMAT.exec(readFileSync(this.#path, 'latin1'))?.[1];
      if (waitNs !== undefined) this.#totalMs = Number(waitNs) / 1_000_000;
    } catch {
      // Absent on other systems; or there is no free file descriptor for now.
    }
    return this.#totalMs;
  }
}

/** Interval between readings of memory use and event loop delay. */
export const OVERLOAD_SAMPLE_MS = 100;
/** Interval between garbage collections requested by a worker short of memory; each blocks its event loop. */
export const OVERLOAD_COLLECTION_MS = 10_000;

/** Readings in a row of which all must be late for the event loop to count as late: one long task is no overload. */
const DELAYS_KEPT = 5;

/** The gauges that are read; replaced in tests. */
export interface OverloadGauges {
  nowMs(): number;
  /** How long this thread has waited for a processor since it began. */
  runQueueWaitMs(): number;
  residentBytes(): number;
  /** The heap in use after the last full garbage collection, or now if that is less. */
  liveHeapBytes(): number;
  heapBytesMax(): number;
  /** Runs a full garbage collection, if possible. */
  collectGarbage(): void;
}

export class OverloadWatch {
  readonly #overload: Overload;
  readonly #memoryBytes: number;
  readonly #gauges: OverloadGauges;
  readonly #onDelay: (delayMs: number) => void;
  readonly #delaysMs: number[] = [];
  #dueMs: number;
  /** The total wait for a processor at the last reading. */
  #waitedMs: number;
  #collectedAtMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /** @param memoryBytes the memory that the process may use. @param onDelay gets the whole delay of each reading, whatever caused it. */
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
    this.#waitedMs = gauges.runQueueWaitMs();
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.read();
      this.start();
    }, OVERLOAD_SAMPLE_MS).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Takes one reading. Called by the timer; public for tests. */
  read(): void {
    const nowMs = this.#gauges.nowMs();
    const delayMs = Math.max(0, nowMs - this.#dueMs);
    this.#onDelay(delayMs);
    this.#delaysMs.push(this.#ownDelayMs(delayMs));
    if (this.#delaysMs.length > DELAYS_KEPT) this.#delaysMs.shift();
    this.#dueMs = nowMs + OVERLOAD_SAMPLE_MS;
    let reading = this.#sample();
    const lacksMemory =
      Math.max(
        reading.residentPercent - overloadBounds.residentPercentPressed,
        reading.heapPercent - overloadBounds.heapPercentPressed,
      ) >= 0;
    if (lacksMemory && nowMs - this.#collectedAtMs >= OVERLOAD_COLLECTION_MS) {
      this.#collectedAtMs = nowMs;
      this.#gauges.collectGarbage();
      reading = this.#sample();
      // The pause for the collection must not count as a delay.
      this.#dueMs = this.#gauges.nowMs() + OVERLOAD_SAMPLE_MS;
      this.#waitedMs = this.#gauges.runQueueWaitMs();
    }
    this.#overload.observe(reading);
  }

  /**
   * The delay without the time in which other processes had the processor, which refusals would not reduce. A wait for a cgroup's quota
   * cannot be told from that, so it does not count either: then only memory and the shares show an overload.
   */
  #ownDelayMs(delayMs: number): number {
    const waitedMs = this.#gauges.runQueueWaitMs();
    const ownMs = Math.max(0, delayMs - (waitedMs - this.#waitedMs));
    this.#waitedMs = waitedMs;
    return ownMs;
  }

  #sample(): OverloadSample {
    const gauges = this.#gauges;
    const isDelayKnown = this.#delaysMs.length === DELAYS_KEPT;
    return {
      residentPercent: (100 * gauges.residentBytes()) / this.#memoryBytes,
      heapPercent: (100 * gauges.liveHeapBytes()) / gauges.heapBytesMax(),
      loopDelayMs: isDelayKnown ? Math.min(...this.#delaysMs) : 0,
    };
  }
}

/** The gauges of this process. */
export class ProcessGauges implements OverloadGauges {
  /** The heap in use after the last full collection. */
  #collectedHeapBytes = 0;
  readonly #runQueueWait = new RunQueueWait();
  readonly #collect = globalThis.gc ?? exposeCollector();
  /** Only a full collection frees the registered object, so the callback means that there was one. */
  readonly #witness = new FinalizationRegistry<undefined>(() => this.#onCollected());

  /** Memory that V8 did not manage when the process began: its code. */
  readonly #nativeBytes: number | undefined;

  /**
   * @param counted `managed` for a process whose memory, except its code, is all V8's: freed memory that the C library keeps does not count
   *   then. In a worker it counts, because the memory of its HTTP server is visible in no other way.
   */
  constructor(counted: 'resident' | 'managed' = 'resident') {
    if (counted === 'managed') this.#nativeBytes = Math.max(0, process.memoryUsage.rss() - managedBytes());
    this.#witness.register({}, undefined);
  }

  nowMs(): number {
    return performance.now();
  }

  runQueueWaitMs(): number {
    return this.#runQueueWait.totalMs();
  }

  residentBytes(): number {
    const bytes = process.memoryUsage.rss();
    return this.#nativeBytes === undefined ? bytes : Math.min(bytes, this.#nativeBytes + managedBytes());
  }

  liveHeapBytes(): number {
    // The heap after the last collection includes what has become garbage since; the live heap cannot exceed the heap in use now.
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

/** The memory of V8's heap and of buffers. */
function managedBytes(): number {
  const { heapTotal, external } = process.memoryUsage();
  return heapTotal + external;
}

/** Workers start with `--expose-gc` (primary/slot.ts); others need this. V8 gives `gc` to contexts created while the flag is set. */
function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
