// How the answer to a request is read: no faster than its handler wants it and there is room for it, and no longer than its deadline
// says. What is made of what was read is `rpc-request.ts`. A base class, because a call is one object. Hot.
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import type { MessageHold, RoomWaiter } from '../../shared/message-memory.js';
import type { ShareBound } from '../../shared/share.js';
import type { HttpUpstream, UpstreamCall, UpstreamHandler } from '../http/http-upstream.js';
import type { RequestHandler, RequestPlan } from './request-plan.js';
import { upstreamFault, type UpstreamFault } from '../http/upstream-fault.js';

interface Ration {
  bytesLeft: number;
  /** What reading has taken so far. */
  spentMs: number;
}

export abstract class PacedReading implements UpstreamHandler, RoomWaiter {
  protected readonly plan: RequestPlan;
  protected readonly handler: RequestHandler;
  protected readonly answerBytesMax: number;
  protected readonly deadlines: DeadlineWheel;
  protected readonly deadline: Deadline;
  protected abstract call: UpstreamCall;
  /** Of a large answer or event, until the handler has it. */
  protected room: MessageHold | undefined;
  /** The handler wants no more for now. */
  #isHeld = false;
  #isExcused = false;
  /** What may be read before the handler is asked for more; all there is without one. */
  #ration: Ration | undefined;

  constructor(deadlines: DeadlineWheel, plan: RequestPlan, handler: RequestHandler) {
    this.deadlines = deadlines;
    this.plan = plan;
    this.handler = handler;
    this.answerBytesMax = plan.answerBytesMax ?? limits.upstreamMessageBytesMax;
    this.deadline = deadlines.after(plan.deadlineMs, () => this.onDeadline());
  }

  protected dispatch(http: HttpUpstream): UpstreamCall {
    const { subject, target, headers, body, leftOut, putIn, requestId, trace, head } = this.plan;
    return http.dispatch(
      { subject, target, method: 'POST', headers, body, leftOut, putIn, requestId, trace, head },
      this,
    );
  }

  abstract onHead(status: number, contentType: string, sessionId: string, bodyBytes: number, location: string): void;
  abstract onEnd(): void;
  abstract onFault(fault: UpstreamFault): void;

  /** Nothing more is told to the handler. */
  protected abstract get isOver(): boolean;
  /** The handler has the answer: the stream may end in its own time. */
  protected abstract get isAnswered(): boolean;
  /** All of a large answer has come, and is read. */
  protected abstract get isAllHere(): boolean;
  /** The same, or a large event is read: nothing comes meanwhile. */
  protected abstract get isReadingLarge(): boolean;
  protected abstract take(chunk: Buffer): void;
  protected abstract onPaused(isPaused: boolean): void;
  protected abstract onDeadline(): void;
  /** Reads on, as far as anything else lets it. */
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

  /** Stops reading the answer until `resume`; the silence is ours, so a deadline that counts silence rests too. */
  pause(): void {
    if (this.isOver || this.isAllHere) return;
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

  /** Reads so much from now on, and then pauses and tells the handler (`onRationRead`); `undefined`: all there is, as at first. */
  ration(bytes: number | undefined): void {
    this.#ration = bytes === undefined ? undefined : { bytesLeft: bytes, spentMs: 0 };
  }

  /** Whether it is the caller's turn to say something: then the backend's silence does not count. */
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
    // Behind the answer nobody would ask for more: the stream has a moment to end by itself.
    if (ration.bytesLeft > 0 || this.isAnswered || this.isOver) return;
    this.pause();
    this.handler.onRationRead?.(ration.spentMs);
  }

  /** The silence from now on is ours, so a deadline that counts silence rests too. */
  protected rest(): void {
    if (this.plan.isSilenceDeadline && !this.isAnswered) this.deadline.cancel();
    this.call.pause();
  }

  protected touch(): void {
    if (this.plan.isSilenceDeadline && !this.#isExcused && !this.#isHeld) this.deadline.restart();
  }

  /** Of a message that is here already, so that there is nothing to wait for. */
  protected countWhole(bytes: number): void {
    const { memory, subject } = this.plan;
    if (memory === undefined || bytes < limits.countedFromBytes) return;
    this.room ??= memory.hold(subject, this);
    this.room.take(bytes);
  }

  /** Reads no more until there is room for so much; of a length that is not known, for more than there is. */
  protected makeRoom(bytes: number): void {
    const { memory, subject } = this.plan;
    if (memory === undefined || bytes <= (this.room?.heldBytes ?? 0)) return;
    this.room ??= memory.hold(subject, this);
    const outcome = this.room.grow(bytes, Math.min(2 * this.room.heldBytes, this.answerBytesMax));
    if (outcome === 'wait') this.rest();
    else if (outcome !== 'room') this.onNoRoom(outcome);
  }

  /** For `MessageHold`, as the next one. */
  onRoom(): void {
    this.goOn();
  }

  onNoRoom(bound: ShareBound): void {
    this.fail(upstreamFault(bound === 'subjectMax' ? 'answers-share-used' : 'answers-full'));
  }
}
