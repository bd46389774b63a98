// One HTTP request and its answer over the HTTP library. Keeps the rules of uWebSockets.js for all other code: nothing is touched after
// an abort, every write is corked, and bytes given to a callback are copied. Hot path.
//   open ── respond, and all of it is handed over ──> done
//   open ── respond ──> flushing ── the kernel has taken it all ──> done
//   open ── openStream ──> streaming ── end ──> flushing
//   open ── openBody ──> body ── end ──> flushing
//   body ── the last part is taken at once ──> done
//   open, streaming, body, flushing ── the caller went away, is too slow, or is reset ──> done
// The head of a stream, or of a body in parts, is sent with its first bytes. A draining worker waits for `done`: bytes that the library
// holds would be lost with the process.
import assert from 'node:assert';
import { STATUS_CODES } from 'node:http';
import { type BodyType, Exchange, type ExchangeEnding, type ExchangeRequest } from '../exchange/index.js';
import {
  AnswerMemory,
  type Deadline,
  type DeadlineWheel,
  type MemoryWaiter,
  type ShareBound,
  REUSED_BUFFER_BYTES,
} from '../fair/index.js';
import type { HttpResponse } from './http-library.js';
import { PartWriter, type WriteProgress } from './part-writer.js';
import { forgetHeaders, NO_BODY, type RequestHead, NO_HEADERS } from './request-head.js';
import { StreamWriter } from './stream-writer.js';
import { type EdgeContext, IncomingRequest } from './incoming-request.js';

/** Interval between attempts to write to a slow reader: uWebSockets.js closes a connection after 8 to 12 s without a write. */
export const SLOW_READER_TRY_MS = 3_000;

/**
 * Watches a caller that reads slowly: tries a write every few seconds, so that uWebSockets.js does not close the connection, and has a
 * timeout of its own. Cold path.
 */
export class ReaderWatch {
  readonly #timeoutMs: number;
  readonly #writeMore: () => boolean;
  readonly #onStalled: () => void;
  readonly #checkDeadline: Deadline;
  #isWatching = true;
  #progressAtMs = performance.now();

  /**
   * @param writeMore tries to write more, and returns whether any byte was taken.
   * @param onStalled called when nothing was taken for `timeoutMs`; the watch has stopped.
   */
  constructor(deadlines: DeadlineWheel, timeoutMs: number, writeMore: () => boolean, onStalled: () => void) {
    this.#timeoutMs = timeoutMs;
    this.#writeMore = writeMore;
    this.#onStalled = onStalled;
    this.#checkDeadline = deadlines.after(Math.min(SLOW_READER_TRY_MS, timeoutMs), () => this.#check());
  }

  /** Called when the caller is slow again. */
  start(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.noteProgress();
    this.#checkDeadline.restart();
  }

  noteProgress(): void {
    this.#progressAtMs = performance.now();
  }

  /** Called when the caller has read everything, or the answer is over. */
  stop(): void {
    this.#isWatching = false;
    this.#checkDeadline.cancel();
  }

  #check(): void {
    if (this.#writeMore()) this.noteProgress();
    // `#writeMore` may have stopped the watch.
    if (!this.#isWatching) return;
    if (performance.now() - this.#progressAtMs < this.#timeoutMs) {
      this.#checkDeadline.restart();
      return;
    }
    this.stop();
    this.#onStalled();
  }
}

/** Statuses with reason phrases, as the HTTP library wants them. */
const statusLines = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [Number(status), `${status} ${reason}`]),
);

export function statusLine(status: number): string {
  return statusLines.get(status) ?? String(status);
}

const STREAM_HEADERS: readonly string[] = ['cache-control', 'no-cache, no-transform', 'x-accel-buffering', 'no'];

/** Writes headers, within a `cork`. @param headers name, value, … */
function writeHeaders(res: HttpResponse, headers: readonly string[]): void {
  for (let i = 0; i + 1 < headers.length; i += 2) res.writeHeader(headers[i] ?? '', headers[i + 1] ?? '');
}

type State = 'open' | 'streaming' | 'body' | 'flushing' | 'done';

/** The most bytes of a body that is written with one call: with its head, it fits into the 16 KiB that the library gathers. */
const ONE_WRITE_BYTES_MAX = REUSED_BUFFER_BYTES;

export class EdgeExchange extends Exchange {
  readonly head: RequestHead;
  /** The request. Members that are not known yet are empty. */
  readonly request: ExchangeRequest;
  readonly incoming: IncomingRequest;
  readonly isTls: boolean;
  isAborted = false;
  /** False for an ambiguous request, because it is answered in a later turn. */
  override readonly copiesSmallBodies: boolean;
  readonly #context: EdgeContext;
  readonly #res: HttpResponse;
  readonly #isHeadRequest: boolean;
  #corsHeaders: readonly string[] = NO_HEADERS;
  #state: State = 'open';
  /** The answer's status; 0 before there is an answer. */
  #status = 0;
  #answerBytes = 0;
  #answerMemory: AnswerMemory | undefined;
  #streamWriter: StreamWriter | undefined;
  #keepAlive: Deadline | undefined;
  #partWriter: PartWriter | undefined;
  #watch: ReaderWatch | undefined;

  /** @param isHeadRequest whether it is a HEAD request, whose answer has no body (RFC 9110, 9.3.2). */
  constructor(context: EdgeContext, res: HttpResponse, isTls: boolean, head: RequestHead, isHeadRequest = false) {
    super();
    this.#context = context;
    this.#res = res;
    this.#isHeadRequest = isHeadRequest;
    this.isTls = isTls;
    this.head = head;
    this.request = head.request;
    this.copiesSmallBodies = context.isCopiedAtOnce && !head.isAmbiguous;
    this.incoming = new IncomingRequest(context, res, head);
    context.openExchangeCount += 1;
    res.onAborted(() => this.#abort());
  }

  /** Sets the headers for pages of other origins. @param corsHeaders name, value, … */
  allowOrigin(corsHeaders: readonly string[]): void {
    this.#corsHeaders = corsHeaders;
  }

  override releaseBody(): void {
    this.incoming.releaseBody();
  }

  /**
   * An ambiguous request is answered in a later turn, and its connection is closed: the bytes after it must not be taken for a request. If
   * any arrived together with the request, the library closes the connection before the response.
   */
  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers: readonly string[] = [],
  ): void {
    if (!this.#begin(status)) return;
    this.#answerBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    this.incoming.discardBody();
    if (this.head.isAmbiguous) setImmediate(() => this.#respondNow(status, contentType, body, sessionId, headers));
    else this.#respondNow(status, contentType, body, sessionId, headers);
  }

  #respondNow(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId: string | undefined,
    headers: readonly string[],
  ): void {
    const hasBody = !this.#isHeadRequest && status !== 204;
    if (hasBody && body.length > ONE_WRITE_BYTES_MAX) {
      this.#openParts('flushing', () => this.#writeFullHead(status, contentType, sessionId, headers));
      if (!this.#writePart(typeof body === 'string' ? Buffer.from(body) : body))
        this.#ensureAnswerMemory().countUnread(this.#answerBytes);
      return;
    }
    if (!this.#finish('open', 'whole')) return;
    this.#res.cork(() => {
      if (hasBody) {
        this.#writeHead(status, contentType, sessionId, headers);
        this.#res.end(body, this.#closesConnection);
        return;
      }
      this.#writeFullHead(status, contentType, sessionId, headers);
      // A 204 has no content length (RFC 9110, 8.6).
      if (status !== 204) this.#res.writeHeader('content-length', String(this.#answerBytes));
      // No arguments: with a length, the library would wait for a body.
      this.#res.endWithoutBody();
    });
  }

  openStream(sessionId?: string): void {
    if (!this.#begin(200) || !this.#transition('open', 'streaming')) return;
    forgetHeaders(this.head);
    const stream = new StreamWriter(this.#res, () =>
      this.#writeFullHead(200, 'text/event-stream', sessionId, STREAM_HEADERS),
    );
    this.#streamWriter = stream;
    this.#res.onWritable(() => {
      this.#watch?.noteProgress();
      this.#writeMoreOfStream(stream);
      return true;
    });
    this.#keepAlive = this.#context.deadlines.after(this.#context.streamKeepAliveMs, () => {
      this.#keepAlive?.restart();
      this.#watchUnlessWritable(stream.writeComment());
    });
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    if (!this.#begin(200)) return;
    this.#answerBytes = bodyBytes;
    const headers = contentType === 'text/event-stream' ? STREAM_HEADERS : NO_HEADERS;
    this.#openParts('body', () => this.#writeFullHead(200, contentType, undefined, headers));
  }

  /** Begins an answer of known length. */
  #openParts(to: State, writeHead: () => void): void {
    if (!this.#transition('open', to)) return;
    this.#partWriter = new PartWriter(this.#res, this.#answerBytes, writeHead);
    this.#res.onWritable((offset) => {
      this.#watch?.noteProgress();
      return this.#writeMoreOfBody(offset);
    });
  }

  write(bytes: Uint8Array): boolean {
    if (this.#state === 'body') return this.#writePart(bytes);
    if (this.#state !== 'streaming' || this.#streamWriter === undefined) return true;
    this.#keepAlive?.restart();
    if (this.#watchUnlessWritable(this.#streamWriter.write(bytes))) return true;
    this.#ensureAnswerMemory().countUnread(bytes.length);
    return false;
  }

  end(last: Uint8Array = NO_BODY): void {
    const isJoined = this.#streamWriter?.canEndWith(last.length) === true;
    if (last.length > 0 && !isJoined) this.write(last);
    if (this.#transition('body', 'flushing')) {
      assert.ok(this.#partWriter!.hasWholeAnswer, 'a body is as long as was said');
      return;
    }
    if (this.#streamWriter === undefined || !this.#transition('streaming', 'flushing')) return;
    this.#keepAlive?.cancel();
    if (isJoined) this.#endStream(last);
    // If the library may hold the last write back, only another write shows whether it does.
    else if (this.#streamWriter.canEndWhileBlocked || this.#watchUnlessWritable(this.#streamWriter.writeComment()))
      this.#endStream(NO_BODY);
  }

  /** Ends a stream, so that the client opens it elsewhere. To its writer, the caller appears to be gone. */
  endForSuccessor(): void {
    if (this.#state !== 'streaming') return;
    this.end();
    this.onAbort?.();
  }

  reset(): void {
    // The exchange is finished before `close`, which calls `onAborted`.
    const isReset = this.#finish(this.#state, 'cut');
    this.reportDone(0, 0, this.isAborted ? 'unheard' : 'cut');
    if (!isReset) return;
    this.isAborted = true;
    this.#res.close();
  }

  /** Writes the head, within a `cork`. @param contentType `''` without content. */
  #writeHead(status: number, contentType: string, sessionId: string | undefined, headers: readonly string[]): void {
    const res = this.#res;
    const { requestId } = this.request;
    if (status !== 200) res.writeStatus(statusLine(status));
    if (contentType !== '') res.writeHeader('content-type', contentType);
    if (sessionId !== undefined) res.writeHeader('mcp-session-id', sessionId);
    writeHeaders(res, headers);
    if (requestId !== '') res.writeHeader('x-request-id', requestId);
    writeHeaders(res, this.#corsHeaders);
  }

  /** Whether the connection is closed after this answer. */
  get #closesConnection(): boolean {
    return this.#context.isDraining || this.head.isAmbiguous;
  }

  /** Writes the head, and a `connection` header if needed, which the library adds itself only for `end` with a body. Within a `cork`. */
  #writeFullHead(status: number, contentType: string, sessionId: string | undefined, headers: readonly string[]): void {
    this.#writeHead(status, contentType, sessionId, headers);
    if (this.#closesConnection) this.#res.writeHeader('connection', 'close');
  }

  override reserve(bytes: number, waiter: MemoryWaiter): 'room' | 'wait' | ShareBound {
    return this.#ensureAnswerMemory().reserve(bytes, waiter);
  }

  override countSentInPieces(bytes: number): void {
    if (this.#state !== 'done') this.#ensureAnswerMemory().countSentInPieces(bytes);
  }

  #ensureAnswerMemory(): AnswerMemory {
    return (this.#answerMemory ??= new AnswerMemory(this.#context.answerMemory, this.incoming.subject));
  }

  #writePart(part: Uint8Array): boolean {
    return this.#onProgress(this.#partWriter?.write(part) ?? 'writable');
  }

  /** Finishes the exchange, or watches a slow caller. @returns false if some of the part has to wait. */
  #onProgress(progress: WriteProgress): boolean {
    if (progress === 'complete') this.#finish(this.#state, 'whole');
    else this.#watchUnlessWritable(progress === 'writable');
    return progress !== 'full';
  }

  /** Tries to write more of a stream. @returns whether the library holds nothing back. */
  #writeMoreOfStream(stream: StreamWriter): boolean {
    const isAllTaken = stream.writeMore();
    if (isAllTaken) this.#answerMemory?.releaseUnread();
    this.#watchUnlessWritable(!stream.isBlocked);
    if (isAllTaken && this.#state === 'flushing') this.#endStream(NO_BODY);
    else if (isAllTaken) this.onDrain?.();
    return !stream.isBlocked;
  }

  /** Watches the caller while the response is not writable. @returns `isWritable`. */
  #watchUnlessWritable(isWritable: boolean): boolean {
    if (isWritable) this.#watch?.stop();
    else this.#watchReader();
    return isWritable;
  }

  #watchReader(): void {
    if (this.#watch !== undefined) return this.#watch.start();
    const { deadlines, slowReaderTimeoutMs } = this.#context;
    const writeMore = (): boolean => {
      if (this.#streamWriter !== undefined) return this.#writeMoreOfStream(this.#streamWriter);
      const offset = this.#res.getWriteOffset();
      return this.#writeMoreOfBody(offset) || this.#res.getWriteOffset() > offset;
    };
    this.#watch = new ReaderWatch(deadlines, slowReaderTimeoutMs, writeMore, () => this.#onStalled());
  }

  /** Tries to write more of a body. @returns false if some of it still has to wait. */
  #writeMoreOfBody(offset: number): boolean {
    const isPartTaken = this.#onProgress(this.#partWriter!.writeMore(offset));
    if (isPartTaken && this.#state === 'body') this.onDrain?.();
    return isPartTaken;
  }

  #onStalled(): void {
    const { logger, slowReaderTimeoutMs } = this.#context;
    const { virtualHostId } = this.head;
    logger.warn(
      { virtualHostId, slowReaderTimeoutMs },
      'client disconnected: it did not read its response for too long',
    );
    const { onAbort } = this;
    const isAnswered = this.#state === 'flushing';
    this.reset();
    if (!isAnswered) onAbort?.();
  }

  /** Ends a stream. @param last few enough bytes to be sent with the end. */
  #endStream(last: Uint8Array): void {
    this.#streamWriter?.end(last);
    this.#finish('flushing', 'whole');
  }

  #abort(): void {
    if (this.#state === 'done') return;
    const isAnswered = this.#state === 'flushing';
    this.isAborted = true;
    this.incoming.abandon();
    this.#finish(this.#state, 'cut');
    if (!isAnswered) this.onAbort?.();
  }

  /** Begins the answer. If the caller is gone, reports `unheard`. @returns whether to write the answer. */
  #begin(status: number): boolean {
    if (this.#state === 'open') this.#status = status;
    else if (this.isAborted) this.reportDone(status, 0, 'unheard');
    return this.#state === 'open';
  }

  /** Ends the exchange: nothing else leads to `done`. If there was no answer yet, the end is reported when the answer is given. */
  #finish(from: State, ending: ExchangeEnding): boolean {
    if (from === 'done' || !this.#transition(from, 'done')) return false;
    this.#partWriter?.drop();
    this.incoming.releaseMemory();
    this.#answerMemory?.release();
    this.#keepAlive?.cancel();
    this.#watch?.stop();
    this.#context.openExchangeCount -= 1;
    this.#context.openGets.delete(this);
    const isObserved = (this.watcher ?? this.onDone) !== undefined;
    if (isObserved && this.#status !== 0) this.reportDone(this.#status, this.#handedBytes(ending), ending);
    if (this.#context.openExchangeCount === 0) this.#context.onIdle?.();
    return true;
  }

  #handedBytes(ending: ExchangeEnding): number {
    if (this.#isHeadRequest) return 0;
    if (this.#streamWriter !== undefined) return this.#streamWriter.writtenBytes;
    return ending === 'whole' ? this.#answerBytes : (this.#partWriter?.takenBytes ?? 0);
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}
