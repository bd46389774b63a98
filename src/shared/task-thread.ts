// A thread for the few tasks that would hold up the event loop for long: started with the first, ended when it has had nothing
// to do for a while. Tasks are done one after the other; of those that wait there is a bounded number. Cold.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { limits } from './limits.js';

export class TaskThread<Task, Outcome> {
  readonly #filename: string;
  #piscina: Piscina | undefined;

  /** @param file exports by default what a task is done with. */
  constructor(file: URL) {
    this.#filename = fileURLToPath(file);
  }

  /** Rejects when too many wait, when the thread dies over it, and when it is closed before. */
  async run(task: Task): Promise<Outcome> {
    this.#piscina ??= new Piscina({
      filename: this.#filename,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: limits.configThreadIdleMs,
      maxQueue: limits.largeConfigsWaitingMax,
    });
    return (await this.#piscina.run(task)) as Outcome;
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.#piscina?.destroy();
  }
}
