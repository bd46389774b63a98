// One request to a server of the transport of 2024-11-05: a POST that is answered with nothing, and the answer on the session's one
// stream. To who reads the answer it is a call like any other whose answer is an event stream of its own. Cold: few servers are so.
//
//   posting ── 2xx ──> taken
//   posting ── 3xx, 4xx, 5xx ──> refused ── end ──> over
//   posting, taken ── answer on the stream, loss of the stream ──> over
//   posting, taken, refused ── fault of the POST before 2xx, abort ──> over
import type { Deadline } from '../../shared/deadline-wheel.js';
import type { HttpUpstream, UpstreamCall, UpstreamHandler, UpstreamRequest } from '../http/http-upstream.js';
import { upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';

type State = 'posting' | 'taken' | 'refused' | 'over';

/** The stream, as far as a call knows it. */
export interface CallsStream {
  /** It waits for nothing any more. */
  forget(call: SseCall): void;
  /** Its reader wants no more for now, or again. */
  onPaused(call: SseCall, isPaused: boolean): void;
  /** The answer was there before the POST was over: that may end by itself, for a moment. */
  cutLater(cut: () => void): Deadline;
}

export class SseCall implements UpstreamCall, UpstreamHandler {
  /** What its answer is found by. */
  readonly key: string;
  readonly #stream: CallsStream;
  readonly #reader: UpstreamHandler;
  #state: State = 'posting';
  #post: UpstreamCall | undefined;
  #isPosted = false;
  #cut: Deadline | undefined;
  #isBegun = false;

  constructor(key: string, stream: CallsStream, reader: UpstreamHandler) {
    this.key = key;
    this.#stream = stream;
    this.#reader = reader;
  }

  /** Sends the request; nothing is called back from within. */
  post(http: HttpUpstream, request: UpstreamRequest): void {
    this.#post = http.dispatch(request, this);
  }

  /** Fails it unsent; not from within. */
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

  onHead(status: number, contentType: string, _sessionId: string, bodyBytes: number, location: string): void {
    if (this.#state !== 'posting') return;
    if (status < 300) {
      this.#transition('posting', 'taken');
      return;
    }
    this.#transition('posting', 'refused');
    this.#stream.forget(this);
    this.#reader.onHead(status, contentType, '', bodyBytes, location);
  }

  onData(chunk: Buffer): void {
    // What a server says beside taking a message is of no interest.
    if (this.#state === 'refused') this.#reader.onData(chunk);
  }

  onEnd(): void {
    this.#isPosted = true;
    this.#cut?.cancel();
    if (this.#transition('refused', 'over')) this.#reader.onEnd();
  }

  onFault(fault: UpstreamFault): void {
    this.#cut?.cancel();
    // Once it was taken its answer comes, whatever becomes of that connection.
    if (this.#state !== 'taken') this.fail(fault);
  }

  fail(fault: UpstreamFault): void {
    if (this.#end()) this.#reader.onFault(fault);
  }

  /** The stream is over. A POST that is under way need not be read to its end. */
  lose(fault: UpstreamFault): void {
    if (this.#state === 'over') return;
    this.#post?.abort();
    this.fail(fault);
  }

  /** Something that belongs to it. @param data may be kept. */
  tell(data: Buffer): void {
    if (!this.#isBegun) {
      this.#isBegun = true;
      this.#reader.onHead(200, 'text/event-stream', '', -1, '');
    }
    if (this.#state === 'posting' || this.#state === 'taken') this.#reader.onEvent?.(data);
  }

  /** The answer. */
  answer(data: Buffer): void {
    this.tell(data);
    if (!this.#end()) return;
    if (!this.#isPosted) this.#cut = this.#stream.cutLater(() => this.#post?.abort());
    this.#reader.onEnd();
  }

  #end(): boolean {
    if (this.#state === 'over' || !this.#transition(this.#state, 'over')) return false;
    this.#stream.forget(this);
    return true;
  }

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** Why a request cannot go out on a stream that is over. */
export const STREAM_LOST: UpstreamFault = upstreamFault('stream-lost');
