// The body of one request as it comes in: kept while somebody may want it, dropped from the moment at which nobody will.
// Hot: one object per request, and most bodies are one chunk.
import type { HttpResponse } from 'uWebSockets.js';
import { BodyCollector } from '../../protocol/body-collector.js';

/** How the body came to its end: whole, or over the limit and thrown away (413). */
export type BodyOutcome = 'complete' | 'too-large';

export class RequestBody {
  readonly #res: HttpResponse;
  readonly #lengthBytes: number;
  readonly #bytesMax: number;
  readonly #received: BodyCollector;
  #outcome: BodyOutcome | undefined;
  #onEnd: ((outcome: BodyOutcome) => void) | undefined;
  #isUnwanted = false;
  #isHeld = false;
  #isPaused = false;

  /** @param lengthBytes as the head says; `NaN` when it does not. */
  constructor(res: HttpResponse, lengthBytes: number, bytesMax: number) {
    this.#res = res;
    this.#lengthBytes = lengthBytes;
    this.#bytesMax = bytesMax;
    this.#received = new BodyCollector(bytesMax);
    if (lengthBytes > bytesMax) this.#outcome = 'too-large';
    else res.onData((chunk, isLast) => this.#onData(chunk, isLast));
  }

  /** The body, once it is complete. */
  get bytes(): Buffer {
    return this.#received.bytes;
  }

  /** Calls back when the body has come to its end, at once if it has already; never once it is dropped. */
  whenEnded(onEnd: (outcome: BodyOutcome) => void): void {
    if (this.#outcome !== undefined) onEnd(this.#outcome);
    else this.#onEnd = onEnd;
  }

  /** Nobody knows yet whether the caller is let in: no more is read than came with the head. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Ends `hold`. The request must not be answered yet. */
  letIn(): void {
    this.#isHeld = false;
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#res.resume();
  }

  /** Somebody else has it, or nobody. */
  clear(): void {
    this.#received.clear();
  }

  /** The request is about to be answered, whatever is still to come: that is read, and dropped. */
  drop(): void {
    if (this.#outcome !== undefined) return;
    this.#isUnwanted = true;
    this.#onEnd = undefined;
    this.#received.clear();
    // Behind it may be the connection's next request.
    this.letIn();
  }

  /** The caller is gone. */
  abandon(): void {
    this.#isUnwanted = true;
    this.#onEnd = undefined;
    this.#received.clear();
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#outcome !== undefined || this.#isUnwanted) return;
    if (this.#received.length + chunk.byteLength > this.#bytesMax) {
      this.#received.clear();
      this.#end('too-large');
      return;
    }
    // The library takes a chunk back when its callback returns.
    if (chunk.byteLength > 0) this.#received.add(new Uint8Array(chunk), this.#lengthBytes);
    if (isLast) {
      this.#end('complete');
    } else if (this.#isHeld && !this.#isPaused) {
      this.#isPaused = true;
      this.#res.pause();
    }
  }

  #end(outcome: BodyOutcome): void {
    this.#outcome = outcome;
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    onEnd?.(outcome);
  }
}
