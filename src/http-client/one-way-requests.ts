// Requests whose response does not matter: the POST of a notification or a response, the DELETE of a session. The response is read to its
// end only so that the connection can be reused.
import type { DeadlineWheel } from '../fair/index.js';
import { limits } from '../shared/index.js';
import type { UpstreamTarget } from '../user-config/index.js';
import { type HttpUpstream, type OutgoingMessage, type UpstreamHandler, plainRequest } from './http-upstream.js';
import { movedTarget, type UpstreamFault } from './upstream-fault.js';

export class OneWayRequests {
  readonly #http: HttpUpstream;
  readonly #fallbackHttp: HttpUpstream | undefined;
  readonly #deadlines: DeadlineWheel;
  #underWayCount = 0;
  #onSettled: (() => void) | undefined;

  /** @param fallbackHttp the client to try if `http` could not send a request. */
  constructor(http: HttpUpstream, deadlines: DeadlineWheel, fallbackHttp?: HttpUpstream) {
    this.#http = http;
    this.#fallbackHttp = fallbackHttp;
    this.#deadlines = deadlines;
  }

  /** Sends a request. @param onDone called once. @param onHeaders gets the response's session id and `set-cookie` lines; `''` for none. */
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
    const deadline = this.#deadlines.after(limits.oneWayRequestMsMax, () => {
      call.abort();
      finish(isAccepted);
    });
    const finish = (hasResponded: boolean): void => {
      deadline.cancel();
      onDone?.(hasResponded);
      this.#underWayCount -= 1;
      if (this.#underWayCount === 0) this.#onSettled?.();
    };
    const { body, leftOut, putIn } = message ?? {};
    const request = plainRequest(subject, target, method, headers, body, leftOut, putIn);
    const onEnd = (): void => finish(true);
    let hasFollowedRedirect = false;
    // A successful response that is a stream may never end, so it is aborted.
    const onHead = (
      status: number,
      contentType: string,
      sessionId: string,
      _bytes: number,
      statusHeader: string,
    ): void => {
      // `true`: the headers may contain credentials.
      const moved = hasFollowedRedirect ? undefined : movedTarget(status, statusHeader, target, true);
      if (moved !== undefined) {
        hasFollowedRedirect = true;
        call.abort();
        call = this.#http.dispatch({ ...request, target: moved }, handler);
        return;
      }
      onHeaders?.(sessionId, status < 300 ? statusHeader : '');
      isAccepted = status < 300;
      if (!isAccepted || contentType !== 'text/event-stream') return;
      call.abort();
      onEnd();
    };
    const handler: UpstreamHandler = {
      onHead,
      onData: noop,
      onEnd,
      onFault: (fault) => {
        const http = this.#clientForSecondTry(method, fault);
        if (http === undefined) finish(false);
        else call = http.dispatch(request, { ...handler, onFault: () => finish(false) });
      },
    };
    let call = this.#http.dispatch(request, handler);
  }

  /** Resolves when no request is in flight, or after `withinMs`. Used when the process ends. */
  whenSettled(withinMs: number): Promise<void> {
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

  /** The client for a second try, if one is safe: the request was not sent, or is a DELETE, which is idempotent (RFC 9110, 9.2.2). */
  #clientForSecondTry(method: 'POST' | 'DELETE', { kind, isUnsent }: UpstreamFault): HttpUpstream | undefined {
    if (isUnsent && this.#fallbackHttp !== undefined) return this.#fallbackHttp;
    return method === 'DELETE' && kind === 'connection-lost' ? this.#http : undefined;
  }
}

function noop(): void {}
