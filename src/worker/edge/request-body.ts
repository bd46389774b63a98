// The body of one request as it arrives: kept while it may be needed, dropped from the moment when it will not be.
// Hot path: one object per request, and most bodies are one chunk.
//
//   reading ── it may not go on ──> pausing ── the turn's reads are done ──> paused
//   pausing, paused ── let in, room ──> reading
//   pausing ── its end was among those reads ──> reading
//   reading, pausing, paused ── drop: answered before its end ──> unwanted
//   reading, pausing, paused, unwanted ── the caller is gone ──> gone
//
// Whether and how the body ended is tracked separately, in `#outcome`: `unwanted` and `gone` take no more bytes.
import { BodyCollector } from '../../bytes/index.js';
import {
  bodyMemory,
  type MessageHold,
  type MessageMemory,
  type RoomWaiter,
  type ShareBound,
} from '../../fair/index.js';
import { limits } from '../../shared/index.js';
import type { HttpResponse } from './http-library.js';

/** How the body ended: complete, over the size limit and discarded (413), or discarded for lack of room within the named bound. */
export type BodyOutcome = 'complete' | 'too-large' | ShareBound;

export interface BodyReceiver {
  /** @param bytes owned by the receiver from here on; empty unless the outcome is `complete`. */
  onBody(outcome: BodyOutcome, bytes: Buffer): void;
}

type State = 'reading' | 'pausing' | 'paused' | 'unwanted' | 'gone';

export class RequestBody implements RoomWaiter {
  readonly #res: HttpResponse;
  readonly #lengthBytes: number;
  readonly #bytesMax: number;
  readonly #received: BodyCollector;
  readonly #receiver: BodyReceiver;
  #state: State = 'reading';
  #outcome: BodyOutcome | undefined;
  /** The receiver is waiting for the body. */
  #isAwaited = false;
  #isHeld = false;
  /** The room of a large body, once the caller is let in. */
  #room: MessageHold | undefined;
  #memory: MessageMemory | undefined;
  #subject = '';

  /** @param lengthBytes the content length; 0 or `NaN` when the head has none that is valid. */
  constructor(res: HttpResponse, lengthBytes: number, bytesMax: number, receiver: BodyReceiver) {
    this.#res = res;
    this.#lengthBytes = lengthBytes;
    this.#bytesMax = bytesMax;
    this.#receiver = receiver;
    this.#received = new BodyCollector(bytesMax, bodyMemory);
    if (lengthBytes > bytesMax) this.#outcome = 'too-large';
    else res.onData((chunk, isLast) => this.#onData(chunk, isLast));
  }

  get length(): number {
    return this.#received.length;
  }

  /** Passes the body to its receiver when it ends, at once if it has already ended; never once it is dropped. */
  hand(): void {
    this.#isAwaited = true;
    if (this.#outcome !== undefined) this.#handOver(this.#outcome);
  }

  /** Until `admit`, while the caller is not yet let in: reads no more than came with the head. */
  hold(): void {
    this.#isHeld = true;
  }

  /**
   * Ends `hold`. The request must not be answered yet.
   * @param subject whose share a large body counts in from now on; the body is read as room allows.
   */
  admit(memory: MessageMemory, subject: string): void {
    this.#memory = memory;
    this.#subject = subject;
    if (this.#outcome === 'complete') this.#countWhole();
    // A body whose declared length is too large is refused in any case, so it needs no room.
    else if (this.#outcome === undefined && this.#makeRoom(Math.max(this.#lengthBytes || 0, this.#received.length)))
      this.#readOn();
  }

  /** The body's memory is no longer held: gives its room back. */
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
    this.#received.clear();
    this.#readOn();
    this.#end(bound);
  }

  get #isWanted(): boolean {
    return this.#state !== 'unwanted' && this.#state !== 'gone';
  }

  #readOn(): void {
    this.#isHeld = false;
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
  drop(): void {
    if (this.#outcome !== undefined) return;
    const wasPaused = this.#transition('paused', 'unwanted');
    if (!this.#transition('pausing', 'unwanted')) this.#transition('reading', 'unwanted');
    this.#received.clear();
    this.#room?.release();
    // Behind it may be the connection's next request.
    if (wasPaused) this.#res.resume();
  }

  /** The caller is gone. */
  abandon(): void {
    this.#transition(this.#state, 'gone');
    this.#received.clear();
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#outcome !== undefined || !this.#isWanted) return;
    if (this.#received.length + chunk.byteLength > this.#bytesMax) {
      this.#received.clear();
      this.#end('too-large');
      return;
    }
    // The library reuses the chunk's memory when this callback returns; `add` copies it.
    if (chunk.byteLength > 0) this.#received.add(new Uint8Array(chunk), this.#lengthBytes);
    if (isLast) {
      this.#countWhole();
      this.#end('complete');
    } else if (this.#isHeld) {
      this.#pause();
    } else {
      this.#makeRoom(this.#received.length);
    }
  }

  /** @returns false when there is no room: reading stops until there is. */
  #makeRoom(bytes: number): boolean {
    if (bytes < limits.countedFromBytes || this.#memory === undefined) return true;
    this.#room ??= this.#memory.hold(this.#subject, this);
    // With a content length, asks for all of it; otherwise for twice what has arrived.
    const outcome = this.#room.grow(bytes, this.#lengthBytes > 0 ? bytes : Math.min(2 * bytes, this.#bytesMax));
    if (outcome === 'room') return true;
    this.#pause();
    if (outcome !== 'wait') this.onNoRoom(outcome);
    return false;
  }

  /** The whole body is here: it counts with its actual size, whether there is room or not. */
  #countWhole(): void {
    const { length } = this.#received;
    if (length < limits.countedFromBytes || this.#memory === undefined || this.#room?.heldBytes === length) return;
    this.#room ??= this.#memory.hold(this.#subject, this);
    this.#room.release();
    this.#room.take(length);
  }

  #end(outcome: BodyOutcome): void {
    this.#outcome = outcome;
    this.#transition('pausing', 'reading');
    if (this.#isAwaited) this.#handOver(outcome);
  }

  #handOver(outcome: BodyOutcome): void {
    this.#receiver.onBody(outcome, this.#received.take());
  }

  /** The only place that changes the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
