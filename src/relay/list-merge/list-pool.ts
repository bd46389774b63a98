// The list thread as the event loop sees it: one for a worker process, started when it is first needed, and started again
// when it dies, which fails the task that it was at and no other.
//
//   waiting ──its turn──> running ──outcome, error──> over
//      └──overdue──┐         └──overdue: the thread is ended──> over
//                  └──> over
//
// The queue is here, because piscina's own keeps no order among tasks that can be aborted.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import type { Handover, ThreadTasks } from './thread-tasks.js';

/** `overdue`: not done in time. `failed`: the thread died over it, or too much was waiting already. */
export type ThreadFailure = 'overdue' | 'failed';

type Outcome<Name extends keyof ThreadTasks> = ThreadTasks[Name]['outcome'];

interface Task {
  readonly name: keyof ThreadTasks;
  readonly handover: Handover<unknown>;
  readonly bytes: number;
  readonly abort: AbortController;
  readonly deadline: Deadline;
  readonly done: (outcome: Outcome<keyof ThreadTasks> | ThreadFailure) => void;
}

const THREAD_FILE = fileURLToPath(new URL('./list-thread.js', import.meta.url));

export class ListPool {
  readonly #deadlines: DeadlineWheel;
  readonly #logger: Logger;
  #piscina: Piscina | undefined;
  /** In the order in which they came. */
  readonly #waiting = new Set<Task>();
  #running: Task | undefined;
  /** Of all tasks that are not over. */
  #bytes = 0;
  #isClosed = false;

  constructor(deadlines: DeadlineWheel, logger: Logger) {
    this.#deadlines = deadlines;
    this.#logger = logger;
  }

  /** @param done called once; from within when the task cannot be taken. */
  run<Name extends keyof ThreadTasks>(
    name: Name,
    handover: Handover<ThreadTasks[Name]['task']>,
    withinMs: number,
    done: (outcome: Outcome<Name> | ThreadFailure) => void,
  ): void {
    const bytes = handover.memory.reduce((sum, { byteLength }) => sum + byteLength, 0);
    // A task that finds nothing before it is taken whatever its size.
    const isFull = this.#bytes > 0 && this.#bytes + bytes > limits.listThreadBytesMax;
    if (isFull) this.#logger.warn({ bytes: this.#bytes }, 'too many large lists at once: one is not read');
    if (isFull || this.#isClosed) {
      done('failed');
      return;
    }
    const task: Task = {
      name,
      handover,
      bytes,
      abort: new AbortController(),
      deadline: this.#deadlines.after(withinMs, () => this.#onOverdue(task)),
      done,
    };
    this.#bytes += bytes;
    this.#waiting.add(task);
    this.#runNext();
  }

  /** Ends the thread; what is not over fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const task of this.#waiting) this.#finish(task, 'failed');
    await this.#piscina?.destroy();
  }

  #runNext(): void {
    const [task] = this.#waiting;
    if (this.#running !== undefined || task === undefined) return;
    this.#waiting.delete(task);
    this.#running = task;
    this.#piscina ??= this.#start();
    const { name, abort, handover } = task;
    const options = { name, transferList: handover.memory, signal: abort.signal };
    void this.#piscina.run(handover.message, options).then(
      (outcome: Outcome<keyof ThreadTasks>) => this.#finish(task, outcome),
      (error: unknown) => this.#onError(task, error),
    );
  }

  #start(): Piscina {
    // With a minimum of one, a thread that died is replaced while others wait for it, too.
    const piscina = new Piscina({ filename: THREAD_FILE, minThreads: 1, maxThreads: 1 });
    piscina.on('error', (error) => this.#logger.error({ err: error as unknown }, 'the idle list thread died'));
    return piscina;
  }

  #onOverdue(task: Task): void {
    if (task === this.#running) task.abort.abort();
    else this.#finish(task, 'overdue');
  }

  #onError(task: Task, error: unknown): void {
    const isOverdue = task.abort.signal.aborted;
    if (!isOverdue && !this.#isClosed) this.#logger.error({ err: error, task: task.name }, 'the list thread failed');
    this.#finish(task, isOverdue ? 'overdue' : 'failed');
  }

  #finish(task: Task, outcome: Outcome<keyof ThreadTasks> | ThreadFailure): void {
    task.deadline.cancel();
    this.#bytes -= task.bytes;
    if (task === this.#running) this.#running = undefined;
    else this.#waiting.delete(task);
    this.#runNext();
    task.done(outcome);
  }
}
