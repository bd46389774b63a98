// One request to a server of the 2024-11-05 transport: a POST whose response has no content, while the answer comes on the session's one
// stream. To its reader it looks like any call that is answered with an event stream of its own. Cold path: few servers use this transport.
// A redirect within the origin (307, 308) is followed once, which leaves the state as it is.
//
//   posting ── 2xx ──> taken
//   posting ── 4xx, 5xx ──> refused ── end ──> over
//   posting, taken ── answer on the stream, loss of the stream ──> over
//   posting, taken, refused ── fault of the POST before 2xx, 3xx, abort ──> over
import type { Deadline } from '../../fair/index.js';
import {
  type HttpUpstream,
  type UpstreamCall,
  type UpstreamHandler,
  type UpstreamRequest,
  redirectFault,
  upstreamFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';

type State = 'posting' | 'taken' | 'refused' | 'over';

/** The part of the stream that a call uses. */
export interface CallsStream {
  /** The call no longer waits for an answer. */
  forget(call: SseCall): void;
  /** The call's reader wants no more data for now, or wants it again. */
  onPaused(call: SseCall, isPaused: boolean): void;
  /** The request was redirected. @returns where it is sent instead, if it may follow. */
  moved(status: number, location: string, from: UpstreamTarget): UpstreamTarget | undefined;
  /** The answer came before the POST ended: the POST gets a moment to end by itself, and is then cut. */
  cutLater(cut: () => void): Deadline;
}

export class SseCall implements UpstreamCall, UpstreamHandler {
  /** The key of the request's id, by which its answer is found. */
  readonly key: string;
  readonly #stream: CallsStream;
  readonly #reader: UpstreamHandler;
  #state: State = 'posting';
  #post: UpstreamCall | undefined;
  #onRedirect: ((status: number, location: string) => void) | undefined;
  #isPosted = false;
  #cut: Deadline | undefined;
  #isBegun = false;

  constructor(key: string, stream: CallsStream, reader: UpstreamHandler) {
    this.key = key;
    this.#stream = stream;
    this.#reader = reader;
  }

  /** Sends the request; no callback is called synchronously. */
  post(http: HttpUpstream, request: UpstreamRequest, mayFollow = true): void {
    this.#onRedirect = (status, location) => {
      const target = mayFollow ? this.#stream.moved(status, location, request.target) : undefined;
      if (target === undefined) return this.lose(redirectFault(status, location, request.target));
      this.#post?.abort();
      this.post(http, { ...request, target }, false);
    };
    this.#post = http.dispatch(request, this);
  }

  /** Fails the unsent call, asynchronously. */
  failLater(fault: UpstreamFault): void {
    process.nextTick(() => this.fail(fault));
  }

  get isSent(): boolean {
    return this.#isPosted && this.#post?.isSent === true;
  }

  abort(): void {
    if (!this.#end()) return;
    this.#post?.abort();
  }

  pause(): void {
    if (this.#state !== 'over') this.#stream.onPaused(this, true);
  }

  resume(): void {
    if (this.#state !== 'over') this.#stream.onPaused(this, false);
  }

  onHead(status: number, contentType: string, _sessionId: string, bodyBytes: number, hint: string): void {
    if (this.#state !== 'posting') return;
    if (status < 300) {
      this.#transition('posting', 'taken');
      return;
    }
    if (status < 400) return this.#onRedirect?.(status, hint);
    this.#transition('posting', 'refused');
    this.#stream.forget(this);
    this.#reader.onHead(status, contentType, '', bodyBytes, hint);
  }

  onData(chunk: Buffer): void {
    // The body of a response that accepts a message is ignored.
    if (this.#state === 'refused') this.#reader.onData(chunk);
  }

  onEnd(): void {
    this.#isPosted = true;
    this.#cut?.cancel();
    if (this.#transition('refused', 'over')) this.#reader.onEnd();
  }

  onFault(fault: UpstreamFault): void {
    this.#cut?.cancel();
    // Once the POST was accepted the answer comes on the stream, whatever happens to the POST's connection.
    if (this.#state !== 'taken') this.fail(fault);
  }

  fail(fault: UpstreamFault): void {
    if (this.#end()) this.#reader.onFault(fault);
  }

  /** The stream has ended. A POST in progress need not be read to its end. */
  lose(fault: UpstreamFault): void {
    this.#post?.abort();
    this.fail(fault);
  }

  /** Delivers a message that belongs to this call. @param data may be kept. */
  tell(data: Buffer): void {
    if (!this.#isBegun) {
      this.#isBegun = true;
      this.#reader.onHead(200, 'text/event-stream', '', -1, '');
    }
    if (this.#state === 'posting' || this.#state === 'taken') this.#reader.onEvent?.(data);
  }

  /** Delivers the answer, which ends the call. */
  answer(data: Buffer): void {
    this.tell(data);
    if (!this.#end()) return;
    if (!this.#isPosted) this.#cut = this.#stream.cutLater(() => this.#post?.abort());
    this.#reader.onEnd();
  }

  #end(): boolean {
    if (this.#state === 'over') return false;
    this.#transition(this.#state, 'over');
    this.#stream.forget(this);
    return true;
  }

  /** The only writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** The fault of a request on a stream that has ended. */
export const STREAM_LOST: UpstreamFault = upstreamFault('stream-lost');
