// How much longer work takes here than on an otherwise idle core: the delay that a busy machine adds for every process.
// Bounds of tests are multiples of it instead of seconds. Runs as a thread that works for a moment now and then and measures
// the time.
//
//   const coreShare = await CoreShare.start();
//   coreShare.mark(); … const slowness = await coreShare.slowness();
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

const EVERY_MS = 50;
/** About a third of a millisecond: most pieces finish before another process is given the core. */
const STEPS_OF_PIECE = 200_000;
const PIECES = 8;
/** Enough for the compiler to be done and the fastest piece to have been seen. */
const PIECES_FIRST = 200;

type Order = 'mark' | 'report';

export class CoreShare {
  readonly #thread: Worker;

  private constructor(thread: Worker) {
    this.#thread = thread;
  }

  /** The thread does not keep the process alive. */
  static async start(): Promise<CoreShare> {
    const thread = new Worker(fileURLToPath(import.meta.url));
    await once(thread, 'message');
    thread.unref();
    return new CoreShare(thread);
  }

  mark(): void {
    this.#order('mark');
  }

  /** The slowness since the mark: 1 on a machine where nothing else runs. */
  async slowness(): Promise<number> {
    this.#order('report');
    const [slowness] = (await once(this.#thread, 'message')) as [number];
    return slowness;
  }

  #order(order: Order): void {
    this.#thread.postMessage(order);
  }
}

async function watch(port: NonNullable<typeof parentPort>): Promise<never> {
  let pieceMs = Infinity;
  let workedMs = 0;
  let pieces = 0;
  const work = (count: number): void => {
    for (let piece = 0; piece < count; piece++) {
      const beganMs = performance.now();
      spin();
      const tookMs = performance.now() - beganMs;
      pieceMs = Math.min(pieceMs, tookMs);
      workedMs += tookMs;
      pieces += 1;
    }
  };
  port.on('message', (order: Order) => {
    if (order === 'report') {
      if (pieces === 0) work(PIECES);
      port.postMessage(workedMs / (pieces * pieceMs));
    }
    workedMs = pieces = 0;
  });
  work(PIECES_FIRST);
  workedMs = pieces = 0;
  port.postMessage('ready');
  for (;;) {
    await sleep(EVERY_MS);
    work(PIECES);
  }
}

let spun = 1;

function spin(): void {
  for (let step = 0; step < STEPS_OF_PIECE; step++) spun = Math.imul(spun ^ step, 0x9e3779b1);
}

if (!isMainThread && parentPort !== null) await watch(parentPort);
