// The event stream that a backend offers to GET, for one upstream session: what it says without being asked. Opened again
// whenever it ends, after the backend's own `retry` or with a growing delay, where it left off (C13, C14); a backend that
// has none says so (C04). Cold: a few events a session.
//
//   asking ── 200 ──> streaming ── end, fault ──> waiting ── delay ──> asking
//   asking ── 5xx, 429, 409, fault ──> waiting
//   asking, streaming, waiting ── 405 or any other refusal, close ──> over
import { EventStreamParser } from '../../protocol/event-stream.js';
import { readBackendMessage, type BackendMessage } from '../../protocol/json-rpc.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { UpstreamCall, UpstreamHandler } from '../http/http-upstream.js';
import { Reconnection } from '../rpc/reconnection.js';
import type { SessionShare } from './session-share.js';

export interface BackendStreamPlan {
  readonly deadlines: DeadlineWheel;
  /** In which an event counts whose end has not come. */
  readonly memory: SessionShare;
  /** Sends the GET. @param lastEventId `''` for none. */
  ask(lastEventId: string, handler: UpstreamHandler): UpstreamCall;
  /** What became of a GET is known: the backend listens, refuses, or cannot be reached now. */
  onAnswered(isStream: boolean): void;
  /** A request or a notification; `bytes` is valid until the callback returns. */
  onMessage(bytes: Buffer, message: BackendMessage): void;
  /** There is no such stream, or none any more. */
  onRefused?(): void;
  /** The backend no longer knows the session (C11), or sessions at all. */
  onSessionLost(): void;
}

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

type State = 'asking' | 'streaming' | 'waiting' | 'over';

export class BackendStream implements UpstreamHandler {
  readonly #plan: BackendStreamPlan;
  #state: State = 'asking';
  /** `undefined` once it is over. */
  #call: UpstreamCall | undefined;
  /** For as long as it streams. */
  #parser: EventStreamParser | undefined;
  readonly #reconnection = new Reconnection();
  #delay: Deadline | undefined;
  #isOffered = false;
  /** Of an event that has begun, in the share. */
  #countedBytes = 0;

  constructor(plan: BackendStreamPlan) {
    this.#plan = plan;
    const call = plan.ask('', this);
    // It may have been refused at once.
    if (this.#state !== 'over') this.#call = call;
  }

  /** Closed, or refused for good. Within a message the stream may be closed. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** Whether the backend has ever answered with a stream. */
  get isOffered(): boolean {
    return this.#isOffered;
  }

  /** Nobody wants to hear it any more. */
  close(): void {
    if (!this.#transition(this.#state, 'over')) return;
    this.#delay?.cancel();
    this.#call?.abort();
    this.#call = undefined;
    this.#parser = undefined;
    this.#count(0);
  }

  onHead(status: number, contentType: string): void {
    if (this.#state !== 'asking') return;
    const isStream = status === 200 && contentType === 'text/event-stream';
    this.#plan.onAnswered(isStream);
    if (isStream) {
      this.#isOffered = true;
      if (this.#transition('asking', 'streaming'))
        this.#parser = new EventStreamParser((data) => this.#onEvent(data), limits.backendStreamEventBytesMax);
    } else if (status >= 500 || status === 429 || status === 409) {
      // 409: the session has such a stream already, of a process that served it before, as a rule.
      this.#call?.abort();
      this.#wait();
    } else {
      this.#refuse();
      // A backend that had such a stream, and has none now, has become another one.
      if (status === 404 || (this.#isOffered && (status === 400 || status === 405))) this.#plan.onSessionLost();
    }
  }

  onData(chunk: Buffer): void {
    const parser = this.#parser;
    if (this.#state !== 'streaming' || parser === undefined) return;
    const isSound = parser.push(chunk);
    if (this.isOver) return;
    if (isSound && this.#count(parser.keptBytes)) return;
    // What follows an event that is too large comes with the next stream; one for which there is no room now comes again.
    this.#call?.abort();
    this.#wait();
  }

  /** @returns false when there is no room for an event that has begun. */
  #count(bytes: number): boolean {
    const more = bytes - this.#countedBytes;
    const { memory } = this.#plan;
    if (more > 0 && !memory.hasRoomFor(more)) return false;
    if (more > 0) memory.keep(more);
    else if (more < 0) memory.drop(-more);
    this.#countedBytes = bytes;
    return true;
  }

  onEnd(): void {
    this.#wait();
  }

  onFault(): void {
    if (this.#state === 'asking') this.#plan.onAnswered(false);
    this.#wait();
  }

  #onEvent(data: Buffer): void {
    if (this.#state !== 'streaming') return;
    const message = readBackendMessage(data);
    // A stream that is opened and ended at once, time after time, is one that cannot be had.
    const isFrame = message?.kind === 'response' || message?.method === ACKNOWLEDGED;
    if (!isFrame) this.#reconnection.noteProgress();
    // Answers belong on the streams of their requests (S14); this stream may be one itself, and then is not to be had.
    if (message !== undefined && message.kind !== 'response') this.#plan.onMessage(data, message);
    else if (message?.isError === true && this.#plan.onRefused !== undefined) this.#refuse();
  }

  #refuse(): void {
    this.close();
    this.#plan.onRefused?.();
  }

  #wait(): void {
    const hasEnded = this.#transition('streaming', 'waiting');
    if (!hasEnded && !this.#transition('asking', 'waiting')) return;
    this.#count(0);
    if (this.#parser !== undefined) this.#reconnection.takeOver(this.#parser);
    this.#parser = undefined;
    this.#delay = this.#plan.deadlines.after(this.#reconnection.nextDelayMs(hasEnded), () => {
      if (!this.#transition('waiting', 'asking')) return;
      this.#call = this.#plan.ask(this.#reconnection.lastEventId, this);
    });
  }

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from || from === 'over') return false;
    this.#state = to;
    return true;
  }
}
