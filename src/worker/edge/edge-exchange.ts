// One HTTP request and its answer over uWebSockets.js. It keeps that library's rules so that nobody else has to: nothing
// is touched after an abort, every write is corked, bytes handed to a callback are copied before it returns. Hot.
//
//   open ──respond───────────────────────────> flushing ──the kernel has taken it all──> done
//    ├────openStream──> streaming ──end──────────┤
//    └────openBody────> body ──end───────────────┘
//   open, streaming, body, flushing ──the caller went away, is too slow, or cut──> done (aborted)
//
// A worker that drains waits for `done`: what the library still holds would be lost with the process.
import assert from 'node:assert';
import type { HttpResponse } from 'uWebSockets.js';
import type { BodyType, Exchange, ExchangeRequest } from '../../relay/exchange.js';
import { ExchangeHooks } from '../../relay/exchange-hooks.js';
import { AnswerRoom } from '../../shared/answer-room.js';
import type { Deadline } from '../../shared/deadline-wheel.js';
import { largeMemory } from '../../shared/large-memory.js';
import { limits } from '../../shared/limits.js';
import type { RoomWaiter } from '../../shared/message-memory.js';
import type { ShareBound } from '../../shared/share.js';
import type { EdgeContext } from './edge-context.js';
import { ReaderWatch } from './reader-watch.js';
import { RequestBody, type BodyOutcome } from './request-body.js';
import type { RequestHead } from './request-head.js';
import { statusLine } from './status-line.js';
import { StreamWriter } from './stream-writer.js';

type State = 'open' | 'streaming' | 'body' | 'flushing' | 'done';

const NO_BODY = Buffer.alloc(0);
/**
 * With their head they fit into the 16 KiB that the library gathers, and into the kernel's buffer: no more is worth
 * watching until it is gone. A body that does not fit must go by `tryEnd`: `end` may lose it (see `StreamWriter`).
 */
const FLUSHED_BYTES_MAX = 14 * 1024;
const CLOSE_HEADERS = ['connection', 'close'];
const STREAM_HEADERS = ['cache-control', 'no-cache, no-transform', 'x-accel-buffering', 'no'];

export class EdgeExchange extends ExchangeHooks implements Exchange {
  readonly head: RequestHead;
  readonly method: ExchangeRequest['method'];
  readonly isTls: boolean;
  readonly isPart = false;
  readonly #context: EdgeContext;
  readonly #res: HttpResponse;
  readonly #isHead: boolean;
  #state: State = 'open';
  #isAborted = false;
  #request: ExchangeRequest | undefined;
  #corsHeaders: readonly string[] = [];
  readonly #body: RequestBody;
  #subject = '';
  #answerRoom: AnswerRoom | undefined;
  #keepAlive: Deadline | undefined;
  #stream: StreamWriter | undefined;
  /** Of a large answer: its length, the part of it that is being handed over, and where that begins. */
  #answerBytes = 0;
  #part: Uint8Array = NO_BODY;
  #partStart = 0;
  /** Of what the library had taken of it. */
  #offset = 0;
  #watch: ReaderWatch | undefined;
  /** As in the answer's head; 0 before there is one. */
  #status = 0;

  /** @param isHead the answer has the headers that it would have, and no body (RFC 9110, 9.3.2). */
  constructor(
    context: EdgeContext,
    res: HttpResponse,
    isTls: boolean,
    method: ExchangeRequest['method'],
    head: RequestHead,
    isHead = false,
  ) {
    super();
    this.#context = context;
    this.#res = res;
    this.#isHead = isHead;
    this.isTls = isTls;
    this.method = method;
    this.head = head;
    context.openCount += 1;
    res.onAborted(() => this.#abort());
    // An absent length is no length: of a chunked body it is not known.
    this.#body = new RequestBody(res, Number(head.contentLength), context.bodyBytesMax);
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
    return this.#body.bytes;
  }

  /** Calls back when the body has come to its end, at once if it has already; never after an abort or an answer. */
  whenBody(onBody: (outcome: BodyOutcome) => void): void {
    this.#body.whenEnded(onBody);
  }

  /** Reads no more of the body than has come until it is let in. */
  holdBody(): void {
    this.#body.hold();
  }

  /** @param subject in whose share a large body counts, and a large answer that is not read. */
  letBodyIn(subject: string): void {
    this.#subject = subject;
    this.#body.letIn(this.#context.requestMemory, subject);
  }

  /** A request that comes by itself is read by the relay alone. */
  onRead(): void {}

  /** What the relay gets to see, set when the head was checked and the body is complete. */
  complete(request: ExchangeRequest): void {
    this.#request = request;
    this.#body.clear();
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
    if (!this.#begin(status)) return;
    this.#answerBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    this.#body.drop();
    if (this.head.isAmbiguous) this.#respondBehind(status, contentType, body, headers);
    else this.#respondNow(status, contentType, body, sessionId, headers);
  }

  #respondNow(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId: string | undefined,
    headers: readonly string[],
  ): void {
    if (this.#isHead || status === 204) {
      this.#respondWithoutBody(status, contentType, body, sessionId, headers);
      return;
    }
    if (body.length > FLUSHED_BYTES_MAX) {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      this.#respondAsRead(status, contentType, bytes, sessionId, headers);
      return;
    }
    this.#finish(true);
    this.#res.cork(() => {
      this.#writeHead(status, contentType, sessionId, headers);
      this.#res.end(body, this.#context.isDraining);
    });
  }

  /**
   * Where an ambiguous request ends is not certain, so nothing behind it may be taken for another one. While it has no
   * response the library closes the connection on what looks like a next request in the same piece; afterwards, it is
   * closed with the response.
   */
  #respondBehind(status: number, contentType: string, body: Uint8Array | string, headers: readonly string[]): void {
    setImmediate(() => {
      if (this.#state !== 'open') return;
      this.#finish(true);
      this.#res.cork(() => {
        this.#writeHead(status, contentType, undefined, headers);
        if (this.#isHead) this.#res.endWithoutBody();
        else this.#res.end(body, true);
      });
    });
  }

  openStream(sessionId?: string): void {
    if (!this.#begin(200)) return;
    this.#state = 'streaming';
    this.#stream = new StreamWriter(this.#res);
    this.#res.onWritable(() => {
      this.#onStreamWritable();
      return true;
    });
    this.#keepAlive = this.#context.deadlines.after(this.#context.streamKeepAliveMs, () => this.#onSilence());
    this.#res.cork(() => {
      this.#writeHead(200, 'text/event-stream', sessionId, STREAM_HEADERS);
      this.#writeCloseHeader();
    });
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    if (!this.#begin(200)) return;
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
    if (this.#state !== 'streaming' || this.#stream === undefined) return true;
    this.#keepAlive?.restart();
    const hasRoom = this.#watched(this.#stream.write(bytes));
    if (!hasRoom) this.#roomOfAnswer().countUnread(bytes.length);
    return hasRoom;
  }

  end(): void {
    if (this.#state === 'body') {
      assert.equal(this.#partStart + this.#part.length, this.#answerBytes, 'a body is as long as was said');
      this.#state = 'flushing';
    }
    if (this.#state !== 'streaming' || this.#stream === undefined) return;
    this.#state = 'flushing';
    this.#keepAlive?.cancel();
    if (this.#stream.writtenBytes <= FLUSHED_BYTES_MAX || this.#watched(this.#stream.writeComment())) this.#endStream();
  }

  reset(): void {
    if (this.#state === 'done') {
      this.tellDone(0, 0, 'unheard');
      return;
    }
    // Done before the close, because closing calls back `onAborted`.
    this.#finish(false);
    this.tellDone(0, 0, 'cut');
    this.#isAborted = true;
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
    this.#finish(true);
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
    this.#part = body;
    this.#res.onWritable((offset) => this.#onBodyWritable(offset));
    this.#res.cork(() => {
      this.#writeHead(status, contentType, sessionId, headers);
      this.#writeCloseHeader();
      this.#handOver(0);
    });
    if (this.#part.length > 0) this.#roomOfAnswer().countUnread(body.length);
  }

  makeRoom(bytes: number, waiter: RoomWaiter): 'room' | 'wait' | ShareBound {
    return this.#roomOfAnswer().make(bytes, waiter);
  }

  countInPieces(bytes: number): void {
    if (this.#state !== 'done') this.#roomOfAnswer().countInPieces(bytes);
  }

  #roomOfAnswer(): AnswerRoom {
    return (this.#answerRoom ??= new AnswerRoom(this.#context.answerMemory, this.#subject));
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
    this.#offset = offset;
    const [hasRoom, isComplete] = this.#res.tryEnd(this.#part.subarray(offset - this.#partStart), this.#answerBytes);
    if (isComplete) {
      largeMemory.giveBack(this.#part);
      this.#finish(true);
    } else if (hasRoom) {
      // Its owner may use the memory again.
      this.#partStart += this.#part.length;
      this.#part = NO_BODY;
    }
    if (this.#state !== 'done') this.#watched(hasRoom);
    return hasRoom;
  }

  #onBodyWritable(offset: number): boolean {
    this.#watch?.noteProgress();
    const hasRoom = this.#handOver(offset);
    if (hasRoom && this.#state === 'body') this.onDrain?.();
    return hasRoom;
  }

  #onSilence(): void {
    this.#keepAlive?.restart();
    if (this.#stream !== undefined) this.#watched(this.#stream.writeComment());
  }

  #onStreamWritable(): void {
    this.#watch?.noteProgress();
    this.#tryMoreOfStream();
  }

  /** @returns whether the caller has taken all that was written. */
  #tryMoreOfStream(): boolean {
    const stream = this.#stream;
    if (stream === undefined) return true;
    const hasRoom = stream.tryMore();
    if (hasRoom) this.#answerRoom?.releaseUnread();
    this.#watched(!stream.isBlocked);
    if (hasRoom && this.#state === 'flushing') this.#endStream();
    else if (hasRoom) this.onDrain?.();
    return !stream.isBlocked;
  }

  /** Has the caller watched while it is slow. */
  #watched(hasRoom: boolean): boolean {
    if (hasRoom) this.#watch?.stop();
    else this.#watchReader();
    return hasRoom;
  }

  #watchReader(): void {
    if (this.#watch !== undefined) {
      this.#watch.start();
      return;
    }
    const { deadlines, slowReaderTimeoutMs } = this.#context;
    const tryMore = (): boolean => (this.#stream === undefined ? this.#tryMoreOfBody() : this.#tryMoreOfStream());
    this.#watch = new ReaderWatch(deadlines, slowReaderTimeoutMs, tryMore, () => this.#onStalled());
  }

  #tryMoreOfBody(): boolean {
    const offset = this.#res.getWriteOffset();
    let hasRoom = false;
    this.#res.cork(() => {
      hasRoom = this.#handOver(offset);
    });
    if (hasRoom && this.#state === 'body') this.onDrain?.();
    return hasRoom || this.#state === 'done' || this.#res.getWriteOffset() > offset;
  }

  #onStalled(): void {
    const { logger, slowReaderTimeoutMs } = this.#context;
    const { virtualHostId } = this.head;
    logger.warn({ virtualHostId, slowReaderTimeoutMs }, 'caller cut off: it took nothing of its answer for too long');
    const { onAbort } = this;
    const isAnswered = this.#state === 'flushing';
    this.reset();
    if (!isAnswered) onAbort?.();
  }

  #endStream(): void {
    this.#finish(true);
    // Without the library's `closeConnection`: it would write a header, and here that is in the middle of the body.
    this.#res.cork(() => this.#res.end());
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
    this.#body.abandon();
    this.#finish(false);
    if (!isAnswered) this.onAbort?.();
  }

  /** The answer's head is there. For a caller that is gone, that is the end of what it asked for. */
  #begin(status: number): boolean {
    if (this.#state !== 'open') {
      if (this.#isAborted) this.tellDone(status, 0, 'unheard');
      return false;
    }
    this.#status = status;
    return true;
  }

  #handedBytes(isWhole: boolean): number {
    if (this.#stream !== undefined) return this.#stream.writtenBytes;
    if (this.#isHead) return 0;
    return isWhole ? this.#answerBytes : this.#offset;
  }

  #finish(isWhole: boolean): void {
    this.#state = 'done';
    this.#part = NO_BODY;
    this.#body.releaseRoom();
    this.#answerRoom?.release();
    this.#keepAlive?.cancel();
    this.#watch?.stop();
    this.#context.openCount -= 1;
    if (this.#status !== 0) this.tellDone(this.#status, this.#handedBytes(isWhole), isWhole ? 'whole' : 'cut');
    if (this.#context.openCount === 0) this.#context.onIdle?.();
  }
}
