// A downstream exchange that records its response, can be slow and can be aborted. It is strict: a call that the contract of
// Exchange forbids throws.
import type { HopFailure } from '../../src/worker/hop/call.js';
import { NO_MIRROR, type BodyType, Exchange, type ExchangeRequest } from '../../src/exchange/exchange.js';
import type { MemoryWaiter } from '../../src/fair/message-memory.js';

export interface RecordedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  readonly sessionId: string | undefined;
  readonly headers: readonly string[];
}

export class RecordedExchange extends Exchange {
  readonly request: ExchangeRequest;
  isAborted = false;
  /** When true, calls after the abort are ignored, as in the program's exchanges; otherwise they throw. */
  isForgiving = false;

  isBodyReleased = false;

  /** When false, a request for room for a response has to wait. */
  hasRoom = true;
  roomAsked: { readonly bytes: number; readonly waiter: MemoryWaiter } | undefined;

  /** While true, each `write` returns false. */
  isSlow = false;
  answer: RecordedAnswer | undefined;
  streamSessionId: string | undefined;
  /** The arguments with which a body was opened. */
  body: { readonly contentType: BodyType; readonly bodyBytes: number } | undefined;
  writtenBytes = 0;
  outcome:
    | 'none'
    | 'streaming'
    | 'responded'
    | 'ended'
    | 'cut'
    | 'owner-absent'
    | 'owner-lost'
    | 'hop-failed'
    | 'answer-bytes-full' = 'none';
  readonly #written: Buffer[] = [];
  #isDrainDue = false;

  constructor(request: Partial<ExchangeRequest> = {}) {
    super();
    this.request = {
      method: 'POST',
      sessionId: 'a-session',
      lastEventId: '',
      requestId: '',
      traceparent: '',
      tracestate: '',
      acceptedTypes: 'both',
      passthroughHeaders: [],
      mirror: NO_MIRROR,
      body: Buffer.from('{"jsonrpc":"2.0"}'),
      ...request,
    };
  }

  get written(): Buffer {
    return Buffer.concat(this.#written);
  }

  readonly onFailure = (failure: HopFailure): void => {
    this.#move('none', failure);
  };

  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers: readonly string[] = [],
  ): void {
    if (this.#isUnheard(status)) return;
    this.#move('none', 'responded');
    this.answer = { status, contentType, body: Buffer.from(body as Uint8Array), sessionId, headers };
    this.reportDone(status, body.length, 'whole');
  }

  openStream(sessionId?: string): void {
    if (this.#isUnheard(200)) return;
    this.#move('none', 'streaming');
    this.streamSessionId = sessionId;
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    if (this.#isUnheard(200)) return;
    this.#move('none', 'streaming');
    this.body = { contentType, bodyBytes };
  }

  write(bytes: Uint8Array): boolean {
    if (this.#isUnheard(200)) return true;
    this.#move('streaming', 'streaming');
    if (this.#isDrainDue) throw new Error('written to before it drained');
    this.#written.push(Buffer.from(bytes));
    this.writtenBytes += bytes.length;
    this.#isDrainDue = this.isSlow;
    return !this.isSlow;
  }

  end(last?: Uint8Array): void {
    if (last !== undefined && !this.write(last)) this.#isDrainDue = false;
    if (this.#isUnheard(200)) return;
    this.#move('streaming', 'ended');
    if (this.#isDrainDue) throw new Error('ended before it drained');
    this.reportDone(200, this.writtenBytes, 'whole');
  }

  reset(): void {
    if (this.isAborted) return this.reportDone(0, 0, 'unheard');
    const status = this.outcome === 'none' ? 0 : 200;
    if (this.outcome !== 'none') this.#move('streaming', 'cut');
    this.outcome = 'cut';
    this.reportDone(status, this.writtenBytes, 'cut');
  }

  override reserve(bytes: number, waiter: MemoryWaiter): 'room' | 'wait' {
    this.roomAsked = { bytes, waiter };
    return this.hasRoom ? 'room' : 'wait';
  }

  override releaseBody(): void {
    this.isBodyReleased = true;
  }

  /** The reader has caught up; with `isSlow` still set the next write makes it wait again. */
  drain(): void {
    if (!this.#isDrainDue) return;
    this.#isDrainDue = false;
    this.onDrain?.();
  }

  abort(): void {
    this.isAborted = true;
    if (this.outcome === 'streaming') this.reportDone(200, this.writtenBytes, 'cut');
    this.onAbort?.();
  }

  #isUnheard(status: number): boolean {
    if (!this.isAborted || !this.isForgiving) return false;
    this.reportDone(status, 0, 'unheard');
    return true;
  }

  #move(from: RecordedExchange['outcome'], to: RecordedExchange['outcome']): void {
    if (this.isAborted) throw new Error(`${to} after the abort`);
    if (this.outcome !== from) throw new Error(`${to} while ${this.outcome}`);
    this.outcome = to;
  }
}
