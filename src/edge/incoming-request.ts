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

/** What all exchanges of one listener or worker have in common. */
export interface EdgeContext {
  readonly requestIds: Pick<RequestIds, 'of'>;
  readonly isTraced: boolean;
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** Whether an answer's memory may change once the write returns. */
  readonly isCopiedAtOnce: boolean;
  /** The memory for large requests. */
  readonly requestMemory: MessageMemory;
  /** The memory for large answers that callers read slowly. */
  readonly answerMemory: MessageMemory;
  /** How long a caller may read nothing. */
  readonly slowReaderTimeoutMs: number;
  /** How long a stream may be silent before a comment is sent. */
  readonly streamKeepAliveMs: number;
  readonly logger: Logger;
  /** Whether every answer closes its connection: once a drain was announced, or the listeners were closed. */
  isDraining: boolean;
  /** The open exchanges of GETs. */
  readonly openGets: Set<{ endForSuccessor(): void }>;
  /** The number of exchanges that are not over. */
  openExchangeCount: number;
  /** Called when `openExchangeCount` becomes 0. */
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
  #onlyChunk: Buffer = NO_BODY;
  /** The body, if it is several chunks. */
  #chunks: BodyCollector | undefined;
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
    return this.#chunks?.length ?? this.#onlyChunk.length;
  }

  /** Reads no more than has arrived with the head, until `admit`. */
  awaitAdmission(): void {
    this.#isAwaitingAdmission = true;
  }

  /**
   * Reads the body, as far as there is memory.
   * @param subject the one whose shares count a large body, and a large answer that is read slowly.
   * @param passthroughHeaders name, value, … as backends get them.
   */
  admit(subject: string, acceptedTypes: AcceptedTypes, passthroughHeaders: readonly string[]): void {
    this.subject = subject;
    this.#request.acceptedTypes = acceptedTypes;
    this.#request.passthroughHeaders = passthroughHeaders;
    if (this.#outcome === 'complete') this.#countCompleteBody();
    // No memory is taken for a body that is declared too large: it is refused.
    else if (
      this.#outcome === undefined &&
      this.#reserveMemory(Math.max(this.#lengthBytes || 0, this.#chunks?.length ?? 0))
    )
      this.#resumeReading();
  }

  /** Calls back when the body is complete or discarded, perhaps synchronously; never after an abort or an answer. */
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
    this.#resumeReading();
  }

  onNoRoom(bound: ShareBound): void {
    if (this.#outcome !== undefined) return;
    this.#chunks?.discard();
    this.#resumeReading();
    this.#endBody(bound);
  }

  #resumeReading(): void {
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
    this.#chunks?.discard();
    this.#reservation?.release();
    // Reading continues, because the next request may follow the body.
    if (wasPaused) this.#res.resume();
  }

  abandon(): void {
    this.#transition(this.#state, 'unwanted');
    this.#chunks?.discard();
    this.#onlyChunk = NO_BODY;
  }

  readonly #onData = (chunk: ArrayBuffer, isLast: boolean): void => {
    if (this.#outcome !== undefined || this.#state === 'unwanted') return;
    const { bodyBytesMax } = this.#context;
    if ((this.#chunks?.length ?? 0) + chunk.byteLength > bodyBytesMax) {
      this.#chunks?.discard();
      this.#endBody('too-large');
      return;
    }
    // The chunk is copied, because the library reuses its memory.
    if (isLast && this.#chunks === undefined) this.#onlyChunk = copyOf(chunk);
    else (this.#chunks ??= new BodyCollector(bodyBytesMax, bodyMemory)).add(new Uint8Array(chunk), this.#lengthBytes);
    if (isLast) {
      this.#countCompleteBody();
      this.#endBody('complete');
    } else if (this.#isAwaitingAdmission) {
      this.#pause();
    } else {
      this.#reserveMemory(this.#chunks?.length ?? 0);
    }
  };

  /** Takes memory. @returns false without room: reading then stops until there is some. */
  #reserveMemory(bytes: number): boolean {
    if (bytes < limits.countedFromBytes || this.subject === '') return true;
    this.#reservation ??= this.#context.requestMemory.createReservation(this.subject, this);
    // If the content length is unknown, memory for twice the bytes that have arrived is reserved.
    const outcome = this.#reservation.grow(
      bytes,
      this.#lengthBytes > 0 ? bytes : Math.min(2 * bytes, this.#context.bodyBytesMax),
    );
    if (outcome === 'room') return true;
    this.#pause();
    if (outcome !== 'wait') this.onNoRoom(outcome);
    return false;
  }

  /** Counts a body that has arrived, with its actual size, even if its share has no room. */
  #countCompleteBody(): void {
    const length = this.#chunks?.length ?? this.#onlyChunk.length;
    if (length < limits.countedFromBytes || this.subject === '' || this.#reservation?.reservedBytes === length) return;
    this.#reservation ??= this.#context.requestMemory.createReservation(this.subject, this);
    this.#reservation.release();
    this.#reservation.take(length);
  }

  #endBody(outcome: BodyOutcome): void {
    this.#outcome = outcome;
    this.#transition('pausing', 'reading');
    this.#handOver();
  }

  /** Hands the body over, if it has ended and `receive` was called. */
  #handOver(): void {
    const onReceived = this.#onReceived;
    if (this.#outcome === undefined || onReceived === undefined) return;
    this.#onReceived = undefined;
    const body = this.#chunks?.take() ?? this.#onlyChunk;
    this.#request.body = body[0] === BYTE_ORDER_MARK ? withoutByteOrderMark(body) : body;
    this.#onlyChunk = NO_BODY;
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
