// One HTTP request and its answer over uWebSockets.js. It keeps that library's rules so that nobody else has to: nothing
// is touched after an abort, every write is corked, bytes handed to a callback are copied before it returns. Hot.
//
//   open ──respond───────────────────────────> flushing ──the kernel has taken it all──> done
//    ├────openStream──> streaming ──end──────────┤
//    └────openBody────> body ──end───────────────┘
//   open, streaming, body, flushing ──the caller went away, or cut──> done (aborted)
//
// A worker that drains waits for `done`: what the library still holds would be lost with the process.
import assert from 'node:assert';
import { STATUS_CODES } from 'node:http';
import type { HttpResponse } from 'uWebSockets.js';
import { BodyCollector } from '../../protocol/body-collector.js';
import { keepAliveComment } from '../../protocol/event-stream.js';
import type { BodyType, Exchange, ExchangeRequest } from '../../relay/exchange.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { largeMemory } from '../../shared/large-memory.js';
import { limits } from '../../shared/limits.js';
import type { RequestHead } from './request-head.js';

/** What the exchanges of one listener share. */
export interface EdgeContext {
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** While true every answer closes its connection, so that callers move on to another process. */
  isDraining: boolean;
  /** Exchanges without a complete answer. */
  openCount: number;
  /** Called whenever `openCount` has become 0. */
  onIdle: (() => void) | undefined;
}

type State = 'open' | 'streaming' | 'body' | 'flushing' | 'done';

/** How the body came to its end: whole, or over the limit and thrown away (413). */
export type BodyOutcome = 'complete' | 'too-large';

const NO_BODY = Buffer.alloc(0);
/** Sixteen KiB fit into the library's own buffer, and into the kernel's: no more is worth watching until it is gone. */
const FLUSHED_BYTES_MAX = 16 * 1024;
const CLOSE_HEADERS = ['connection', 'close'];
const STREAM_HEADERS = ['cache-control', 'no-cache, no-transform', 'x-accel-buffering', 'no'];

export class EdgeExchange implements Exchange {
  readonly head: RequestHead;
  readonly method: ExchangeRequest['method'];
  readonly isTls: boolean;
  onDrain: (() => void) | undefined;
  onAbort: (() => void) | undefined;
  readonly #context: EdgeContext;
  readonly #res: HttpResponse;
  readonly #isHead: boolean;
  #state: State = 'open';
  #isAborted = false;
  #request: ExchangeRequest | undefined;
  #corsHeaders: readonly string[] = [];
  readonly #received = new BodyCollector();
  #bodyOutcome: BodyOutcome | undefined;
  #onBody: ((outcome: BodyOutcome) => void) | undefined;
  #keepAlive: Deadline | undefined;
  #streamedBytes = 0;
  /** Of a large answer: its length, the part of it that is being handed over, and where that begins. */
  #answerBytes = 0;
  #part: Uint8Array = NO_BODY;
  #partStart = 0;

  /** @param isHead the answer has the headers that it would have, and no body (RFC 9110, 9.3.2). */
  constructor(
    context: EdgeContext,
    res: HttpResponse,
    isTls: boolean,
    method: ExchangeRequest['method'],
    head: RequestHead,
    isHead = false,
  ) {
    this.#context = context;
    this.#res = res;
    this.#isHead = isHead;
    this.isTls = isTls;
    this.method = method;
    this.head = head;
    context.openCount += 1;
    res.onAborted(() => this.#abort());
    if (Number(head.contentLength) > context.bodyBytesMax) this.#bodyOutcome = 'too-large';
    else res.onData((chunk, isLast) => this.#onData(chunk, isLast));
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  get request(): ExchangeRequest {
    if (this.#request === undefined) throw new Error('the request is not complete yet');
    return this.#request;
  }

  /** The body, once it is complete. */
  get body(): Buffer {
    return this.#received.bytes;
  }

  /** Calls back when the body has come to its end, at once if it has already; never after an abort. */
  whenBody(onBody: (outcome: BodyOutcome) => void): void {
    if (this.#bodyOutcome !== undefined) onBody(this.#bodyOutcome);
    else this.#onBody = onBody;
  }

  /** What the relay gets to see, set when the head was checked and the body is complete. */
  complete(request: ExchangeRequest): void {
    this.#request = request;
    this.#received.clear();
  }

  releaseBody(): void {
    if (this.#request === undefined || this.#request.body.length < limits.largeMemoryFromBytes) return;
    largeMemory.giveBack(this.#request.body);
    this.#request = { ...this.#request, body: NO_BODY };
  }

  /** Headers for an origin that may read the answer: name, value, … */
  allowOrigin(corsHeaders: readonly string[]): void {
    this.#corsHeaders = corsHeaders;
  }

  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers: readonly string[] = [],
  ): void {
    if (this.#state !== 'open') return;
    if (this.#isHead || status === 204) {
      this.#respondWithoutBody(status, contentType, body, sessionId, headers);
      return;
    }
    if (body.length > FLUSHED_BYTES_MAX) {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      this.#respondAsRead(status, contentType, bytes, sessionId, headers);
      return;
    }
    this.#finish();
    this.#res.cork(() => {
      this.#writeHead(status, contentType, sessionId, headers);
      this.#res.end(body, this.#context.isDraining);
    });
  }

  openStream(sessionId?: string): void {
    if (this.#state !== 'open') return;
    this.#state = 'streaming';
    this.#res.onWritable(() => {
      this.#onStreamWritable();
      return true;
    });
    this.#keepAlive = this.#context.deadlines.after(limits.streamKeepAliveMs, () => this.write(keepAliveComment));
    this.#res.cork(() => {
      this.#writeHead(200, 'text/event-stream', sessionId, STREAM_HEADERS);
      this.#writeCloseHeader();
    });
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    if (this.#state !== 'open') return;
    this.#state = 'body';
    this.#answerBytes = bodyBytes;
    this.#res.onWritable((offset) => this.#onBodyWritable(offset));
    this.#res.cork(() => {
      this.#writeHead(200, contentType, undefined, contentType === 'text/event-stream' ? STREAM_HEADERS : []);
      this.#writeCloseHeader();
    });
  }

  write(bytes: Uint8Array): boolean {
    if (this.#state === 'body') return this.#writePart(bytes);
    if (this.#state !== 'streaming') return true;
    this.#keepAlive?.restart();
    return this.#push(bytes);
  }

  end(): void {
    if (this.#state === 'body') {
      assert.equal(this.#partStart + this.#part.length, this.#answerBytes, 'a body is as long as was said');
      this.#state = 'flushing';
    }
    if (this.#state !== 'streaming') return;
    this.#state = 'flushing';
    this.#keepAlive?.cancel();
    if (this.#streamedBytes <= FLUSHED_BYTES_MAX || this.#push(keepAliveComment)) this.#endStream();
  }

  cut(): void {
    if (this.#state === 'done') return;
    this.#isAborted = true;
    // Done before the close, because closing calls back `onAborted`.
    this.#finish();
    this.#res.close();
  }

  /** A 204 has no length either (RFC 9110, 8.6). */
  #respondWithoutBody(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId: string | undefined,
    headers: readonly string[],
  ): void {
    this.#finish();
    this.#res.cork(() => {
      this.#writeHead(status, contentType, sessionId, headers);
      this.#writeCloseHeader();
      if (status !== 204) this.#res.writeHeader('content-length', String(Buffer.byteLength(body)));
      // Without arguments: of a length the library would wait for the body, and `undefined` it takes for 2^63.
      this.#res.endWithoutBody();
    });
  }

  /** Hands a large body over as fast as the caller reads it. */
  #respondAsRead(
    status: number,
    contentType: string,
    body: Uint8Array,
    sessionId: string | undefined,
    headers: readonly string[],
  ): void {
    this.#state = 'flushing';
    this.#answerBytes = body.length;
    this.#part = body;
    this.#res.onWritable((offset) => this.#onBodyWritable(offset));
    this.#res.cork(() => {
      this.#writeHead(status, contentType, sessionId, headers);
      this.#writeCloseHeader();
      this.#handOver(0);
    });
  }

  #writePart(part: Uint8Array): boolean {
    this.#part = part;
    let hasRoom = true;
    this.#res.cork(() => {
      hasRoom = this.#handOver(this.#partStart);
    });
    return hasRoom;
  }

  /**
   * Hands over the part from where the library left it; `onWritable` comes until all of it is taken.
   * @param offset in the answer.
   */
  #handOver(offset: number): boolean {
    const [hasRoom, isComplete] = this.#res.tryEnd(this.#part.subarray(offset - this.#partStart), this.#answerBytes);
    if (isComplete) {
      largeMemory.giveBack(this.#part);
      this.#finish();
    } else if (hasRoom) {
      // Its owner may use the memory again.
      this.#partStart += this.#part.length;
      this.#part = NO_BODY;
    }
    return hasRoom;
  }

  #onBodyWritable(offset: number): boolean {
    const hasRoom = this.#handOver(offset);
    if (hasRoom && this.#state === 'body') this.onDrain?.();
    return hasRoom;
  }

  /** @returns false while the library holds back some of what was streamed. */
  #push(bytes: Uint8Array): boolean {
    this.#streamedBytes += bytes.length;
    let hasRoom = true;
    this.#res.cork(() => {
      hasRoom = this.#res.write(bytes);
    });
    return hasRoom;
  }

  /** The library sends what it held back only with something more, and only then says whether all of it is gone. */
  #onStreamWritable(): void {
    if (!this.#push(keepAliveComment)) return;
    if (this.#state === 'flushing') this.#endStream();
    else this.onDrain?.();
  }

  #endStream(): void {
    this.#finish();
    // Without the library's `closeConnection`: it would write a header, and here that is in the middle of the body.
    this.#res.cork(() => this.#res.end());
  }

  #onData(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#bodyOutcome !== undefined) return;
    if (this.#received.length + chunk.byteLength > this.#context.bodyBytesMax) {
      this.#received.clear();
      this.#onBodyEnd('too-large');
      return;
    }
    // The library takes a chunk back when its callback returns.
    if (chunk.byteLength > 0) this.#received.add(new Uint8Array(chunk), Number(this.head.contentLength));
    if (isLast) this.#onBodyEnd('complete');
  }

  #onBodyEnd(outcome: BodyOutcome): void {
    this.#bodyOutcome = outcome;
    const onBody = this.#onBody;
    this.#onBody = undefined;
    onBody?.(outcome);
  }

  #writeHead(status: number, contentType: string, sessionId: string | undefined, headers: readonly string[]): void {
    this.#res.writeStatus(statusLine(status));
    if (contentType !== '') this.#res.writeHeader('content-type', contentType);
    if (sessionId !== undefined) this.#res.writeHeader('mcp-session-id', sessionId);
    this.#writeHeaders(headers);
    this.#writeHeaders(this.#corsHeaders);
  }

  #writeHeaders(headers: readonly string[]): void {
    for (let i = 0; i + 1 < headers.length; i += 2) this.#res.writeHeader(headers[i] ?? '', headers[i + 1] ?? '');
  }

  /** While draining, for the answers that the library cannot close the connection after by itself. */
  #writeCloseHeader(): void {
    if (this.#context.isDraining) this.#writeHeaders(CLOSE_HEADERS);
  }

  #abort(): void {
    if (this.#state === 'done') return;
    const isAnswered = this.#state === 'flushing';
    this.#isAborted = true;
    this.#onBody = undefined;
    this.#finish();
    if (!isAnswered) this.onAbort?.();
  }

  #finish(): void {
    this.#state = 'done';
    this.#part = NO_BODY;
    this.#keepAlive?.cancel();
    this.#context.openCount -= 1;
    if (this.#context.openCount === 0) this.#context.onIdle?.();
  }
}

const statusLines = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [Number(status), `${status} ${reason}`]),
);

function statusLine(status: number): string {
  return statusLines.get(status) ?? String(status);
}
