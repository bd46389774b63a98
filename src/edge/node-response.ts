// One request and its answer over `node:http`, behaving as the edge expects of uWebSockets.js: written bytes are copied, `onWritable` is
// called when the caller has read them, and no callback is called after an abort.
//   open ── the kernel does not take all ──> held-back ── it has taken it ──> open
//   open, held-back ── end ──> ended
//   open, held-back, ended ── the connection is closed, or the server itself answers ──> gone
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpRequest, HttpResponse } from './http-library.js';
import { KIB } from '../shared/index.js';

/** Idle time of a connection without a request, and time for a request's head to arrive. After that, it is closed. */
export const NODE_SILENCE_MS_MAX = 10_000;
/** Bytes of a body that must arrive in every ten seconds. If fewer do, the connection is closed. */
const NODE_BODY_BYTES_LEAST = 160 * KIB;

/** How many bytes are given to Node at once. */
const PIECE_BYTES = 16 * 1024;
const ASCII = /^[\0-\x7F]*$/;

export class NodeRequest implements HttpRequest {
  readonly #req: IncomingMessage;
  readonly #method: string;
  readonly #parameter: string | undefined;

  constructor(req: IncomingMessage, method: string, parameter: string | undefined) {
    this.#req = req;
    this.#method = method;
    this.#parameter = parameter;
  }

  getMethod(): string {
    return this.#method;
  }

  getParameter(index: number): string | undefined {
    return index === 0 ? this.#parameter : undefined;
  }

  forEach(callback: (name: string, value: string) => void): void {
    const { rawHeaders } = this.#req;
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const value = rawHeaders[i + 1] ?? '';
      // Node decodes headers as Latin-1, but the edge expects UTF-8.
      const text = ASCII.test(value) ? value : Buffer.from(value, 'latin1').toString();
      callback((rawHeaders[i] ?? '').toLowerCase(), text);
    }
  }
}

type State = 'open' | 'held-back' | 'ended' | 'gone';

export class NodeResponse implements HttpResponse {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #onAnswered: () => void;
  #status = '200 OK';
  readonly #headers: string[] = [];
  #state: State = 'open';
  #isPaused = false;
  #writeOffset = 0;
  #onWritable: ((offset: number) => boolean) | undefined;
  #onAborted: (() => void) | undefined;
  /** How many body bytes have arrived since the last check of their rate. */
  #windowBytes = 0;
  #windowStartMs = 0;

  /** @param onAnswered called when the whole answer was given, or the caller is gone. */
  constructor(req: IncomingMessage, res: ServerResponse, onAnswered: () => void) {
    this.#req = req;
    this.#res = res;
    this.#onAnswered = onAnswered;
    // An error is ignored, because `close` follows.
    req.on('error', () => {});
    res.on('error', () => {});
    res.on('close', () => this.#onClose());
  }

  /** Whether the body is incomplete, although its reading is not paused. */
  get isBodyLate(): boolean {
    return !this.#req.complete && !this.#isPaused;
  }

  writeStatus(status: string): void {
    this.#status = status;
  }

  writeHeader(name: string, value: string): void {
    this.#headers.push(name, value);
  }

  write(chunk: string | Uint8Array): boolean {
    this.#sendHead();
    this.#res.write(copyOf(chunk), this.#onFlushed);
    return this.#flush();
  }

  end(body?: string | Uint8Array, closeConnection = false): void {
    const bytes = body === undefined ? 0 : Buffer.byteLength(body);
    this.#sendHead('content-length', String(bytes), ...(closeConnection ? ['connection', 'close'] : []));
    this.#end(body);
  }

  endWithoutBody(): void {
    this.#sendHead();
    this.#end(undefined);
  }

  tryEnd(part: Uint8Array, totalBytes: number): [isTaken: boolean, isComplete: boolean] {
    this.#sendHead('content-length', String(totalBytes));
    let at = 0;
    while (at < part.length && this.#flush()) {
      const piece = part.subarray(at, at + PIECE_BYTES);
      at += piece.length;
      this.#writeOffset += piece.length;
      this.#res.write(copyOf(piece), this.#onFlushed);
    }
    if (!this.#flush()) return [false, false];
    if (this.#writeOffset < totalBytes) return [true, false];
    this.#end(undefined);
    return [true, true];
  }

  getWriteOffset(): number {
    return this.#writeOffset;
  }

  onWritable(handler: (offset: number) => boolean): void {
    this.#onWritable = handler;
  }

  onAborted(handler: () => void): void {
    this.#onAborted = handler;
    // The caller may be gone before the handlers are set.
    if (this.#res.destroyed) this.#onClose();
  }

  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#windowStartMs = performance.now();
    this.#req.on('data', (chunk: Buffer) => {
      // Also behind the answer, when nobody wants the rest.
      this.#measure(chunk.length);
      if (this.#state !== 'gone') handler(new Uint8Array(chunk).buffer, false);
    });
    this.#req.on('end', () => {
      if (this.#state !== 'gone') handler(new ArrayBuffer(0), true);
    });
  }

  cork(callback: () => void): void {
    callback();
  }

  pause(): void {
    this.#isPaused = true;
    this.#req.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#beginWindow();
    // The timeout for silence starts over: the request was silent only because its reading was paused.
    const { socket } = this.#req;
    socket.setTimeout(socket.timeout ?? 0);
    this.#req.resume();
  }

  close(): void {
    this.#req.socket.destroy();
  }

  /** Called when the rest of the request is unreadable. @returns false if the answer has begun; otherwise nothing more is written. */
  tryAbandon(): boolean {
    if (this.#res.headersSent) return false;
    this.#onClose();
    return true;
  }

  /** Sends the head, unless it has been sent. @param headers added to those that were written. */
  #sendHead(...headers: readonly string[]): void {
    if (this.#res.headersSent) return;
    const space = this.#status.indexOf(' ');
    const all = [...this.#headers, ...headers];
    this.#res.writeHead(Number(this.#status.slice(0, space)), this.#status.slice(space + 1), all);
  }

  #end(body: string | Uint8Array | undefined): void {
    if (!this.#transition('open', 'ended')) this.#transition('held-back', 'ended');
    // Node discards the rest of the request. Its rate is still measured, because it may be too slow.
    if (!this.#req.complete && this.#req.listenerCount('data') === 0) {
      this.#beginWindow();
      this.#req.on('data', ({ length }: Buffer) => this.#measure(length));
    }
    if (body === undefined) this.#res.end();
    else this.#res.end(copyOf(body));
    this.#onAnswered();
  }

  /** Writes what Node has gathered. @returns whether the kernel has accepted everything. */
  #flush(): boolean {
    const { socket } = this.#req;
    while (socket.writableCorked > 0) socket.uncork();
    // A lost connection accepts nothing more.
    const isFlushed = socket.writableLength === 0 && !socket.destroyed;
    if (isFlushed) this.#transition('held-back', 'open');
    else this.#transition('open', 'held-back');
    return isFlushed;
  }

  readonly #onFlushed = (): void => {
    if (this.#state === 'held-back' && this.#flush()) this.#onWritable?.(this.#writeOffset);
  };

  #onClose(): void {
    if (this.#state === 'gone') return;
    this.#transition(this.#state, 'gone');
    this.#onAnswered();
    this.#onAborted?.();
  }

  /** Measures the rate of the body, and closes the connection if it is too slow. */
  #measure(bytes: number): void {
    this.#windowBytes += bytes;
    if (performance.now() - this.#windowStartMs < NODE_SILENCE_MS_MAX) return;
    if (this.#windowBytes < NODE_BODY_BYTES_LEAST) this.#req.socket.destroy();
    else this.#beginWindow();
  }

  #beginWindow(): void {
    this.#windowBytes = 0;
    this.#windowStartMs = performance.now();
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** A copy, because Node refers to the bytes until the kernel has them, and the edge may reuse their memory at once. */
function copyOf(bytes: string | Uint8Array): string | Uint8Array {
  return typeof bytes === 'string' ? bytes : Buffer.from(bytes);
}
