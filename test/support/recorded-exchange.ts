// A downstream exchange that records its answer, can be slow and can go away. It is strict: a call that the contract of
// Exchange rules out throws.
import type { HopFailure } from '../../src/worker/hop/call.js';
import type { BodyType, Exchange, ExchangeRequest } from '../../src/relay/exchange.js';

export interface RecordedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
  readonly sessionId: string | undefined;
  readonly headers: readonly string[];
}

export class RecordedExchange implements Exchange {
  readonly request: ExchangeRequest;
  isAborted = false;
  onDrain: (() => void) | undefined;
  onAbort: (() => void) | undefined;

  /** While true each `write` answers false. */
  isSlow = false;
  answer: RecordedAnswer | undefined;
  streamSessionId: string | undefined;
  /** As told when a body was opened. */
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
    this.request = {
      method: 'POST',
      sessionId: 'a-session',
      lastEventId: '',
      answerForms: 'both',
      passthroughHeaders: [],
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
    this.#move('none', 'responded');
    this.answer = { status, contentType, body: Buffer.from(body as Uint8Array), sessionId, headers };
  }

  openStream(sessionId?: string): void {
    this.#move('none', 'streaming');
    this.streamSessionId = sessionId;
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    this.#move('none', 'streaming');
    this.body = { contentType, bodyBytes };
  }

  write(bytes: Uint8Array): boolean {
    this.#move('streaming', 'streaming');
    if (this.#isDrainDue) throw new Error('written to before it drained');
    this.#written.push(Buffer.from(bytes));
    this.writtenBytes += bytes.length;
    this.#isDrainDue = this.isSlow;
    return !this.isSlow;
  }

  end(): void {
    this.#move('streaming', 'ended');
    if (this.#isDrainDue) throw new Error('ended before it drained');
  }

  reset(): void {
    if (this.outcome !== 'none') this.#move('streaming', 'cut');
    this.outcome = 'cut';
  }

  /** The reader has caught up; with `isSlow` still set the next write makes it wait again. */
  drain(): void {
    if (!this.#isDrainDue) return;
    this.#isDrainDue = false;
    this.onDrain?.();
  }

  abort(): void {
    this.isAborted = true;
    this.onAbort?.();
  }

  #move(from: RecordedExchange['outcome'], to: RecordedExchange['outcome']): void {
    if (this.isAborted) throw new Error(`${to} after the abort`);
    if (this.outcome !== from) throw new Error(`${to} while ${this.outcome}`);
    this.outcome = to;
  }
}
