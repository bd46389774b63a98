// The pace of reading the answer to a request: no faster than its handler wants and memory allows, and no longer than its deadline permits.
// What is read is interpreted in `rpc-request.ts`. A base class, so that a call is one object. Hot path.
import type { Deadline, DeadlineWheel, MessageHold, RoomWaiter, ShareBound } from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import {
  type HttpUpstream,
  type UpstreamCall,
  type UpstreamHandler,
  movedTarget,
  upstreamFault,
  type UpstreamFault,
} from '../../http-client/index.js';
import type { RequestHandler, RequestPlan } from './request-plan.js';

interface Ration {
  bytesLeft: number;
  /** The time spent reading so far. */
  spentMs: number;
}

export abstract class PacedReading implements UpstreamHandler, RoomWaiter {
  protected readonly plan: RequestPlan;
  protected readonly handler: RequestHandler;
  protected readonly answerBytesMax: number;
  protected readonly deadlines: DeadlineWheel;
  protected readonly deadline: Deadline;
  protected abstract call: UpstreamCall;
  /** The memory held for a large answer or event, until the handler has it. */
  protected room: MessageHold | undefined;
  /** The handler wants no more for now. */
  #isHeld = false;
  #isExcused = false;
  /** What may be read before the handler is asked for more; `undefined` for no limit. */
  #ration: Ration | undefined;
  /** For a redirect, which is followed once. */
  #http: HttpUpstream | undefined;

  constructor(deadlines: DeadlineWheel, plan: RequestPlan, handler: RequestHandler) {
    this.deadlines = deadlines;
    this.plan = plan;
    this.handler = handler;
    this.answerBytesMax = plan.answerBytesMax ?? limits.upstreamMessageBytesMax;
    this.deadline = deadlines.after(plan.deadlineMs, () => this.onDeadline());
  }

  protected dispatch(http: HttpUpstream): UpstreamCall {
    this.#http = http;
    return this.#send(http);
  }

  /** A redirected request was not carried out: it is sent once more, and later ones go to the new place at once. */
  protected tryFollow(status: number, location: string): boolean {
    const { endpoint, target, isUnauthorizedFault = false } = this.plan;
    const moved = movedTarget(status, location, endpoint.moved ?? target, isUnauthorizedFault);
    const http = this.#http;
    // What leads nowhere is forgotten.
    endpoint.moved = http && moved;
    if (moved === undefined || http === undefined) return false;
    this.#http = undefined;
    endpoint.onForgiven('redirect');
    this.call.abort();
    this.call = this.#send(http);
    return true;
  }

  #send(http: HttpUpstream): UpstreamCall {
    const { subject, endpoint, headers, body, leftOut, putIn, requestId, trace, head } = this.plan;
    const target = endpoint.moved ?? this.plan.target;
    return http.dispatch(
      { subject, target, method: 'POST', headers, body, leftOut, putIn, requestId, trace, head },
      this,
    );
  }

  abstract onHead(status: number, contentType: string, sessionId: string, bodyBytes: number, hint: string): void;
  abstract onEnd(): void;
  abstract onFault(fault: UpstreamFault): void;

  /** Whether no more callbacks follow. */
  protected abstract get isOver(): boolean;
  /** Whether the handler has the answer: the stream may then end in its own time. */
  protected abstract get isAnswered(): boolean;
  /** Whether a large answer or event is being read: nothing more is read from the stream meanwhile. */
  protected abstract get isReadingLarge(): boolean;
  protected abstract take(chunk: Buffer): void;
  protected abstract onPaused(isPaused: boolean): void;
  protected abstract onDeadline(): void;
  /** Reads on, unless something else prevents it. */
  protected abstract goOn(): void;
  protected abstract fail(fault: UpstreamFault): void;

  /** Whether nothing reads the request's memory any more, as far as is known. */
  get isSent(): boolean {
    return this.call.isSent;
  }

  /** Whether the handler wants no more for now. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Stops reading the answer until `resume`; the silence is then the gateway's own, so a deadline on silence stops too. */
  pause(): void {
    if (this.isOver) return;
    this.#isHeld = true;
    this.onPaused(true);
    this.rest();
  }

  resume(): void {
    if (this.isOver || !this.#isHeld) return;
    this.#isHeld = false;
    this.onPaused(false);
    this.goOn();
  }

  /** Reads this many bytes from now on, then pauses and calls `onRationRead`; `undefined`, the default, sets no limit. */
  ration(bytes: number | undefined): void {
    this.#ration = bytes === undefined ? undefined : { bytesLeft: bytes, spentMs: 0 };
  }

  /** Whether it is the caller's turn to send something: the backend's silence does not count then. */
  excuseSilence(isExcused: boolean): void {
    this.#isExcused = isExcused;
    if (this.isOver || this.isAnswered || this.#isHeld || this.isReadingLarge) return;
    if (!isExcused) this.touch();
    else if (this.plan.isSilenceDeadline) this.deadline.cancel();
  }

  onData(chunk: Buffer): void {
    if (this.#ration === undefined) this.take(chunk);
    else this.#takeOf(this.#ration, chunk);
  }

  #takeOf(ration: Ration, chunk: Buffer): void {
    const startMs = performance.now();
    this.take(chunk);
    ration.spentMs += performance.now() - startMs;
    ration.bytesLeft -= chunk.length;
    // After the answer nobody would ask for more: the stream has a moment to end by itself.
    if (ration.bytesLeft > 0 || this.isAnswered || this.isOver) return;
    this.pause();
    this.handler.onRationRead?.(ration.spentMs);
  }

  /** The silence from now on is the gateway's own, so a deadline on silence stops too. */
  protected rest(): void {
    if (this.plan.isSilenceDeadline && !this.isAnswered) this.deadline.cancel();
    this.call.pause();
  }

  protected touch(): void {
    if (this.plan.isSilenceDeadline && !this.#isExcused && !this.#isHeld) this.deadline.restart();
  }

  /** Counts a message that has already arrived completely, so there is nothing to wait for. */
  protected countWhole(bytes: number): void {
    const { memory, subject } = this.plan;
    if (memory === undefined || bytes < limits.countedFromBytes) return;
    this.room ??= memory.hold(subject, this);
    this.room.take(bytes);
  }

  /** Stops reading until there is memory for this many bytes; where the length is unknown, for more than has arrived. */
  protected makeRoom(bytes: number): void {
    const { memory, subject } = this.plan;
    if (memory === undefined) return;
    this.room ??= memory.hold(subject, this);
    const outcome = this.room.grow(bytes, Math.min(2 * this.room.heldBytes, this.answerBytesMax));
    if (outcome === 'wait') this.rest();
    else if (outcome !== 'room') this.onNoRoom(outcome);
  }

  /** Called by `MessageHold`, like `onNoRoom`. */
  onRoom(): void {
    this.goOn();
  }

  onNoRoom(bound: ShareBound): void {
    this.fail(upstreamFault(bound === 'subjectMax' ? 'answers-share-used' : 'answers-full'));
  }
}
