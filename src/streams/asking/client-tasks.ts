// The tasks that the client of one session runs for backends, which asked for them. The client's task ids pass unchanged, so the
// owner of each is kept here: a backend may ask only about a task whose id the client gave to that backend.
import type { MessageBudget, UpstreamSession } from '../../upstream/index.js';

/** Kept ids of the tasks that a session's client runs for backends. Beyond that, the oldest is forgotten when another is added. */
export const CLIENT_TASKS_MAX = 256;
/** What each of these tasks adds to the subject's share of session bytes, beside its id. Without room for it, the task is not kept. */
export const CLIENT_TASK_BYTES_EACH = 192;

interface ClientTask {
  readonly upstream: UpstreamSession;
  /** Key of the progress token of the request that became the task: progress is reported under it until the task ends. */
  readonly tokenKey: string | undefined;
  readonly bytes: number;
}

export class ClientTasks {
  readonly #memory: MessageBudget;
  /** The kept tasks by the client's task ids, oldest first. */
  readonly #tasks = new Map<string, ClientTask>();

  constructor(memory: MessageBudget) {
    this.#memory = memory;
  }

  /** The client has given this task id to the backend. At the limit, the oldest is forgotten; without memory, the new one is not kept. */
  note(taskId: string, upstream: UpstreamSession, tokenKey: string | undefined): void {
    this.#forget(taskId);
    const bytes = CLIENT_TASK_BYTES_EACH + 2 * (taskId.length + (tokenKey?.length ?? 0));
    for (const oldestId of this.#tasks.keys()) {
      if (this.#tasks.size < CLIENT_TASKS_MAX) break;
      this.#forget(oldestId);
    }
    if (!this.#memory.hasRoomFor(bytes)) return;
    this.#memory.keep(bytes);
    this.#tasks.set(taskId, { upstream, tokenKey, bytes });
  }

  isOf(upstream: UpstreamSession, taskId: string): boolean {
    return this.#tasks.get(taskId)?.upstream === upstream;
  }

  /** The upstream session for which the client runs the task. */
  ownerOf(taskId: string): UpstreamSession | undefined {
    return this.#tasks.get(taskId)?.upstream;
  }

  /** The upstream session of the task with this progress token; `undefined` if two tasks share the token. */
  ownerOfToken(tokenKey: string): UpstreamSession | undefined {
    const [task, ...others] = [...this.#tasks.values()].filter((candidate) => candidate.tokenKey === tokenKey);
    return others.length === 0 ? task?.upstream : undefined;
  }

  #forget(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    this.#tasks.delete(taskId);
    this.#memory.drop(task.bytes);
  }
}
