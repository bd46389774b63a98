// The incoming request of an exchange. The body is kept as long as it may be needed. Hot path: one object per request, and most bodies
// are one chunk.
//   reading ── not admitted yet, or no room ──> pausing ── the turn's reads are done ──> paused
//   pausing, paused ── admitted, room ──> reading
//   pausing ── the body ended in those reads ──> reading
//   reading, pausing, paused ── answered before the body's end, or the caller is gone ──> unwanted
// In `unwanted`, further bytes are ignored. How the body has ended is in `#outcome`.
import { BodyCollector, withoutByteOrderMark } from '../bytes/index.js';
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

/** How a body has ended: complete, over the size limit (413), or discarded because this bound left no memory. */
export type BodyOutcome = 'complete' | 'too-large' | ShareBound;

export const refusedBodies = {
  'too-large': refusals.bodyTooLarge,
  subjectMax: refusals.subjectBytesFull,
  totalMax: refusals.bytesFull,
} as const;

/** What the exchanges of one worker share. */
export interface EdgeContext {
  readonly requestIds: Pick<RequestIds, 'of'>;
  readonly isTraced: boolean;
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** Whether an answer's memory may change once the write returns. */
  readonly isCopiedAtOnce: boolean;
  /** The memory for large requests, and for large answers that callers read slowly. */
  readonly requestMemory: MessageMemory;
  readonly answerMemory: MessageMemory;
  /** How long a caller may read nothing. */
  readonly slowReaderTimeoutMs: number;
  /** How long a stream may be silent before a comment is sent. */
  readonly streamKeepAliveMs: number;
  readonly logger: Logger;
  /** Whether every answer closes its connection, as it does after a drain was announced. */
  isDraining: boolean;
  /** The open exchanges of GETs. */
  readonly gets: Set<{ leaveStream(): void }>;
  /** The number of exchanges without a complete answer. */
  openCount: number;
  /** Called when `openCount` is 0. */
  onIdle: (() => void) | undefined;
}

type State = 'reading' | 'pausing' | 'paused' | 'unwanted';

/** The first byte of a byte order mark in UTF-8. */
const BYTE_ORDER_MARK = 0xef;

export class IncomingRequest implements MemoryWaiter {
  readonly #context: EdgeContext;
  readonly #res: HttpResponse;
  readonly #request: RequestHead['request'];
  /** The content length; 0 or `NaN` without a valid one. */
  readonly #lengthBytes: number;
  /** The body, if it is one chunk, until it is handed over. */
  #whole: Buffer = NO_BODY;
  /** The body, if it is several chunks. */
  #received: BodyCollector | undefined;
  #state: State = 'reading';
  #outcome: BodyOutcome | undefined;
  #onReceived: ((outcome: BodyOutcome) => void) | undefined;
  #isAwaitingAdmission = false;
  /** The subject; `''` until the caller is admitted. Changed only here. */
  subject = '';
  /** The memory of a large body, once the caller is admitted. */
  #reservation: MessageReservation | undefined;

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

  /** The number of body bytes that are kept; for tests. */
  get receivedBytes(): number {
    return this.#received?.length ?? this.#whole.length;
  }

  /** Reads no more than has arrived with the head, until `admit`. */
  awaitAdmission(): void {
    this.#isAwaitingAdmission = true;
  }

  /**
   * Reads the body, as far as there is memory.
   * @param subject in whose shares a large body counts, and a large answer that the caller does not read.
   * @param passthroughHeaders name, value, … as backends get them.
   */
  admit(subject: string, acceptedTypes: AcceptedTypes, passthroughHeaders: readonly string[]): void {
    this.subject = subject;
    this.#request.acceptedTypes = acceptedTypes;
    this.#request.passthroughHeaders = passthroughHeaders;
    if (this.#outcome === 'complete') this.#countWhole();
    // Not for a body that is declared too large, which is refused anyway.
    else if (
      this.#outcome === undefined &&
      this.#reserveMemory(Math.max(this.#lengthBytes || 0, this.#received?.length ?? 0))
    )
      this.#readOn();
  }

  /** Calls back when the body is complete or discarded, perhaps at once; never after an abort or an answer. */
  receive(onReceived: (outcome: BodyOutcome) => void): void {
    this.#onReceived = onReceived;
    this.#handOver();
  }

  releaseBody(): void {
    const { body } = this.#request;
    this.#request.body = NO_BODY;
    if (body.length >= LARGE_MEMORY_FROM_BYTES) largeMemory.giveBack(body);
  }

  releaseMemory(): void {
    this.#reservation?.release();
  }

  onRoom(): void {
    this.#readOn();
  }

  onNoRoom(bound: ShareBound): void {
    if (this.#outcome !== undefined) return;
    this.#received?.discard();
    this.#readOn();
    this.#end(bound);
  }

  #readOn(): void {
    this.#isAwaitingAdmission = false;
    if (this.#state === 'reading') return;
    this.#transition('pausing', 'reading');
    if (this.#transition('paused', 'reading')) this.#res.resume();
  }

  /**
   * Pauses after the reads of this turn: uWebSockets.js does not stop in the middle of them, and they would restart its timer for silent
   * uploads, which fires after 8 to 12 s. A body that ends in these reads is never paused: its resumption would start the timer, too.
   */
  #pause(): void {
    if (!this.#transition('reading', 'pausing')) return;
    setImmediate(() => {
      if (this.#transition('pausing', 'paused')) this.#res.pause();
    });
  }

  /** Discards the rest of the body before an answer. */
  discardBody(): void {
    if (this.#outcome !== undefined) return;
    const wasPaused = this.#transition('paused', 'unwanted');
    if (!this.#transition('pausing', 'unwanted')) this.#transition('reading', 'unwanted');
    this.#received?.discard();
    this.#reservation?.release();
    // The request is read on, because the next one may follow the body.
    if (wasPaused) this.#res.resume();
  }

  abandon(): void {
    this.#transition(this.#state, 'unwanted');
    this.#received?.discard();
    this.#whole = NO_BODY;
  }

  readonly #onData = (chunk: ArrayBuffer, isLast: boolean): void => {
    if (this.#outcome !== undefined || this.#state === 'unwanted') return;
    const { bodyBytesMax } = this.#context;
    if ((this.#received?.length ?? 0) + chunk.byteLength > bodyBytesMax) {
      this.#received?.discard();
      this.#end('too-large');
      return;
    }
    // The chunk is copied, because the library reuses its memory.
    if (isLast && this.#received === undefined) this.#whole = copyOf(chunk);
    else (this.#received ??= new BodyCollector(bodyBytesMax, bodyMemory)).add(new Uint8Array(chunk), this.#lengthBytes);
    if (isLast) {
      this.#countWhole();
      this.#end('complete');
    } else if (this.#isAwaitingAdmission) {
      this.#pause();
    } else {
      this.#reserveMemory(this.#received?.length ?? 0);
    }
  };

  /** Takes memory. @returns false when there is none: reading stops until there is. */
  #reserveMemory(bytes: number): boolean {
    if (bytes < limits.countedFromBytes || this.subject === '') return true;
    this.#reservation ??= this.#context.requestMemory.createReservation(this.subject, this);
    // If the content length is unknown, twice as much is asked for as has arrived.
    const outcome = this.#reservation.grow(
      bytes,
      this.#lengthBytes > 0 ? bytes : Math.min(2 * bytes, this.#context.bodyBytesMax),
    );
    if (outcome === 'room') return true;
    this.#pause();
    if (outcome !== 'wait') this.onNoRoom(outcome);
    return false;
  }

  /** Counts the whole body with its size, whether there is room or not. */
  #countWhole(): void {
    const length = this.#received?.length ?? this.#whole.length;
    if (length < limits.countedFromBytes || this.subject === '' || this.#reservation?.reservedBytes === length) return;
    this.#reservation ??= this.#context.requestMemory.createReservation(this.subject, this);
    this.#reservation.release();
    this.#reservation.take(length);
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
    const body = this.#received?.take() ?? this.#whole;
    this.#request.body = body[0] === BYTE_ORDER_MARK ? withoutByteOrderMark(body) : body;
    this.#whole = NO_BODY;
    onReceived(this.#outcome);
  }

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
