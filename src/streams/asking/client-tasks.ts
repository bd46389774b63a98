// The tasks that the client of one session runs for backends. Their ids pass unchanged, so each task's backend is remembered: no other
// backend may ask about the task.
import type { MessageBudget, UpstreamSession } from '../../upstream/index.js';

export const CLIENT_TASKS_MAX = 256;
/** Bytes that a task counts in the subject's share of session bytes, beside its id. Without room, it is not remembered. */
export const CLIENT_TASK_BYTES_EACH = 192;

interface ClientTask {
  readonly upstream: UpstreamSession;
  /** The key of the progress token of the task's request. The token is used until the task ends. */
  readonly progressKey: string | undefined;
  readonly bytes: number;
}

export class ClientTasks {
  readonly #memory: MessageBudget;
  readonly #tasks = new Map<string, ClientTask>();

  constructor(memory: MessageBudget) {
    this.#memory = memory;
  }

  add(taskId: string, upstream: UpstreamSession, progressKey: string | undefined): void {
    this.#forget(taskId);
    const bytes = CLIENT_TASK_BYTES_EACH + 2 * (taskId.length + (progressKey?.length ?? 0));
    for (const oldestId of this.#tasks.keys()) {
      if (this.#tasks.size < CLIENT_TASKS_MAX) break;
      this.#forget(oldestId);
    }
    if (!this.#memory.hasRoomFor(bytes)) return;
    this.#memory.keep(bytes);
    this.#tasks.set(taskId, { upstream, progressKey, bytes });
  }

  ownerOf(taskId: string): UpstreamSession | undefined {
    return this.#tasks.get(taskId)?.upstream;
  }

  /** The backend of the task with this progress token; `undefined` without such a task, or if several have the token. */
  ownerOfProgress(progressKey: string): UpstreamSession | undefined {
    const [task, ...others] = [...this.#tasks.values()].filter((candidate) => candidate.progressKey === progressKey);
    return others.length === 0 ? task?.upstream : undefined;
  }

  #forget(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    this.#tasks.delete(taskId);
    this.#memory.drop(task.bytes);
  }
}
