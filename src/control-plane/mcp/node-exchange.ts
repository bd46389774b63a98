// One HTTP request and its answer over Node's own server objects. Of the request nothing but its head has been read when
// it comes here; what was set on the response before goes out with the answer.
//
//   open ──respond──────────────────> done
//    └────openStream, openBody──> streaming ──end──> done
//   open, streaming ──the caller went away, or cut──> done (aborted)
import type { IncomingMessage, ServerResponse } from 'node:http';
import { keepAliveComment } from '../../protocol/event-stream.js';
import type { BodyType, Exchange, ExchangeRequest } from '../../relay/exchange.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';

/** What exchanges share. */
export interface NodeExchangeContext {
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** Silence on an event stream before a comment is sent. */
  readonly streamKeepAliveMs: number;
}

type State = 'open' | 'streaming' | 'done';

export class NodeExchange implements Exchange {
  onDrain: (() => void) | undefined;
  onAbort: (() => void) | undefined;
  readonly #context: NodeExchangeContext;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  #state: State = 'open';
  #isAborted = false;
  #request: ExchangeRequest | undefined;
  #keepAlive: Deadline | undefined;

  constructor(context: NodeExchangeContext, message: IncomingMessage, response: ServerResponse) {
    this.#context = context;
    this.#message = message;
    this.#response = response;
    response.on('close', () => this.#abort());
    // The caller may have gone while its token was looked at; then there is no `close` to come.
    if (response.destroyed) this.#abort();
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  get request(): ExchangeRequest {
    if (this.#request === undefined) throw new Error('the request is not complete yet');
    return this.#request;
  }

  /** The body when it has come to its end; never resolved when the caller goes away before. */
  readBody(): Promise<Buffer | 'too-large'> {
    const { bodyBytesMax } = this.#context;
    // Node throws the body away once the answer is written.
    if (Number(this.#message.headers['content-length']) > bodyBytesMax) return Promise.resolve('too-large');
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      this.#message.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= bodyBytesMax) {
          chunks.push(chunk);
        } else {
          chunks.length = 0;
          resolve('too-large');
        }
      });
      this.#message.on('end', () => resolve(Buffer.concat(chunks)));
    });
  }

  /** What the relay gets to see. */
  complete(request: ExchangeRequest): void {
    this.#request = request;
  }

  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers: readonly string[] = [],
  ): void {
    if (this.#state !== 'open') return;
    this.#finish();
    this.#setHead(status, contentType, sessionId, headers);
    this.#response.end(body);
  }

  openStream(sessionId?: string): void {
    if (this.#state !== 'open') return;
    this.#state = 'streaming';
    this.#setHead(200, 'text/event-stream', sessionId, STREAM_HEADERS);
    this.#response.flushHeaders();
    this.#response.on('drain', () => this.onDrain?.());
    const { deadlines, streamKeepAliveMs } = this.#context;
    this.#keepAlive = deadlines.after(streamKeepAliveMs, () => this.write(keepAliveComment));
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    if (this.#state !== 'open') return;
    this.#state = 'streaming';
    const headers = contentType === 'text/event-stream' ? STREAM_HEADERS : [];
    this.#setHead(200, contentType, undefined, [...headers, 'content-length', String(bodyBytes)]);
    this.#response.on('drain', () => this.onDrain?.());
  }

  write(bytes: Uint8Array): boolean {
    if (this.#state !== 'streaming') return true;
    this.#keepAlive?.restart();
    // What Node takes with room for more it may hold back all the same, but its memory is the writer's again.
    const isSmall = bytes.length < this.#response.writableHighWaterMark;
    return this.#response.write(isSmall ? Buffer.from(bytes) : bytes);
  }

  end(): void {
    if (this.#state !== 'streaming') return;
    this.#finish();
    this.#response.end();
  }

  reset(): void {
    if (this.#state === 'done') return;
    this.#isAborted = true;
    this.#finish();
    this.#response.destroy();
  }

  #setHead(status: number, contentType: string, sessionId: string | undefined, headers: readonly string[]): void {
    this.#response.statusCode = status;
    if (contentType !== '') this.#response.setHeader('content-type', contentType);
    if (sessionId !== undefined) this.#response.setHeader('mcp-session-id', sessionId);
    for (let i = 0; i + 1 < headers.length; i += 2) this.#response.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
  }

  /** After a complete answer the connection's end is nobody's loss. */
  #abort(): void {
    if (this.#state === 'done') return;
    this.#isAborted = true;
    this.#finish();
    this.onAbort?.();
  }

  #finish(): void {
    this.#state = 'done';
    this.#keepAlive?.cancel();
  }
}

const STREAM_HEADERS = ['cache-control', 'no-cache, no-transform', 'x-accel-buffering', 'no'];
