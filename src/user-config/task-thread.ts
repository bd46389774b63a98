// A thread for the few tasks that would block the event loop for long: started with the first task, ended after some idle time. Unless
// its options say otherwise, tasks run one after another, and the number of waiting tasks is bounded. Cold path.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type * as threads from 'piscina';
import { limits } from '../shared/index.js';

/** Time that the idle config thread is kept; configs change seldom. It is started again when needed. */
const CONFIG_THREAD_IDLE_MS = 10_000;

/** Loads a package with the first thread: most processes start none. */
const packages = createRequire(import.meta.url);

type ThreadOptions = NonNullable<ConstructorParameters<typeof threads.Piscina>[0]>;

export class TaskThread<Task, Outcome> {
  readonly #options: ThreadOptions;
  #piscina: threads.Piscina | undefined;

  /** @param file its default export runs one task. */
  constructor(file: URL, options: ThreadOptions = {}) {
    this.#options = { filename: fileURLToPath(file), ...options };
  }

  /** Whether a task was ever run. */
  get isStarted(): boolean {
    return this.#piscina !== undefined;
  }

  /** Rejects when too many tasks wait, when the thread dies during the task, and when the thread is closed before the task is done. */
  async run(task: Task): Promise<Outcome> {
    this.#piscina ??= this.#start();
    return (await this.#piscina.run(task)) as Outcome;
  }

  #start(): threads.Piscina {
    const { Piscina } = packages('piscina') as typeof threads;
    const piscina = new Piscina({
      ...{ minThreads: 0, maxThreads: 1, idleTimeout: CONFIG_THREAD_IDLE_MS, maxQueue: limits.waitingMax },
      ...this.#options,
    });
    // A thread that dies between tasks harms none: the next one starts another. Without a listener it would end the process.
    piscina.on('error', () => undefined);
    return piscina;
  }

  async close(): Promise<void> {
    await this.#piscina?.destroy();
  }
}
