// The list thread as the event loop sees it: one for a worker process, started when it is first needed, and started again
// when it dies, which fails the lists that it was keeping and no others. Tasks are done in the order in which they come.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import { handOver, type Handover, type ThreadTasks } from './thread-tasks.js';

/** `overdue`: not done in time. `failed`: the thread died over it, or what the task needs was lost with another thread. */
export type ThreadFailure = 'overdue' | 'failed';

type Outcome<Name extends keyof ThreadTasks> = ThreadTasks[Name]['outcome'];

const THREAD_FILE = fileURLToPath(new URL('./list-thread.js', import.meta.url));

export class ListPool {
  readonly #deadlines: DeadlineWheel;
  readonly #logger: Logger;
  #piscina: Piscina | undefined;
  #pendingCount = 0;
  #stuckDeadline: Deadline | undefined;
  #lastKey = 0;
  #isClosed = false;

  constructor(deadlines: DeadlineWheel, logger: Logger) {
    this.#deadlines = deadlines;
    this.#logger = logger;
  }

  /** A key for something that the thread is to keep. */
  mintKey(): number {
    this.#lastKey += 1;
    return this.#lastKey;
  }

  /**
   * An overdue task is done all the same: what it leaves in the thread is for the caller to drop.
   * @param done called once; from within when the pool is closed.
   */
  run<Name extends keyof ThreadTasks>(
    name: Name,
    handover: Handover<ThreadTasks[Name]['task']>,
    withinMs: number,
    done: (outcome: Outcome<Name> | ThreadFailure) => void,
  ): void {
    if (this.#isClosed) {
      done('failed');
      return;
    }
    let isOverdue = false;
    const deadline = this.#deadlines.after(withinMs, () => {
      isOverdue = true;
      done('overdue');
    });
    const finish = (outcome: Outcome<Name> | ThreadFailure): void => {
      deadline.cancel();
      this.#onTaskOver();
      if (!isOverdue) done(outcome);
    };
    this.#piscina ??= this.#start();
    this.#pendingCount += 1;
    if (this.#pendingCount === 1) this.#stuckDeadline?.restart();
    const options = { transferList: [...handover.memory] };
    void this.#piscina.run({ name, task: handover.message }, options).then(finish, (error: unknown) => {
      if (!this.#isClosed) this.#logger.error({ err: error, task: name }, 'the list thread failed');
      finish('failed');
    });
  }

  /** What is kept under these keys is of no use any more. */
  drop(keys: readonly number[]): void {
    if (keys.length > 0) this.run('drop', handOver({ keys }), limits.listTaskMsMax, () => {});
  }

  /** Ends the thread; what is not over fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stuckDeadline?.cancel();
    await this.#piscina?.destroy();
  }

  #start(): Piscina {
    this.#stuckDeadline = this.#deadlines.after(limits.listTaskMsMax, () => this.#onStuck());
    const piscina = new Piscina({
      filename: THREAD_FILE,
      // With a minimum of one, a thread that died is replaced while tasks wait for it, too.
      minThreads: 1,
      maxThreads: 1,
      // Every task goes to the thread at once, which does them in turn: the memory handed over weighs on this side no more.
      concurrentTasksPerWorker: Number.MAX_SAFE_INTEGER,
    });
    piscina.on('error', (error) => this.#logger.error({ err: error as unknown }, 'the idle list thread died'));
    return piscina;
  }

  #onTaskOver(): void {
    this.#pendingCount -= 1;
    if (this.#pendingCount > 0) this.#stuckDeadline?.restart();
    else this.#stuckDeadline?.cancel();
  }

  /** No task was over for so long: the thread is replaced, as if it had died. */
  #onStuck(): void {
    for (const thread of this.#piscina?.threads ?? []) void thread.terminate();
  }
}
