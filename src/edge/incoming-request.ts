// The incoming request of an exchange: the members from the head are set from the start, the others once the caller is admitted and the
// body has ended. The body is kept as long as it may be needed. Hot path: one object per request, and most bodies are one chunk.
//
//   reading ── not admitted yet, or no room ──> pausing ── the turn's reads are done ──> paused
//   pausing, paused ── admitted, room ──> reading
//   pausing ── the body ended in those reads ──> reading
//   reading, pausing, paused ── answered before the body's end ──> unwanted
//   reading, pausing, paused, unwanted ── the caller is gone ──> gone
//
// In `unwanted` and `gone`, further bytes are ignored. Whether and how the body has ended is in `#outcome`.
import { BodyCollector } from '../bytes/index.js';
import type { AcceptedTypes } from '../exchange/index.js';
import {
  bodyMemory,
  type DeadlineWheel,
  largeMemory,
  LARGE_MEMORY_FROM_BYTES,
  type MessageReservation,
  type MessageMemory,
  type MemoryWaiter,
  type ShareBound,
} from '../fair/index.js';
import { limits, type Logger, refusals } from '../shared/index.js';
import type { HttpResponse } from './http-library.js';
import { NO_BODY, type RequestHead, type RequestIds } from './request-head.js';

/** How the body ended: complete, over the size limit and discarded (413), or discarded because this bound left no room. */
export type BodyOutcome = 'complete' | 'too-large' | ShareBound;

/** The refusals of bodies that are not complete. */
export const refusedBodies = {
  'too-large': refusals.bodyTooLarge,
  subjectMax: refusals.subjectBytesFull,
  totalMax: refusals.bytesFull,
} as const;

/** What all exchanges of one worker's listeners share. */
export interface EdgeContext {
  readonly requestIds: Pick<RequestIds, 'of'>;
  readonly isTraced: boolean;
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** Whether the HTTP library no longer needs an answer's memory once the write call returns. */
  readonly isCopiedAtOnce: boolean;
  /** Memory for large requests, and for large answers that their callers read slowly. */
  readonly requestMemory: MessageMemory;
  readonly answerMemory: MessageMemory;
  /** How long a caller may read nothing of its answer before it is disconnected. */
  readonly slowReaderTimeoutMs: number;
  /** Silence on an event stream before a comment is sent. */
  readonly streamKeepAliveMs: number;
  readonly logger: Logger;
  /** True from the announcement of a drain: every answer closes its connection, so that callers move on to another process. */
  isDraining: boolean;
  /** Open exchanges of GET requests. */
  readonly gets: Set<{ leaveStream(): void }>;
  /** Exchanges without a complete answer. */
  openCount: number;
  /** Called whenever `openCount` has become 0. */
  onIdle: (() => void) | undefined;
}

type State = 'reading' | 'pausing' | 'paused' | 'unwanted' | 'gone';

export class IncomingRequest implements MemoryWaiter {
  readonly #context: EdgeContext;
  readonly #res: HttpResponse;
  readonly #request: RequestHead['request'];
  /** The content length; 0 or `NaN` when the head has no valid one. */
  readonly #lengthBytes: number;
  /** A body that has arrived in one chunk, until it is handed over. */
  #whole: Buffer = NO_BODY;
  /** Created for a body of several chunks. */
  #received: BodyCollector | undefined;
  #state: State = 'reading';
  #outcome: BodyOutcome | undefined;
  #onReceived: ((outcome: BodyOutcome) => void) | undefined;
  #isHeld = false;
  /** `''` until the caller is admitted. */
  #subject = '';
  /** The memory of a large body, counted once the caller is admitted. */
  #room: MessageReservation | undefined;

  constructor(context: EdgeContext, res: HttpResponse, { request, contentLength }: RequestHead) {
    this.#context = context;
    this.#res = res;
    this.#request = request;
    request.requestId = context.requestIds.of(request.requestId);
    if (!context.isTraced) request.traceparent = request.tracestate = '';
    this.#lengthBytes = Number(contentLength);
    if (this.#lengthBytes > context.bodyBytesMax) this.#outcome = 'too-large';
    else res.onData(this.#onData);
  }

  /** `''` until the caller is admitted. */
  get subject(): string {
    return this.#subject;
  }

  /** How many body bytes have arrived and are kept. */
  get receivedBytes(): number {
    return this.#received?.length ?? this.#whole.length;
  }

  /** Reads no more than has arrived with the head, until `admit`. */
  hold(): void {
    this.#isHeld = true;
  }

  /**
   * The caller is admitted: the body is read as far as there is room.
   * @param subject the subject in whose shares a large body counts, and a large answer that the caller does not read.
   * @param passthroughHeaders name, value, … as they are sent to backends.
   */
  admit(subject: string, acceptedTypes: AcceptedTypes, passthroughHeaders: readonly string[]): void {
    this.#subject = subject;
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

  /** Calls back when the body is complete or discarded, at once if it already is; never after an abort or an answer. */
  receive(onReceived: (outcome: BodyOutcome) => void): void {
    this.#onReceived = onReceived;
    this.#handOver();
  }

  /** See `Exchange.releaseBody`. */
  releaseBody(): void {
    const { body } = this.#request;
    this.#request.body = NO_BODY;
    if (body.length >= LARGE_MEMORY_FROM_BYTES) largeMemory.giveBack(body);
  }

  /** The exchange is over. */
  releaseRoom(): void {
    this.#room?.release();
  }

  /** `MemoryWaiter`: there is room now. */
  onRoom(): void {
    this.#readOn();
  }

  /** `MemoryWaiter`: there was no room in time. */
  onNoRoom(bound: ShareBound): void {
    if (this.#outcome !== undefined || this.#state === 'unwanted' || this.#state === 'gone') return;
    this.#received?.clear();
    this.#readOn();
    this.#end(bound);
  }

  #readOn(): void {
    this.#isHeld = false;
    if (this.#state === 'reading') return;
    this.#transition('pausing', 'reading');
    if (this.#transition('paused', 'reading')) this.#res.resume();
  }

  /**
   * Pauses after the reads of this turn: uWebSockets.js does not stop in the middle of them, and their chunks would restart its timer for
   * silent uploads, which fires 8 to 12 s later. A body that ends in these reads is never paused, since its resumption would start the
   * timer as well, and nothing would stop it.
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
    // The next request of the connection may follow the body.
    if (wasPaused) this.#res.resume();
  }

  /** The caller is gone. */
  abandon(): void {
    this.#transition(this.#state, 'gone');
    this.#received?.clear();
    this.#whole = NO_BODY;
  }

  readonly #onData = (chunk: ArrayBuffer, isLast: boolean): void => {
    if (this.#outcome !== undefined || this.#state === 'unwanted' || this.#state === 'gone') return;
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
  };

  /** @returns false when there is no room: reading stops until there is. */
  #makeRoom(bytes: number): boolean {
    if (bytes < limits.countedFromBytes || this.#subject === '') return true;
    this.#room ??= this.#context.requestMemory.reservation(this.#subject, this);
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

  /** The whole body has arrived, and is counted with its actual size, whether there is room or not. */
  #countWhole(): void {
    const length = this.#received?.length ?? this.#whole.length;
    if (length < limits.countedFromBytes || this.#subject === '' || this.#room?.heldBytes === length) return;
    this.#room ??= this.#context.requestMemory.reservation(this.#subject, this);
    this.#room.release();
    this.#room.take(length);
  }

  #end(outcome: BodyOutcome): void {
    this.#outcome = outcome;
    this.#transition('pausing', 'reading');
    this.#handOver();
  }

  /** Hands the body over, if it has ended and `receive` was called. */
  #handOver(): void {
    const onReceived = this.#onReceived;
    if (this.#outcome === undefined || onReceived === undefined) return;
    this.#onReceived = undefined;
    this.#request.body = this.#received?.take() ?? this.#whole;
    this.#whole = NO_BODY;
    onReceived(this.#outcome);
  }

  /** The only writer of the state. */
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
