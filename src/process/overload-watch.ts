// Takes the readings by which a process judges whether it has too much to do, and has garbage collected when memory is
// what it lacks: a process that takes no more requests would make no garbage either, and its collector would rest.
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { limits } from '../shared/limits.js';
import type { Overload, OverloadReading } from './overload.js';
import { RunQueueWait } from './run-queue-wait.js';

/** So many readings of the event loop in a row count: one long task is no overload. */
const DELAYS_KEPT = 5;

/** What is read. In tests it is made up. */
export interface OverloadGauges {
  nowMs(): number;
  /** How long the event loop's thread has waited for a processor, since it began. */
  runQueueWaitMs(): number;
  residentBytes(): number;
  /** Heap in use; after each full collection, and whatever is lower since. */
  liveHeapBytes(): number;
  heapBytesMax(): number;
  /** Collects all garbage at once, if it can. */
  collectGarbage(): void;
}

export class OverloadWatch {
  readonly #overload: Overload;
  readonly #memoryBytes: number;
  readonly #gauges: OverloadGauges;
  readonly #onDelay: (delayMs: number) => void;
  readonly #delaysMs: number[] = [];
  #dueMs: number;
  /** Waited for a processor, as of the last reading. */
  #waitedMs: number;
  #collectedAtMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /** @param memoryBytes what the process may take. @param onDelay hears of each reading how late it was, whoever's doing that was. */
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
    this.#dueMs = gauges.nowMs() + limits.overloadReadingMs;
    this.#waitedMs = gauges.runQueueWaitMs();
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.read();
      this.start();
    }, limits.overloadReadingMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Takes one reading. The timer does; public for tests. */
  read(): void {
    const nowMs = this.#gauges.nowMs();
    const delayMs = Math.max(0, nowMs - this.#dueMs);
    this.#onDelay(delayMs);
    this.#delaysMs.push(this.#ownPart(delayMs));
    if (this.#delaysMs.length > DELAYS_KEPT) this.#delaysMs.shift();
    this.#dueMs = nowMs + limits.overloadReadingMs;
    let reading = this.#reading();
    const lacksMemory =
      Math.max(
        reading.residentPercent - limits.residentPercentPressed,
        reading.heapPercent - limits.heapPercentPressed,
      ) >= 0;
    if (lacksMemory && nowMs - this.#collectedAtMs >= limits.overloadCollectionMs) {
      this.#collectedAtMs = nowMs;
      this.#gauges.collectGarbage();
      reading = this.#reading();
      // The pause was of our own making.
      this.#dueMs = this.#gauges.nowMs() + limits.overloadReadingMs;
      this.#waitedMs = this.#gauges.runQueueWaitMs();
    }
    this.#overload.observe(reading);
  }

  /**
   * Without the time in which others had the processor: to refuse callers would not make those fewer. A bound on the processor
   * (a cgroup's quota) looks the same and is taken for it: then memory and the shares alone say what is too much.
   */
  #ownPart(delayMs: number): number {
    const waitedMs = this.#gauges.runQueueWaitMs();
    const ownMs = Math.max(0, delayMs - (waitedMs - this.#waitedMs));
    this.#waitedMs = waitedMs;
    return ownMs;
  }

  #reading(): OverloadReading {
    const gauges = this.#gauges;
    const isDelayKnown = this.#delaysMs.length === DELAYS_KEPT;
    return {
      residentPercent: (100 * gauges.residentBytes()) / this.#memoryBytes,
      heapPercent: (100 * gauges.liveHeapBytes()) / gauges.heapBytesMax(),
      loopDelayMs: isDelayKnown ? Math.min(...this.#delaysMs) : 0,
    };
  }
}

/** Those of this process. */
export class ProcessGauges implements OverloadGauges {
  /** Heap in use after the last full collection. */
  #collectedHeapBytes = 0;
  readonly #runQueueWait = new RunQueueWait();
  readonly #collect = globalThis.gc ?? exposeCollector();
  /** Only a full collection takes what is registered here, so its call back says that there was one. */
  readonly #witness = new FinalizationRegistry<undefined>(() => this.#onCollected());

  /** Of this process when it began, what V8 did not manage: its code. */
  readonly #nativeBytes: number | undefined;

  /**
   * @param counted `managed` for a process whose memory is all V8's but for its code: what the C library keeps of memory
   *   that was freed does not count. Of a worker it does, as its HTTP server's memory is seen in no other way; but a
   *   worker is started so that little is kept.
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
    // Garbage counts as long as nobody has looked; but what is in use now cannot be less than what is not garbage.
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

/** Heap and buffers. */
function managedBytes(): number {
  const { heapTotal, external } = process.memoryUsage();
  return heapTotal + external;
}

/** Workers are started with it (primary/slot.ts). V8 gives it to contexts that are made while the flag is set. */
function exposeCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}
