// Resumes an answer whose event stream ended early: a GET asks for what follows the last event (C14), repeatedly if necessary, within the
// request's deadline. For the `RpcRequest`, a resumption takes the place of the call that broke. Cold path.
//
//   waiting ── delay ──> asking ── 200 ──> streaming ── end, fault: `tryBegin` ──> waiting
//   asking ── 5xx, 429, fault ──> waiting
//   asking, streaming, waiting ── 405 or any other refusal, abort ──> over
import type { EventStreamParser } from '../../bytes/index.js';
import type { Deadline, DeadlineWheel } from '../../fair/index.js';
import {
  plainRequest,
  type HttpUpstream,
  type UpstreamCall,
  type UpstreamHandler,
  upstreamFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import type { RequestPlan } from './request-plan.js';
import { Backoff, limits } from '../../shared/index.js';

/** The shortest delay: a shorter `retry` of a backend is raised to this, so that streams that keep ending cause no busy loop. */
export const BACKEND_RETRY_MS_MIN = 100;
export const BACKEND_RETRY_MS_MAX = 3_600_000;

/** When to request an ended stream again, and after which event (C13, C14): after the backend's `retry`, or else a growing delay. */
export class Reconnection {
  /** The id of the event after which to resume; `''` for none, and if the id cannot be sent in a header. Changed only here. */
  lastEventId = '';
  #retryMs: number | undefined;
  readonly #backoff = new Backoff(limits.retryDelayMsMin, limits.retryDelayMsMax);

  /** Called when the backend has sent something: the next failure counts as the first. */
  noteProgress(): void {
    this.#backoff.reset();
  }

  noteEnded({ lastEventId, retryMs }: EventStreamParser): void {
    if (lastEventId !== '') this.lastEventId = /^[\x20-\x7e]*$/.test(lastEventId) ? lastEventId : '';
    this.#retryMs = retryMs ?? this.#retryMs;
  }

  /** The backend's `retry`, if any; after a failed attempt, at least the growing delay. @param hasEnded false after a failed attempt. */
  nextDelayMs(hasEnded: boolean): number {
    const delayMs = this.#backoff.nextDelayMs();
    if (this.#retryMs === undefined) return delayMs;
    const retryMs = Math.min(Math.max(this.#retryMs, BACKEND_RETRY_MS_MIN), BACKEND_RETRY_MS_MAX);
    return hasEnded ? retryMs : Math.max(retryMs, delayMs);
  }
}

type State = 'waiting' | 'asking' | 'streaming' | 'over';

export class Resumption implements UpstreamCall, UpstreamHandler {
  readonly isSent: boolean;
  readonly #plan: RequestPlan;
  readonly #http: HttpUpstream;
  readonly #deadlines: DeadlineWheel;
  readonly #reader: UpstreamHandler;
  readonly #reconnection = new Reconnection();
  #state: State = 'waiting';
  #call: UpstreamCall | undefined;
  #delay: Deadline | undefined;
  #isPaused = false;
  /** Bytes of the current stream; `#longestBytes`: the most that an earlier stream brought that was resumed behind the same event id. */
  #streamBytes = 0;
  #longestBytes = 0;

  /** @param http for the GETs. @param reader called as if by one call that never broke. @param isSent of the call that broke. */
  constructor(
    plan: RequestPlan,
    http: HttpUpstream,
    deadlines: DeadlineWheel,
    reader: UpstreamHandler,
    isSent: boolean,
  ) {
    this.#plan = plan;
    this.#http = http;
    this.#deadlines = deadlines;
    this.#reader = reader;
    this.isSent = isSent;
  }

  /** Begins a resumption. @param parser of the stream that has ended. @returns false if it had no event from which to continue. */
  tryBegin(parser: EventStreamParser): boolean {
    const lastEventId = this.#reconnection.lastEventId;
    this.#reconnection.noteEnded(parser);
    if (this.#reconnection.lastEventId === '') return false;
    if (this.#reconnection.lastEventId !== lastEventId) {
      this.#reconnection.noteProgress();
      this.#longestBytes = 0;
    } else {
      this.#longestBytes = Math.max(this.#longestBytes, this.#streamBytes);
    }
    this.#streamBytes = 0;
    this.#wait(true);
    return true;
  }

  /** Whether the stream has brought more than earlier ones: one that always breaks at the same place makes no progress. */
  hasProgressed(lastEventId = ''): boolean {
    if (this.#streamBytes > this.#longestBytes) return true;
    return lastEventId !== '' && lastEventId !== this.#reconnection.lastEventId;
  }

  /** Called for a complete event, which is progress in any case. */
  noteEvent(): void {
    this.#longestBytes = 0;
  }

  abort(): void {
    this.#transition(this.#state, 'over');
    this.#delay?.cancel();
    this.#call?.abort();
  }

  pause(): void {
    this.#isPaused = true;
    this.#call?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#call?.resume();
  }

  onHead(status: number, contentType: string): void {
    if (this.#state !== 'asking') return;
    if (status < 300 && contentType === 'text/event-stream') {
      this.#transition('asking', 'streaming');
      this.#reader.onHead(status, contentType, '', -1, '');
    } else if (status >= 500 || status === 429) {
      this.#call?.abort();
      this.#wait(false);
    } else {
      this.abort();
      // A success status without a stream is invalid: it does not answer the request.
      const isInvalid = status < 300;
      const refused = { kind: 'stream-not-resumed', isUnsent: false, detail: String(status) } as const;
      this.#reader.onFault(isInvalid ? upstreamFault('answer-invalid') : refused);
    }
  }

  onData(chunk: Buffer): void {
    if (this.#state !== 'streaming') return;
    this.#streamBytes += chunk.length;
    this.#reader.onData(chunk);
  }

  onEnd(): void {
    if (this.#state === 'streaming') this.#reader.onEnd();
    else if (this.#state === 'asking') this.#wait(false);
  }

  onFault(fault: UpstreamFault): void {
    if (this.#state === 'streaming') this.#reader.onFault(fault);
    else if (this.#state === 'asking') this.#wait(false);
  }

  #wait(hasEnded: boolean): void {
    if (!this.#transition('streaming', 'waiting')) this.#transition('asking', 'waiting');
    this.#call = undefined;
    this.#delay = this.#deadlines.after(this.#reconnection.nextDelayMs(hasEnded), () => this.#ask());
  }

  #ask(): void {
    if (!this.#transition('waiting', 'asking')) return;
    const { subject, redirection, headers } = this.#plan;
    const target = redirection.movedTo ?? this.#plan.target;
    const resuming = resumingHeaders(headers, this.#reconnection.lastEventId);
    this.#call = this.#http.dispatch(plainRequest(subject, target, 'GET', resuming), this);
    if (this.#isPaused) this.#call.pause();
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** The headers of the GET: the request's own, without those that describe a body. A session id that has changed since is not replaced. */
function resumingHeaders(headers: readonly string[], lastEventId: string): string[] {
  const resuming = ['accept', 'text/event-stream', 'last-event-id', lastEventId];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!;
    if (name !== 'accept' && name !== 'content-type') resuming.push(name, headers[index + 1]!);
  }
  return resuming;
}
