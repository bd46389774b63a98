// Resumes an answer whose event stream ended early: a GET on the connections for streams asks for what follows the last received event
// (C14), as often as necessary within the request's deadline. To the request it is the call that brings the answer, in place of the one
// that broke. Cold path.
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

/** Shortest `retry` of a backend that is honored, so that streams that keep ending cause no busy loop. A shorter one is raised to this. */
export const BACKEND_RETRY_MS_MIN = 100;
/** Longest `retry` of a backend that is honored. A longer one is reduced to this. */
export const BACKEND_RETRY_MS_MAX = 3_600_000;

/**
 * When, and from which event, a backend's stream is requested again after it has ended (C13, C14): after the backend's own `retry`, or else
 * with a growing delay, and from the last complete event.
 */
export class Reconnection {
  #lastEventId = '';
  #retryMs: number | undefined;
  /** Grows from one attempt to the next, until something is received. */
  readonly #backoff = new Backoff(limits.retryDelayMsMin, limits.retryDelayMsMax);

  /** The event after which to resume; `''` when there is none. */
  get lastEventId(): string {
    return this.#lastEventId;
  }

  /** The backend has sent something: the next failure counts as the first again. */
  noteProgress(): void {
    this.#backoff.reset();
  }

  /** Notes the event id and the `retry` of a stream that has ended. */
  noteEnded({ lastEventId, retryMs }: EventStreamParser): void {
    if (lastEventId !== '') this.#lastEventId = isHeaderText(lastEventId) ? lastEventId : '';
    this.#retryMs = retryMs ?? this.#retryMs;
  }

  /**
   * The delay before the next attempt, in ms: the backend's `retry`, if it has sent one; after a failed attempt at least the growing delay.
   * @param hasEnded false after a failed attempt.
   */
  nextDelayMs(hasEnded: boolean): number {
    const delayMs = this.#backoff.next();
    if (this.#retryMs === undefined) return delayMs;
    const retryMs = Math.min(Math.max(this.#retryMs, BACKEND_RETRY_MS_MIN), BACKEND_RETRY_MS_MAX);
    return hasEnded ? retryMs : Math.max(retryMs, delayMs);
  }
}

/** Whether the id can be sent in a header unchanged. `TOO_LONG_ID` cannot, so such a stream is not resumed. */
function isHeaderText(id: string): boolean {
  return /^[\x20-\x7e]*$/.test(id);
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
  /** The bytes of the current stream, and of the longest earlier one that began after the same event. */
  #streamBytes = 0;
  #longestBytes = 0;

  /**
   * @param http whose connections the GETs use.
   * @param reader gets the head of each resumed stream, its bytes and its end, as from any call.
   * @param isSent that of the call whose stream broke.
   */
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

  /**
   * Continues after a stream that has ended.
   * @param parser of that stream.
   * @returns false when the stream had no event from which to continue.
   */
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

  /**
   * Whether the current stream has brought more than earlier ones: a stream that always breaks at the same place is no progress.
   * @param lastEventId of the current stream so far.
   */
  hasProgressed(lastEventId = ''): boolean {
    if (this.#streamBytes > this.#longestBytes) return true;
    return lastEventId !== '' && lastEventId !== this.#reconnection.lastEventId;
  }

  /** The current stream has brought a complete event, which is progress in any case. */
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
      this.#reader.onFault(refusedFault(status));
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
    const target = redirection.moved ?? this.#plan.target;
    const resuming = resumingHeaders(headers, this.#reconnection.lastEventId);
    this.#call = this.#http.dispatch(plainRequest(subject, target, 'GET', resuming), this);
    if (this.#isPaused) this.#call.pause();
  }

  /** The only writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** The request's headers, with its session id even if the backend has issued another since, but without those that describe a body. */
function resumingHeaders(headers: readonly string[], lastEventId: string): string[] {
  const resuming = ['accept', 'text/event-stream', 'last-event-id', lastEventId];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!;
    if (name !== 'accept' && name !== 'content-type') resuming.push(name, headers[index + 1]!);
  }
  return resuming;
}

/** A success status without a stream does not answer the request. */
function refusedFault(status: number): UpstreamFault {
  return status < 300
    ? upstreamFault('answer-invalid')
    : { kind: 'stream-not-resumed', isUnsent: false, detail: String(status) };
}
