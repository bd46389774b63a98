// A thread for tasks that would block the event loop, started with the first task and ended after some idle time. By default,
// tasks run one by one, and the number that may wait is bounded. Cold path.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type * as threads from 'piscina';
import { limits } from '../shared/index.js';

/** How long an idle thread is kept. */
const THREAD_IDLE_MS_MAX = 10_000;

/** Loads piscina when the first thread starts, because most processes start none. */
const requirePackage = createRequire(import.meta.url);
/** Resolved at once: if it failed later, for lack of a file descriptor, Node.js would remember the failure. */
const PISCINA_PATH = requirePackage.resolve('piscina');

type ThreadOptions = NonNullable<ConstructorParameters<typeof threads.Piscina>[0]>;

export class TaskThread<Task, Outcome> {
  readonly #options: ThreadOptions;
  #piscina: threads.Piscina | undefined;

  /** @param file the module whose default export runs one task. */
  constructor(file: URL, options: ThreadOptions = {}) {
    this.#options = { filename: fileURLToPath(file), ...options };
  }

  get isStarted(): boolean {
    return this.#piscina !== undefined;
  }

  /** Runs a task. Rejects if too many wait, and if the thread dies or is closed before the task is done. */
  async run(task: Task): Promise<Outcome> {
    this.#piscina ??= this.#start();
    return (await this.#piscina.run(task)) as Outcome;
  }

  #start(): threads.Piscina {
    const { Piscina } = requirePackage(PISCINA_PATH) as typeof threads;
    const piscina = new Piscina({
      ...{ minThreads: 0, maxThreads: 1, idleTimeout: THREAD_IDLE_MS_MAX, maxQueue: limits.waitingMax },
      ...this.#options,
    });
    // A listener is needed, or a thread that dies between tasks would end the process. The thread is replaced.
    piscina.on('error', () => undefined);
    return piscina;
  }

  async close(): Promise<void> {
    await this.#piscina?.destroy();
  }
}
