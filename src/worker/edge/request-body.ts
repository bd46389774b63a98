// The body of one request as it comes in: kept while somebody may want it, dropped from the moment at which nobody will.
// Hot: one object per request, and most bodies are one chunk.
//
//   reading ── it may not go on ──> pausing ── the turn's reads are done ──> paused
//   pausing, paused ── let in, room ──> reading
//   pausing ── its end was among those reads ──> reading
//   reading, pausing, paused ── drop: answered before its end ──> unwanted
//   reading, pausing, paused, unwanted ── the caller is gone ──> gone
//
// Whether it has come to its end, and how, is beside that: nothing of `unwanted` or `gone` is taken any more.
import { BodyCollector } from '../../protocol/body-collector.js';
import { limits } from '../../shared/limits.js';
import type { MessageHold, MessageMemory, RoomWaiter } from '../../shared/message-memory.js';
import type { ShareBound } from '../../shared/share.js';
import type { HttpResponse } from './http-library.js';

/**
 * How the body came to its end: whole, over the limit and thrown away (413), or thrown away because there was no room for
 * it within the bound that is named, and none came free in time.
 */
export type BodyOutcome = 'complete' | 'too-large' | ShareBound;

export interface BodyReceiver {
  /** @param bytes are the receiver's from here on; nothing unless the outcome is `complete`. */
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
  /** The receiver waits for it. */
  #isAwaited = false;
  #isHeld = false;
  /** Of a large body, once it is let in. */
  #room: MessageHold | undefined;
  #memory: MessageMemory | undefined;
  #subject = '';

  /** @param lengthBytes as the head says; `NaN` when it does not. */
  constructor(res: HttpResponse, lengthBytes: number, bytesMax: number, receiver: BodyReceiver) {
    this.#res = res;
    this.#lengthBytes = lengthBytes;
    this.#bytesMax = bytesMax;
    this.#receiver = receiver;
    this.#received = new BodyCollector(bytesMax, false);
    if (lengthBytes > bytesMax) this.#outcome = 'too-large';
    else res.onData((chunk, isLast) => this.#onData(chunk, isLast));
  }

  get length(): number {
    return this.#received.length;
  }

  /** Hands the body to its receiver when it has come to its end, at once if it has already; never once it is dropped. */
  hand(): void {
    this.#isAwaited = true;
    if (this.#outcome !== undefined) this.#handOver(this.#outcome);
  }

  /** Nobody knows yet whether the caller is let in: no more is read than came with the head. */
  hold(): void {
    this.#isHeld = true;
  }

  /**
   * Ends `hold`. The request must not be answered yet.
   * @param subject in whose share a large body counts from now on: it is read as there is room for it.
   */
  admit(memory: MessageMemory, subject: string): void {
    this.#memory = memory;
    this.#subject = subject;
    if (this.#outcome === 'complete') this.#countWhole();
    // One that is too large by its own word is refused, whether there is room or not.
    else if (this.#outcome === undefined && this.#makeRoom(Math.max(this.#lengthBytes || 0, this.#received.length)))
      this.#readOn();
  }

  /** Nothing of the body is here any more. */
  releaseRoom(): void {
    this.#room?.release();
  }

  /** For `MessageHold`. */
  onRoom(): void {
    this.#readOn();
  }

  /** For `MessageHold`. */
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
   * Once the turn's reads are done: uWebSockets.js does not stop in the middle of them, and what still comes of them would
   * start the clock again by which it closes silent uploads, 8 to 12 s later. Nothing is paused whose end is among them: to
   * resume it would start that clock too, with nothing left to come that stops it.
   */
  #pause(): void {
    if (!this.#transition('reading', 'pausing')) return;
    setImmediate(() => {
      if (this.#transition('pausing', 'paused')) this.#res.pause();
    });
  }

  /** The request is about to be answered, whatever is still to come: that is read, and dropped. */
  drop(): void {
    if (this.#outcome !== undefined) return;
    const wasPaused = this.#transition('paused', 'unwanted');
    if (!wasPaused && !this.#transition('pausing', 'unwanted')) this.#transition('reading', 'unwanted');
    this.#isAwaited = false;
    this.#received.clear();
    this.#room?.release();
    // Behind it may be the connection's next request.
    if (wasPaused) this.#res.resume();
  }

  /** The caller is gone. */
  abandon(): void {
    this.#transition(this.#state, 'gone');
    this.#isAwaited = false;
    this.#received.clear();
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#outcome !== undefined || !this.#isWanted) return;
    if (this.#received.length + chunk.byteLength > this.#bytesMax) {
      this.#received.clear();
      this.#end('too-large');
      return;
    }
    // The library takes a chunk back when its callback returns.
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

  /** @returns false when there is none: no more is read until there is. */
  #makeRoom(bytes: number): boolean {
    if (bytes < limits.countedFromBytes || bytes <= (this.#room?.heldBytes ?? 0)) return true;
    if (this.#memory === undefined) return true;
    this.#room ??= this.#memory.hold(this.#subject, this);
    // Of a length that the head says, all of it; else twice what there is.
    const outcome = this.#room.grow(bytes, this.#lengthBytes > 0 ? bytes : Math.min(2 * bytes, this.#bytesMax));
    if (outcome === 'room') return true;
    this.#pause();
    if (outcome !== 'wait') this.onNoRoom(outcome);
    return false;
  }

  /** All of it is here: it counts whether there is room or not, and as what it is. */
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
    const { bytes } = this.#received;
    this.#received.clear();
    this.#receiver.onBody(outcome, bytes);
  }

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
