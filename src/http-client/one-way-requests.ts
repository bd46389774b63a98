// Fire-and-forget requests to backends: the POST of a notification or of a response, the DELETE of a session. The response is read to its
// end, so that the connection can be reused, and is otherwise ignored.
import type { DeadlineWheel } from '../fair/index.js';
import { limits } from '../shared/index.js';
import type { UpstreamTarget } from '../user-config/index.js';
import type { HttpUpstream, OutgoingMessage, UpstreamHandler } from './http-upstream.js';
import { movedTarget, type UpstreamFault } from './upstream-fault.js';

export class OneWayRequests {
  readonly #http: HttpUpstream;
  readonly #otherHttp: HttpUpstream | undefined;
  readonly #deadlines: DeadlineWheel;
  #underWayCount = 0;
  #onSettled: (() => void) | undefined;

  /** @param otherHttp used for requests that `http` failed to send. */
  constructor(http: HttpUpstream, deadlines: DeadlineWheel, otherHttp?: HttpUpstream) {
    this.#http = http;
    this.#otherHttp = otherHttp;
    this.#deadlines = deadlines;
  }

  /**
   * @param onDone called once, with true when the backend has responded, whatever its response.
   * @param onHeaders called with the session id in the response and its `set-cookie` lines; `''` for none.
   */
  send(
    subject: string,
    target: UpstreamTarget,
    method: 'POST' | 'DELETE',
    headers: readonly string[],
    message: OutgoingMessage | undefined,
    onDone?: (hasResponded: boolean) => void,
    onHeaders?: (sessionId: string, cookies: string) => void,
  ): void {
    this.#underWayCount += 1;
    let isAccepted = false;
    const deadline = this.#deadlines.after(limits.noticeMsMax, () => {
      call.abort();
      finish(isAccepted);
    });
    const finish = (hasResponded: boolean): void => {
      deadline.cancel();
      onDone?.(hasResponded);
      this.#finish();
    };
    const body = message?.body;
    const leftOut = message?.leftOut;
    const putIn = message?.putIn;
    const none = undefined;
    const request = {
      subject,
      target,
      method,
      headers,
      body,
      leftOut,
      putIn,
      requestId: none,
      trace: none,
      head: none,
    };
    const onEnd = (): void => finish(true);
    let isFollowed = false;
    // The body of a success response is not needed. As a stream it may stay open for ever, so the call is then aborted.
    const onHead = (status: number, contentType: string, sessionId: string, _bytes: number, hint: string): void => {
      // Only to the same path with or without a trailing slash: the headers may hold credentials.
      const moved = isFollowed ? undefined : movedTarget(status, hint, target, true);
      if (moved !== undefined) {
        isFollowed = true;
        call.abort();
        call = this.#http.dispatch({ ...request, target: moved }, handler);
        return;
      }
      onHeaders?.(sessionId, status < 300 ? hint : '');
      isAccepted = status < 300;
      if (!isAccepted || contentType !== 'text/event-stream') return;
      call.abort();
      onEnd();
    };
    const handler: UpstreamHandler = {
      onHead,
      onData: ignore,
      onEnd,
      onFault: (fault) => {
        const http = this.#forSecondTry(method, fault);
        if (http === undefined) finish(false);
        else call = http.dispatch(request, { onHead, onData: ignore, onEnd, onFault: () => finish(false) });
      },
    };
    let call = this.#http.dispatch(request, handler);
  }

  /** Resolves when no request is in flight, or after `withinMs`. For a process that is shutting down. */
  settled(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#underWayCount === 0) {
        resolve();
        return;
      }
      const deadline = this.#deadlines.after(withinMs, resolve);
      this.#onSettled = () => {
        deadline.cancel();
        resolve();
      };
    });
  }

  /** Where to send a failed request again, if it may be: one that was not sent, or a DELETE, which is idempotent (RFC 9110, 9.2.2). */
  #forSecondTry(method: 'POST' | 'DELETE', { kind, isUnsent }: UpstreamFault): HttpUpstream | undefined {
    if (isUnsent && this.#otherHttp !== undefined) return this.#otherHttp;
    return method === 'DELETE' && kind === 'connection-lost' ? this.#http : undefined;
  }

  #finish(): void {
    this.#underWayCount -= 1;
    if (this.#underWayCount === 0) this.#onSettled?.();
  }
}

function ignore(): void {}
