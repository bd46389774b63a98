// One request and its answer over `node:http`, by the rules of uWebSockets.js, which the edge keeps: bytes that are given are
// copied, what waits for the caller is told by `onWritable`, and nothing is called after an abort.
//
//   open ── the kernel does not take all ──> held-back ── it has taken it ──> open
//   open, held-back ── end ──> ended
//   open, held-back, ended ── the connection is closed, or the library has to answer ──> gone
import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../../shared/limits.js';
import type { HttpRequest, HttpResponse } from './http-library.js';

/** As much of a body of known length as is given to Node at once. */
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
      // Node reads a byte as a character; the edge wants UTF-8.
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
  /** The request's body. */
  #isPaused = false;
  #writeOffset = 0;
  #onWritable: ((offset: number) => boolean) | undefined;
  #onAborted: (() => void) | undefined;
  /** Of the body, since the last look at how fast it comes. */
  #windowBytes = 0;
  #windowStartMs = 0;

  /** @param onAnswered is called once all of the answer was given, or the caller is gone. */
  constructor(req: IncomingMessage, res: ServerResponse, onAnswered: () => void) {
    this.#req = req;
    this.#res = res;
    this.#onAnswered = onAnswered;
    // What Node says of a connection that broke; `close` comes as well.
    req.on('error', () => {});
    res.on('error', () => {});
    res.on('close', () => this.#onClose());
  }

  /** Whether the body should have come by now. */
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
    return !this.#isHoldingBack();
  }

  end(body?: string | Uint8Array, closeConnection = false): void {
    if (!this.#res.headersSent) {
      this.#headers.push('content-length', String(body === undefined ? 0 : Buffer.byteLength(body)));
      if (closeConnection) this.#headers.push('connection', 'close');
    }
    this.#sendHead();
    this.#end(body);
  }

  endWithoutBody(): void {
    this.#sendHead();
    this.#end(undefined);
  }

  tryEnd(part: Uint8Array, totalBytes: number): [hasRoom: boolean, isComplete: boolean] {
    if (!this.#res.headersSent) this.#headers.push('content-length', String(totalBytes));
    this.#sendHead();
    let at = 0;
    while (at < part.length && !this.#isHoldingBack()) {
      const piece = part.subarray(at, at + PIECE_BYTES);
      at += piece.length;
      this.#writeOffset += piece.length;
      this.#res.write(copyOf(piece), this.#onFlushed);
    }
    if (this.#isHoldingBack()) return [false, false];
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
  }

  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    this.#windowStartMs = performance.now();
    this.#req.on('data', (chunk: Buffer) => {
      if (this.#state === 'gone') return;
      this.#measure(chunk.length);
      handler(new Uint8Array(chunk).buffer, false);
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
    // Its silence was ours.
    this.#req.socket.setTimeout(limits.nodeSilenceMsMax);
    this.#req.resume();
  }

  close(): void {
    this.#req.socket.destroy();
  }

  /** The rest of the request cannot be read. @returns false when the answer has begun; else nothing more is written here. */
  leave(): boolean {
    if (this.#res.headersSent) return false;
    this.#onClose();
    return true;
  }

  #sendHead(): void {
    if (this.#res.headersSent) return;
    const space = this.#status.indexOf(' ');
    this.#res.writeHead(Number(this.#status.slice(0, space)), this.#status.slice(space + 1), this.#headers);
  }

  #end(body: string | Uint8Array | undefined): void {
    if (!this.#transition('open', 'ended')) this.#transition('held-back', 'ended');
    // What is still to come of the request is read and dropped by Node.
    if (body === undefined) this.#res.end();
    else this.#res.end(copyOf(body));
    this.#onAnswered();
  }

  /** Node gathers what is written in a turn: it has it written now, and tells what the kernel did not take. */
  #isHoldingBack(): boolean {
    const { socket } = this.#req;
    while (socket.writableCorked > 0) socket.uncork();
    const isHoldingBack = socket.writableLength > 0;
    if (isHoldingBack) this.#transition('open', 'held-back');
    else this.#transition('held-back', 'open');
    return isHoldingBack;
  }

  readonly #onFlushed = (): void => {
    if (this.#state !== 'held-back' || this.#req.socket.writableLength > 0) return;
    this.#transition('held-back', 'open');
    this.#onWritable?.(this.#writeOffset);
  };

  #onClose(): void {
    if (this.#state === 'gone') return;
    const wasEnded = this.#state === 'ended';
    this.#transition(this.#state, 'gone');
    this.#onAnswered();
    if (!wasEnded) this.#onAborted?.();
  }

  /** A body that comes byte by byte keeps its connection no longer than one that does not come. */
  #measure(bytes: number): void {
    this.#windowBytes += bytes;
    if (performance.now() - this.#windowStartMs < limits.nodeSilenceMsMax) return;
    if (this.#windowBytes < limits.nodeBodyBytesLeast) this.#req.socket.destroy();
    else this.#beginWindow();
  }

  #beginWindow(): void {
    this.#windowBytes = 0;
    this.#windowStartMs = performance.now();
  }

  /** The one writer of the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** Node keeps what it is given until the kernel has it; the edge may use it again. */
function copyOf(bytes: string | Uint8Array): string | Uint8Array {
  return typeof bytes === 'string' ? bytes : Buffer.from(bytes);
}
