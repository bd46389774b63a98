// Messages to backends that nobody waits for: notifications, responses, the DELETE of a session. An answer is read to
// its end, so that the connection can be used again, and means nothing.
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { UpstreamTarget } from '../../shared/upstream-target.js';
import type { HttpUpstream, UpstreamCall } from './http-upstream.js';

export class Notices {
  readonly #http: HttpUpstream;
  readonly #deadlines: DeadlineWheel;
  #underWayCount = 0;
  #onSettled: (() => void) | undefined;

  constructor(http: HttpUpstream, deadlines: DeadlineWheel) {
    this.#http = http;
    this.#deadlines = deadlines;
  }

  /** @param onDone called when the backend has taken it, or cannot. */
  send(
    subject: string,
    target: UpstreamTarget,
    method: 'POST' | 'DELETE',
    headers: readonly string[],
    body: Buffer | undefined,
    onDone?: () => void,
  ): void {
    this.#underWayCount += 1;
    const deadline = this.#deadlines.after(limits.noticeMsMax, () => {
      call.abort();
      finish();
    });
    const finish = (): void => {
      deadline.cancel();
      onDone?.();
      this.#finish();
    };
    const handler = { onHead: ignore, onData: ignore, onEnd: finish, onFault: finish };
    const call: UpstreamCall = this.#http.dispatch({ subject, target, method, headers, body }, handler);
  }

  /** Resolves when no notice is under way; each has a deadline, so it does. For a process that stops. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#underWayCount === 0) resolve();
      else this.#onSettled = resolve;
    });
  }

  #finish(): void {
    this.#underWayCount -= 1;
    if (this.#underWayCount === 0) this.#onSettled?.();
  }
}

function ignore(): void {}
