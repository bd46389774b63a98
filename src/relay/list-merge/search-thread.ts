// The search thread as the event loop sees it: one per worker, started when it is first needed, and started again when it dies, with which
// the tools that it keeps are lost and are read again. Tasks of one subject are done in order, and subjects take turns: only a few tasks are
// in the thread, which does them in order, and the others wait here.
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { FairQueue } from '../../shared/fair-queue.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import type { AnswerFrame } from '../exchange/answers.js';
import type { UnavailableBackend } from '../message/unavailable.js';

/** Tasks in the search thread: one running, one ready. Beyond it, further ones wait, subjects in turn. */
export const SEARCH_TASKS_IN_THREAD_MAX = 2;

/** All tools of a virtual host as callers get them, one after the other. The memory is transferred, not copied. */
export interface ToolTexts {
  readonly bytes: Uint8Array;
  /** Where each tool ends. */
  readonly ends: Int32Array;
  readonly names: readonly string[];
  /** Backends whose tools are missing. */
  readonly unavailable: readonly UnavailableBackend[];
}

/** A search in the tools under the key. */
export interface ToolSearch {
  readonly key: number;
  readonly query: string;
  /** The most tools to find. */
  readonly count: number;
  readonly frame: AnswerFrame;
}

/**
 * What the thread does. `keep` results in the size of what is kept under the key until it is dropped; `find` in the whole answer; `prepare`
 * warms up the code that searches.
 */
export type SearchTask =
  | { readonly name: 'prepare' }
  | { readonly name: 'keep'; readonly key: number; readonly tools: ToolTexts }
  | ({ readonly name: 'find' } & ToolSearch)
  | { readonly name: 'drop'; readonly key: number };

/** A task to be done when its turn comes. */
interface Job {
  readonly task: SearchTask;
  readonly memory: readonly ArrayBuffer[];
  finish(outcome: unknown): void;
}

const THREAD_FILE = fileURLToPath(new URL('./tool-searcher.js', import.meta.url));

export class SearchThread {
  readonly #deadlines: DeadlineWheel;
  readonly #logger: Logger;
  #piscina: Piscina | undefined;
  /** Needs no bound of its own: requests in flight are bounded, and so are the catalogues that are dropped. */
  readonly #waiting = new FairQueue<Job>({
    itemsMax: Number.MAX_SAFE_INTEGER,
    itemsPerKeyMax: Number.MAX_SAFE_INTEGER,
  });
  #inThreadCount = 0;
  #stuckDeadline: Deadline | undefined;
  #isClosed = false;

  constructor(deadlines: DeadlineWheel, logger: Logger) {
    this.#deadlines = deadlines;
    this.#logger = logger;
  }

  /** @param done called once. `failed`: the task was not done in time, or the thread died or has lost what the task needs. */
  keep(subject: string, key: number, tools: ToolTexts, done: (bytes: number | 'failed') => void): void {
    const memory = [tools.bytes.buffer as ArrayBuffer, tools.ends.buffer as ArrayBuffer];
    this.#run(subject, { name: 'keep', key, tools }, (size) => done(size as number | 'failed'), memory);
  }

  find(subject: string, search: ToolSearch, done: (answer: Buffer | 'failed') => void): void {
    this.#run(subject, { name: 'find', ...search }, (answer) =>
      done(answer === 'failed' ? answer : Buffer.from((answer as Uint8Array).buffer)),
    );
  }

  prepare(subject: string): void {
    this.#run(subject, { name: 'prepare' }, () => {});
  }

  /** Drops what is kept under the key, and what waiting tasks of the subject will leave there. */
  drop(subject: string, key: number): void {
    this.#submit(subject, { task: { name: 'drop', key }, memory: [], finish: () => {} });
  }

  /** Ends the thread; unfinished tasks fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stuckDeadline?.cancel();
    for (const job of this.#waiting.takeAll()) job.finish('failed');
    await this.#piscina?.destroy();
  }

  #run(subject: string, task: SearchTask, done: (outcome: unknown) => void, memory: readonly ArrayBuffer[] = []): void {
    let isOver = false;
    const end = (outcome: unknown): void => {
      if (isOver) return;
      isOver = true;
      deadline.cancel();
      done(outcome);
    };
    const deadline = this.#deadlines.after(limits.listTaskMsMax, () => {
      leave();
      end('failed');
    });
    const leave = this.#submit(subject, { task, memory, finish: end });
  }

  #start(): Piscina {
    this.#stuckDeadline = this.#deadlines.after(limits.listTaskMsMax, () => this.#onStuck());
    const piscina = new Piscina({
      filename: THREAD_FILE,
      // With a minimum of one, a thread that died is replaced while tasks wait for it, too.
      minThreads: 1,
      maxThreads: 1,
      // Every task posted goes to the thread at once, so that it never waits for the event loop to send the next.
      concurrentTasksPerWorker: Number.MAX_SAFE_INTEGER,
    });
    piscina.on('error', (error) => {
      // An error at the end of a closed pool's thread is about a task that nobody waits for any more.
      if (!this.#isClosed) this.#logger.error({ err: error as unknown }, 'the idle search thread died');
    });
    return piscina;
  }

  /** @returns a function that takes the job back, unless the thread has it already. */
  #submit(subject: string, job: Job): () => void {
    if (this.#isClosed) {
      job.finish('failed');
    } else if (this.#inThreadCount < SEARCH_TASKS_IN_THREAD_MAX) {
      this.#post(job);
    } else {
      const place = this.#waiting.add(subject, job);
      if (typeof place !== 'string') return () => place.leave();
    }
    return () => {};
  }

  #post(job: Job): void {
    this.#piscina ??= this.#start();
    this.#inThreadCount += 1;
    if (this.#inThreadCount === 1) this.#stuckDeadline?.restart();
    const finish = (outcome: unknown): void => {
      this.#onTaskOver();
      job.finish(outcome);
    };
    void this.#piscina.run(job.task, { transferList: [...job.memory] }).then(finish, (error: unknown) => {
      if (!this.#isClosed) this.#logger.error({ err: error, task: job.task.name }, 'the search thread failed');
      finish('failed');
    });
  }

  #onTaskOver(): void {
    this.#inThreadCount -= 1;
    if (this.#inThreadCount > 0) this.#stuckDeadline?.restart();
    else this.#stuckDeadline?.cancel();
    const next = this.#waiting.take();
    if (next !== undefined) this.#post(next);
  }

  /** No task has ended for too long: the thread is terminated and replaced, as if it had died. */
  #onStuck(): void {
    for (const thread of this.#piscina?.threads ?? []) void thread.terminate();
  }
}
