// The incoming request of an exchange: the head's fields are set from the start, the rest once the caller is let in and the body has
// ended. The body is kept while it may be needed, and dropped from the moment when it will not be.
// Hot path: one object per request, and most bodies are one chunk.
//
//   reading ── it may not go on ──> pausing ── the turn's reads are done ──> paused
//   pausing, paused ── let in, room ──> reading
//   pausing ── its end was among those reads ──> reading
//   reading, pausing, paused ── drop: answered before its end ──> unwanted
//   reading, pausing, paused, unwanted ── the caller is gone ──> gone
//
// Whether and how the body ended is tracked separately, in `#outcome`: `unwanted` and `gone` take no more bytes.
import { BodyCollector } from '../bytes/index.js';
import type { AcceptedTypes } from '../exchange/index.js';
import {
  bodyMemory,
  largeMemory,
  LARGE_MEMORY_FROM_BYTES,
  type MessageHold,
  type RoomWaiter,
  type ShareBound,
} from '../fair/index.js';
import { limits, refusals } from '../shared/index.js';
import type { EdgeContext } from './edge-context.js';
import type { HttpResponse } from './http-library.js';
import { NO_BODY, type RequestHead } from './request-head.js';

/** How the body ended: complete, over the size limit and discarded (413), or discarded for lack of room within the named bound. */
export type BodyOutcome = 'complete' | 'too-large' | ShareBound;

/** The refusals of bodies that are not complete. */
export const refusedBodies = {
  'too-large': refusals.bodyTooLarge,
  subjectMax: refusals.subjectBytesFull,
  totalMax: refusals.bytesFull,
} as const;

type State = 'reading' | 'pausing' | 'paused' | 'unwanted' | 'gone';

export class IncomingRequest implements RoomWaiter {
  readonly #context: EdgeContext;
  readonly #res: HttpResponse;
  readonly #request: RequestHead['request'];
  /** The content length; 0 or `NaN` when the head has none that is valid. */
  readonly #lengthBytes: number;
  /** A body that comes in one chunk, until it is handed over. */
  #whole: Buffer = NO_BODY;
  /** Made for any other body. */
  #received: BodyCollector | undefined;
  #state: State = 'reading';
  #outcome: BodyOutcome | undefined;
  #onReceived: ((outcome: BodyOutcome) => void) | undefined;
  #isHeld = false;
  #isAdmitted = false;
  #subject = '';
  /** The room of a large body, once the caller is let in. */
  #room: MessageHold | undefined;

  constructor(context: EdgeContext, res: HttpResponse, { request, contentLength }: RequestHead) {
    this.#context = context;
    this.#res = res;
    this.#request = request;
    request.requestId = context.requestIds.of(request.requestId);
    if (!context.isTraced) request.traceparent = request.tracestate = '';
    this.#lengthBytes = Number(contentLength);
    if (this.#lengthBytes > context.bodyBytesMax) this.#outcome = 'too-large';
    else res.onData((chunk, isLast) => this.#onData(chunk, isLast));
  }

  /** `''` until the caller is let in. */
  get subject(): string {
    return this.#subject;
  }

  /** How many body bytes have arrived and are kept. */
  get receivedBytes(): number {
    return this.#received?.length ?? this.#whole.length;
  }

  /** Until `admit`, while the caller is not yet let in: reads no more than came with the head. */
  hold(): void {
    this.#isHeld = true;
  }

  /**
   * The caller is let in, and not answered yet: its body is read as room allows.
   * @param subject whose share a large body counts in, and a large answer that is not read.
   * @param passthroughHeaders name, value, … in the form that goes on the wire.
   */
  admit(subject: string, acceptedTypes: AcceptedTypes, passthroughHeaders: readonly string[]): void {
    this.#subject = subject;
    this.#isAdmitted = true;
    this.#request.acceptedTypes = acceptedTypes;
    this.#request.passthroughHeaders = passthroughHeaders;
    if (this.#outcome === 'complete') this.#countWhole();
    // A body whose declared length is too large is refused in any case, so it needs no room.
    else if (
      this.#outcome === undefined &&
      this.#makeRoom(Math.max(this.#lengthBytes || 0, this.#received?.length ?? 0))
    )
      this.#readOn();
  }

  /** Calls back when the request is complete or its body was discarded, at once if it already is; never after an abort or an answer. */
  receive(onReceived: (outcome: BodyOutcome) => void): void {
    this.#onReceived = onReceived;
    this.#handOver();
  }

  /** Same as `Exchange.releaseBody`. */
  releaseBody(): void {
    const { body } = this.#request;
    this.#request.body = NO_BODY;
    if (body.length >= LARGE_MEMORY_FROM_BYTES) largeMemory.giveBack(body);
  }

  /** The exchange is over. */
  releaseRoom(): void {
    this.#room?.release();
  }

  /** `RoomWaiter`: room came free. */
  onRoom(): void {
    this.#readOn();
  }

  /** `RoomWaiter`: no room came free in time. */
  onNoRoom(bound: ShareBound): void {
    if (this.#outcome !== undefined || !this.#isWanted) return;
    this.#received?.clear();
    this.#readOn();
    this.#end(bound);
  }

  get #isWanted(): boolean {
    return this.#state !== 'unwanted' && this.#state !== 'gone';
  }

  #readOn(): void {
    this.#isHeld = false;
    if (this.#state === 'reading') return;
    this.#transition('pausing', 'reading');
    if (this.#transition('paused', 'reading')) this.#res.resume();
  }

  /**
   * Pauses once this turn's reads are done: uWebSockets.js does not stop in the middle of them, and later chunks would restart its
   * timer for silent uploads, which fires 8 to 12 s later. A body that ends in these reads is never paused: resuming it would start
   * that timer as well, and nothing more would come to stop it.
   */
  #pause(): void {
    if (!this.#transition('reading', 'pausing')) return;
    setImmediate(() => {
      if (this.#transition('pausing', 'paused')) this.#res.pause();
    });
  }

  /** The request is about to be answered: the rest of its body is read and discarded. */
  discardBody(): void {
    if (this.#outcome !== undefined) return;
    const wasPaused = this.#transition('paused', 'unwanted');
    if (!this.#transition('pausing', 'unwanted')) this.#transition('reading', 'unwanted');
    this.#received?.clear();
    this.#room?.release();
    // Behind it may be the connection's next request.
    if (wasPaused) this.#res.resume();
  }

  /** The caller is gone. */
  abandon(): void {
    this.#transition(this.#state, 'gone');
    this.#received?.clear();
    this.#whole = NO_BODY;
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#outcome !== undefined || !this.#isWanted) return;
    const { bodyBytesMax } = this.#context;
    if ((this.#received?.length ?? 0) + chunk.byteLength > bodyBytesMax) {
      this.#received?.clear();
      this.#end('too-large');
      return;
    }
    // The library reuses the chunk's memory when this callback returns, so it is copied.
    if (isLast && this.#received === undefined) this.#whole = copyOf(chunk);
    else if (chunk.byteLength > 0)
      (this.#received ??= new BodyCollector(bodyBytesMax, bodyMemory)).add(new Uint8Array(chunk), this.#lengthBytes);
    if (isLast) {
      this.#countWhole();
      this.#end('complete');
    } else if (this.#isHeld) {
      this.#pause();
    } else {
      this.#makeRoom(this.#received?.length ?? 0);
    }
  }

  /** @returns false when there is no room: reading stops until there is. */
  #makeRoom(bytes: number): boolean {
    if (bytes < limits.countedFromBytes || !this.#isAdmitted) return true;
    this.#room ??= this.#context.requestMemory.hold(this.#subject, this);
    // With a content length, asks for all of it; otherwise for twice what has arrived.
    const outcome = this.#room.grow(
      bytes,
      this.#lengthBytes > 0 ? bytes : Math.min(2 * bytes, this.#context.bodyBytesMax),
    );
    if (outcome === 'room') return true;
    this.#pause();
    if (outcome !== 'wait') this.onNoRoom(outcome);
    return false;
  }

  /** The whole body is here: it counts with its actual size, whether there is room or not. */
  #countWhole(): void {
    const length = this.#received?.length ?? this.#whole.length;
    if (length < limits.countedFromBytes || !this.#isAdmitted || this.#room?.heldBytes === length) return;
    this.#room ??= this.#context.requestMemory.hold(this.#subject, this);
    this.#room.release();
    this.#room.take(length);
  }

  #end(outcome: BodyOutcome): void {
    this.#outcome = outcome;
    this.#transition('pausing', 'reading');
    this.#handOver();
  }

  /** Once the body has ended, and somebody waits for it. */
  #handOver(): void {
    const onReceived = this.#onReceived;
    if (this.#outcome === undefined || onReceived === undefined) return;
    this.#onReceived = undefined;
    this.#request.body = this.#received?.take() ?? this.#whole;
    this.#whole = NO_BODY;
    onReceived(this.#outcome);
  }

  /** The only place that changes the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

function copyOf(chunk: ArrayBuffer): Buffer {
  const { byteLength } = chunk;
  if (byteLength === 0) return NO_BODY;
  const memory = bodyMemory(byteLength);
  memory.set(new Uint8Array(chunk));
  return memory.length === byteLength ? memory : memory.subarray(0, byteLength);
}
