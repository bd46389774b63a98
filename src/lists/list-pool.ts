// Gives tasks to the list thread. A worker has one, started when it is first needed, and again when it has died; only the lists that it
// kept are lost then. The thread has only a few tasks at once; all others wait here, round robin by subject. Tasks of one subject are done
// in order.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type * as threads from 'piscina';
import { type Deadline, type DeadlineWheel, FairQueue } from '../fair/index.js';
import { limits, type Logger } from '../shared/index.js';
import type { ListKeeper } from './list-keeper.js';

/** The most tasks that the list thread has at once: one that runs, and one that is ready. */
export const LIST_TASKS_IN_THREAD_MAX = 2;

/** Why a task failed. `overdue`: not done in time. `failed`: the thread died, or an earlier one did, and what the task needs was lost. */
export type ThreadFailure = 'overdue' | 'failed';

/** The name of a task: that of a method of `ListKeeper`. */
export type TaskName = keyof ListKeeper;

export type TaskOf<Name extends TaskName> = Parameters<ListKeeper[Name]>[0];

export type OutcomeOf<Name extends TaskName> = ReturnType<ListKeeper[Name]>;

interface Job {
  readonly task: { readonly name: TaskName; readonly task: unknown };
  /** The memory that is transferred with the task. */
  readonly views: readonly ArrayBufferView[];
  finish(outcome: unknown): void;
}

/** Loads piscina, but only with the first thread, because most processes start none. */
const requirePackage = createRequire(import.meta.url);
/** Resolved at startup: if it failed later for lack of a file descriptor, Node.js would remember the package as missing. */
const PISCINA_PATH = requirePackage.resolve('piscina');

const THREAD_FILE = fileURLToPath(new URL('./list-thread.js', import.meta.url));

export class ListPool {
  readonly #deadlines: DeadlineWheel;
  readonly #logger: Logger;
  readonly #onLost: () => void;
  #piscina: threads.Piscina | undefined;
  /** The waiting tasks. They need no limit of their own: each list that a task is about counts in its subject's share. */
  readonly #waiting = new FairQueue<Job>(Infinity, Infinity);
  #inThreadCount = 0;
  #stuckDeadline: Deadline | undefined;
  #lastKey = 0;
  #isClosed = false;

  /** @param onLost called when a thread has died, and the pages and catalogues in it are lost. */
  constructor(deadlines: DeadlineWheel, logger: Logger, onLost: () => void = () => {}) {
    this.#deadlines = deadlines;
    this.#logger = logger;
    this.#onLost = onLost;
  }

  /** A new key, under which the thread is to keep a page, a list or a catalogue. */
  mintKey(): number {
    this.#lastKey += 1;
    return this.#lastKey;
  }

  /**
   * Runs a task in the thread. The caller must drop what an overdue task leaves there.
   * @param views the buffers in the task that are transferred, not copied.
   * @param done called once; synchronously when the pool is closed, or its thread cannot be started.
   */
  run<Name extends TaskName>(
    subject: string,
    name: Name,
    task: TaskOf<Name>,
    views: readonly ArrayBufferView[],
    done: (outcome: OutcomeOf<Name> | ThreadFailure) => void,
    withinMs: number = limits.listTaskMsMax,
  ): void {
    let isOverdue = false;
    const deadline = this.#deadlines.after(withinMs, () => {
      isOverdue = true;
      leave();
      done('overdue');
    });
    const leave = this.#submit(subject, {
      task: { name, task },
      views,
      finish: (outcome) => {
        deadline.cancel();
        if (!isOverdue) done(outcome as OutcomeOf<Name> | ThreadFailure);
      },
    });
  }

  /**
   * Drops all that the thread keeps under these keys, now or after waiting tasks of the subject. @param done called once, when it is
   * dropped; synchronously when the pool is closed.
   */
  drop(subject: string, keys: readonly number[], done: () => void): void {
    this.#submit(subject, { task: { name: 'drop', task: { keys } }, views: [], finish: done });
  }

  /** Ends the thread; unfinished tasks fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stuckDeadline?.cancel();
    for (const job of this.#waiting.takeAll()) job.finish('failed');
    await this.#piscina?.destroy();
  }

  #start(): threads.Piscina {
    const { Piscina } = requirePackage(PISCINA_PATH) as typeof threads;
    const piscina = new Piscina({
      filename: THREAD_FILE,
      // A minimum of one, so that a thread that died is replaced even while tasks wait.
      minThreads: 1,
      maxThreads: 1,
      // Every task goes to the thread at once, so that the thread never waits for the event loop.
      concurrentTasksPerWorker: Number.MAX_SAFE_INTEGER,
    });
    piscina.on('error', (error) => {
      // A closed pool has no tasks whose failure would matter.
      if (!this.#isClosed) this.#logger.error({ err: error as unknown }, 'the idle list thread died');
    });
    // Deferred, because no task can be posted from within this event.
    piscina.on('workerDestroy', () => {
      if (!this.#isClosed) queueMicrotask(this.#onLost);
    });
    this.#stuckDeadline = this.#deadlines.after(limits.listTaskMsMax, () => this.#onStuck());
    return piscina;
  }

  /** Gives a job to the thread, or queues it. @returns a function that removes the job from the queue, if it is still there. */
  #submit(subject: string, job: Job): () => void {
    if (this.#isClosed) {
      job.finish('failed');
    } else if (this.#inThreadCount < LIST_TASKS_IN_THREAD_MAX) {
      this.#postToThread(job);
    } else {
      const entry = this.#waiting.add(subject, job);
      if (typeof entry !== 'string') return () => entry.leave();
    }
    return () => {};
  }

  #postToThread(job: Job): void {
    let piscina: threads.Piscina;
    try {
      piscina = this.#piscina ??= this.#start();
    } catch (error) {
      // Usually because no file descriptor is free.
      this.#logger.error({ err: error }, 'the list thread cannot be started');
      job.finish('failed');
      return;
    }
    this.#inThreadCount += 1;
    if (this.#inThreadCount === 1) this.#stuckDeadline?.restart();
    const finish = (outcome: unknown): void => {
      this.#onTaskEnded();
      job.finish(outcome);
    };
    const transferList = job.views.map(({ buffer }) => buffer as ArrayBuffer);
    void piscina.run(job.task, { transferList }).then(finish, (error: unknown) => {
      if (!this.#isClosed) this.#logger.error({ err: error, task: job.task.name }, 'the list thread failed');
      finish('failed');
    });
  }

  #onTaskEnded(): void {
    this.#inThreadCount -= 1;
    if (this.#inThreadCount > 0) this.#stuckDeadline?.restart();
    else this.#stuckDeadline?.cancel();
    const next = this.#waiting.take();
    if (next !== undefined) this.#postToThread(next);
  }

  /** Replaces the thread, as if it had died, because no task has ended for too long. */
  #onStuck(): void {
    for (const thread of this.#piscina?.threads ?? []) void thread.terminate();
  }
}
