// The tasks that the client of one session runs for backends: what one of them has asked for as a task. The client's ids pass
// as they are, so whose they are is kept: a backend may ask about those alone that the client has given to it. Cold.
import { limits } from '../../shared/limits.js';
import type { SessionShare } from '../../upstream/session/session-share.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';

interface ClientTask {
  readonly upstream: UpstreamSession;
  /** Of the request that has become the task: progress under it goes on until the task is over. */
  readonly tokenKey: string | undefined;
  readonly bytes: number;
}

export class ClientTasks {
  readonly #memory: SessionShare;
  /** By the client's ids, the oldest first. */
  readonly #tasks = new Map<string, ClientTask>();

  constructor(memory: SessionShare) {
    this.#memory = memory;
  }

  /** The client has given the id to the backend. Of too many the oldest is forgotten; without room for it, the new one. */
  note(taskId: string, upstream: UpstreamSession, tokenKey: string | undefined): void {
    this.#forget(taskId);
    const bytes = limits.clientTaskBytesEach + 2 * (taskId.length + (tokenKey?.length ?? 0));
    for (const oldestId of this.#tasks.keys()) {
      if (this.#tasks.size < limits.clientTasksMax) break;
      this.#forget(oldestId);
    }
    if (!this.#memory.hasRoomFor(bytes)) return;
    this.#memory.keep(bytes);
    this.#tasks.set(taskId, { upstream, tokenKey, bytes });
  }

  isOf(upstream: UpstreamSession, taskId: string): boolean {
    return this.#tasks.get(taskId)?.upstream === upstream;
  }

  /** For whom the client runs it. */
  ownerOf(taskId: string): UpstreamSession | undefined {
    return this.#tasks.get(taskId)?.upstream;
  }

  /** For whom it runs the one task with this token; a token that two of them share says nothing. */
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
