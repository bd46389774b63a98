// The incoming request of an exchange: the head's fields are set from the start, the rest once the
// caller is let in and the body has ended. Hot path: one object per request.
import type { AnswerForms, ExchangeRequest } from '../../exchange/index.js';
import { largeMemory, LARGE_MEMORY_FROM_BYTES } from '../../fair/index.js';
import { NO_HEADERS } from './answer-head.js';
import type { EdgeContext } from './edge-context.js';
import type { HttpResponse } from './http-library.js';
import { RequestBody, type BodyOutcome, type BodyReceiver } from './request-body.js';
import type { RequestHead } from './request-head.js';

const NO_BODY = Buffer.alloc(0);

export class IncomingRequest implements BodyReceiver {
  readonly #context: EdgeContext;
  readonly #request: { -readonly [Member in keyof ExchangeRequest]: ExchangeRequest[Member] };
  readonly #body: RequestBody;
  #subject = '';
  #onReceived: ((outcome: BodyOutcome) => void) | undefined;

  constructor(context: EdgeContext, res: HttpResponse, method: ExchangeRequest['method'], head: RequestHead) {
    const { sessionId, lastEventId, contentLength } = head;
    const requestId = context.requestIds.of(head.requestId);
    this.#context = context;
    // One literal: an object composed from others is slow to create, and slow to use ever after.
    this.#request = {
      method,
      sessionId,
      lastEventId,
      requestId,
      traceparent: context.isTraced ? head.traceparent : '',
      tracestate: context.isTraced ? head.tracestate : '',
      answerForms: 'json',
      passthroughHeaders: NO_HEADERS,
      mirror: head.mirror,
      body: NO_BODY,
    };
    // A missing content length becomes 0, which `RequestBody` treats as unknown, as for a chunked body.
    this.#body = new RequestBody(res, Number(contentLength), context.bodyBytesMax, this);
  }

  /** Fields that are not known yet are empty. */
  get request(): ExchangeRequest {
    return this.#request;
  }

  /** `''` until the caller is let in. */
  get subject(): string {
    return this.#subject;
  }

  /** How many body bytes have arrived and are kept. */
  get receivedBytes(): number {
    return this.#body.length;
  }

  /** Stops reading the body until `admit` says that the caller may send it. */
  hold(): void {
    this.#body.hold();
  }

  /**
   * The caller is let in: its body is read as room allows.
   * @param subject whose share a large body counts in, and a large answer that is not read.
   * @param passthroughHeaders name, value, … in the form that goes on the wire.
   */
  admit(subject: string, answerForms: AnswerForms, passthroughHeaders: readonly string[]): void {
    this.#subject = subject;
    this.#request.answerForms = answerForms;
    this.#request.passthroughHeaders = passthroughHeaders;
    this.#body.admit(this.#context.requestMemory, subject);
  }

  /** Calls back when the request is complete or its body was discarded, at once if it already is; never after an abort or an answer. */
  receive(onReceived: (outcome: BodyOutcome) => void): void {
    this.#onReceived = onReceived;
    this.#body.hand();
  }

  /** For `RequestBody`. */
  onBody(outcome: BodyOutcome, bytes: Buffer): void {
    this.#request.body = bytes;
    const onReceived = this.#onReceived;
    this.#onReceived = undefined;
    onReceived?.(outcome);
  }

  /** Same as `Exchange.releaseBody`. */
  releaseBody(): void {
    const { body } = this.#request;
    this.#request.body = NO_BODY;
    if (body.length >= LARGE_MEMORY_FROM_BYTES) largeMemory.giveBack(body);
  }

  /** The request is about to be answered: the rest of its body is read and discarded. */
  drop(): void {
    this.#body.drop();
  }

  /** The caller is gone. */
  abandon(): void {
    this.#body.abandon();
  }

  /** The exchange is over. */
  releaseRoom(): void {
    this.#body.releaseRoom();
  }
}
