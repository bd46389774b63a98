// The list thread as the event loop sees it: one for a worker process, started when it is first needed, and started again
// when it dies, which fails the lists that it was keeping and no others.
//
//   waiting ──its turn──> running ──outcome, error──> over
//      └──overdue──> over    ├──overdue──> unheard ──outcome, error──> over
//                            └──stuck: the thread is ended──> over
//
// The queue is here, because piscina's own keeps no order among tasks that can be aborted.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import { handOver, type Handover, type ThreadTasks } from './thread-tasks.js';

/** `overdue`: not done in time. `failed`: the thread died over it, or what the task needs was lost with another thread. */
export type ThreadFailure = 'overdue' | 'failed';

type Outcome<Name extends keyof ThreadTasks> = ThreadTasks[Name]['outcome'];

interface Task {
  readonly name: keyof ThreadTasks;
  readonly handover: Handover<unknown>;
  readonly deadline: Deadline;
  /** `undefined` once it was called. */
  done: ((outcome: Outcome<keyof ThreadTasks> | ThreadFailure) => void) | undefined;
}

const THREAD_FILE = fileURLToPath(new URL('./list-thread.js', import.meta.url));

export class ListPool {
  readonly #deadlines: DeadlineWheel;
  readonly #logger: Logger;
  #piscina: Piscina | undefined;
  /** In the order in which they came. */
  readonly #waiting = new Set<Task>();
  #running: Task | undefined;
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

  /** @param done called once; from within when the pool is closed. */
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
    const task: Task = {
      name,
      handover,
      deadline: this.#deadlines.after(withinMs, () => this.#onOverdue(task)),
      done,
    };
    this.#waiting.add(task);
    this.#runNext();
  }

  /** What is kept under these keys is of no use any more. */
  drop(keys: readonly number[]): void {
    if (keys.length > 0) this.run('drop', handOver({ keys }), limits.listTaskMsMax, () => {});
  }

  /** Ends the thread; what is not over fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const task of waiting) this.#tell(task, 'failed');
    await this.#piscina?.destroy();
  }

  #runNext(): void {
    const [task] = this.#waiting;
    if (this.#running !== undefined || task === undefined) return;
    this.#waiting.delete(task);
    this.#running = task;
    this.#piscina ??= this.#start();
    const { name, handover } = task;
    // Ends the thread, which would be stuck; the last thing that a correct program needs.
    const abort = new AbortController();
    const stuckDeadline = this.#deadlines.after(limits.listTaskMsMax, () => abort.abort());
    const finish = (outcome: Outcome<keyof ThreadTasks> | ThreadFailure): void => {
      stuckDeadline.cancel();
      this.#running = undefined;
      this.#runNext();
      this.#tell(task, outcome);
    };
    const options = { name, transferList: [...handover.memory], signal: abort.signal };
    void this.#piscina.run(handover.message, options).then(finish, (error: unknown) => {
      if (!this.#isClosed) this.#logger.error({ err: error, task: name }, 'the list thread failed');
      finish('failed');
    });
  }

  #start(): Piscina {
    // With a minimum of one, a thread that died is replaced while others wait for it, too.
    const piscina = new Piscina({ filename: THREAD_FILE, minThreads: 1, maxThreads: 1 });
    piscina.on('error', (error) => this.#logger.error({ err: error as unknown }, 'the idle list thread died'));
    return piscina;
  }

  #onOverdue(task: Task): void {
    // A running task is let run: what the thread keeps for others is worth more than the time.
    this.#waiting.delete(task);
    this.#tell(task, 'overdue');
  }

  #tell(task: Task, outcome: Outcome<keyof ThreadTasks> | ThreadFailure): void {
    const { done } = task;
    task.done = undefined;
    task.deadline.cancel();
    done?.(outcome);
  }
}
