// One HTTP request and its response over Node's own server objects. Only the request's head has been read at this
// point; headers that were set on the response before are sent with it.
//
//   open ── respond ──> flushing ── Node has handed it all over, or the caller went away ──> done
//   open ── openStream, openBody ──> streaming ── end ──> flushing
//   open, streaming ── the caller went away, or reset ──> done
import type { IncomingMessage, ServerResponse } from 'node:http';
import { keepAliveComment } from '../../bytes/index.js';
import {
  type AnswerForms,
  type BodyType,
  type Exchange,
  type ExchangeEnding,
  type ExchangeRequest,
  NO_MIRROR,
  type MirrorHeaders,
  ExchangeHooks,
  combinedHeader,
  mirrorIn,
  type TransportHead,
} from '../../exchange/index.js';
import type { Deadline, DeadlineWheel } from '../../fair/index.js';

/** Must come once (decisions 2.2). Node itself refuses a second `content-length`. */
const SINGLE_HEADERS = ['content-length', 'host', 'authorization', 'mcp-session-id'];

/** What the transport rules need of a request's head. */
interface ReceivedHead extends TransportHead {
  readonly lastEventId: string;
  /** As it was sent, `''` when absent. */
  readonly contentLength: string;
  readonly mirror: MirrorHeaders;
}

function readTransportHead({ headersDistinct, rawHeaders }: IncomingMessage): ReceivedHead {
  const first = (name: string): string => headersDistinct[name]?.[0] ?? '';
  const protocolVersion = (headersDistinct['mcp-protocol-version'] ?? []).reduce(combinedHeader, '');
  const mirror = mirrorIn(
    rawHeaders.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text)),
    protocolVersion,
  );
  return {
    // Several `accept` headers are one list (RFC 9110, 5.3).
    accept: headersDistinct['accept']?.join(',') ?? '',
    contentType: first('content-type'),
    sessionId: first('mcp-session-id'),
    protocolVersion,
    mirror: mirror ?? NO_MIRROR,
    isMirrorTooLarge: mirror === undefined,
    lastEventId: first('last-event-id'),
    contentLength: first('content-length'),
    isAmbiguous: SINGLE_HEADERS.some((name) => (headersDistinct[name]?.length ?? 0) > 1),
  };
}

/** Shared by all exchanges. */
export interface NodeExchangeContext {
  readonly deadlines: DeadlineWheel;
  readonly bodyBytesMax: number;
  /** Silence on an event stream before a comment is sent, ms. */
  readonly streamKeepAliveMs: number;
}

const NO_BODY = Buffer.alloc(0);
const relayedMethods = ['POST', 'DELETE', 'GET'] as const;

type State = 'open' | 'streaming' | 'flushing' | 'done';

export class NodeExchange extends ExchangeHooks implements Exchange {
  readonly isPart = false;
  readonly head: ReceivedHead;
  readonly #context: NodeExchangeContext;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  #state: State = 'open';
  #isAborted = false;
  readonly #request: { -readonly [Member in keyof ExchangeRequest]: ExchangeRequest[Member] };
  #keepAlive: Deadline | undefined;
  /** Status of the response, and the bytes of its body so far. */
  #status = 0;
  #answerBytes = 0;

  /** @param method one of the relay's; a request with any other method is refused before this value is used. */
  constructor(
    context: NodeExchangeContext,
    message: IncomingMessage,
    response: ServerResponse,
    method: ExchangeRequest['method'] = 'POST',
    requestId = '',
  ) {
    super();
    this.#context = context;
    this.#message = message;
    this.#response = response;
    const { sessionId, lastEventId, mirror } = (this.head = readTransportHead(message));
    this.#request = {
      ...{ method, sessionId, lastEventId, requestId },
      ...traceContextOf(message),
      ...{ answerForms: 'json', passthroughHeaders: [], mirror, body: NO_BODY },
    };
    response.on('close', () => this.#onClose());
    // The caller may have disconnected while its token was verified: then `close` has already been emitted.
    if (response.destroyed) this.#onClose();
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Members that only `receive` can fill are empty until then. */
  get request(): ExchangeRequest {
    return this.#request;
  }

  /** Resolves when the request is complete or too large; never if the caller disconnects before that. */
  receive(answerForms: AnswerForms): Promise<'complete' | 'too-large'> {
    this.#request.answerForms = answerForms;
    const { bodyBytesMax } = this.#context;
    // Node discards the body once the response is written.
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
      this.#message.on('end', () => {
        this.#request.body = Buffer.concat(chunks);
        resolve('complete');
      });
    });
  }

  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers: readonly string[] = [],
  ): void {
    if (!this.#begin(status)) return;
    this.#transition('open', 'flushing');
    this.#answerBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    this.#setHead(status, contentType, sessionId, headers);
    this.#response.end(body);
  }

  openStream(sessionId?: string): void {
    if (!this.#begin(200)) return;
    this.#transition('open', 'streaming');
    this.#setHead(200, 'text/event-stream', sessionId, STREAM_HEADERS);
    this.#response.flushHeaders();
    this.#response.on('drain', () => this.onDrain?.());
    const { deadlines, streamKeepAliveMs } = this.#context;
    this.#keepAlive = deadlines.after(streamKeepAliveMs, () => this.write(keepAliveComment));
  }

  openBody(contentType: BodyType, bodyBytes: number): void {
    if (!this.#begin(200)) return;
    this.#transition('open', 'streaming');
    const headers = contentType === 'text/event-stream' ? STREAM_HEADERS : [];
    this.#setHead(200, contentType, undefined, [...headers, 'content-length', String(bodyBytes)]);
    this.#response.on('drain', () => this.onDrain?.());
  }

  write(bytes: Uint8Array): boolean {
    if (this.#state !== 'streaming') return true;
    this.#keepAlive?.restart();
    this.#answerBytes += bytes.length;
    // When this returns true, the writer reuses its memory although Node may still hold the bytes: so they are copied.
    const isSmall = bytes.length < this.#response.writableHighWaterMark;
    return this.#response.write(isSmall ? Buffer.from(bytes) : bytes);
  }

  end(last?: Uint8Array): void {
    if (last !== undefined) this.write(last);
    if (!this.#transition('streaming', 'flushing')) return;
    this.#keepAlive?.cancel();
    this.#response.end();
  }

  reset(): void {
    if (this.#state === 'done') this.tellDone(0, 0, 'unheard');
    if (this.#state === 'flushing' || this.#state === 'done') return;
    this.#isAborted = true;
    this.#finish('cut');
    this.#response.destroy();
  }

  /** Only parts of a batch use it. */
  onRead(): void {}

  /** Responses and requests of the control plane's few callers are not counted against shares. */
  makeRoom(): 'room' {
    return 'room';
  }

  countInPieces(): void {}

  /** The body's memory belongs to Node. */
  releaseBody(): void {}

  #setHead(status: number, contentType: string, sessionId: string | undefined, headers: readonly string[]): void {
    this.#response.statusCode = status;
    if (contentType !== '') this.#response.setHeader('content-type', contentType);
    if (sessionId !== undefined) this.#response.setHeader('mcp-session-id', sessionId);
    for (let i = 0; i + 1 < headers.length; i += 2) this.#response.setHeader(headers[i] ?? '', headers[i + 1] ?? '');
  }

  /** To be called with the response's status. If the caller is gone, the exchange ends here. @returns whether to send the response. */
  #begin(status: number): boolean {
    if (this.#state !== 'open') {
      if (this.#isAborted) this.tellDone(status, 0, 'unheard');
      return false;
    }
    this.#status = status;
    return true;
  }

  /** The response was sent, or its connection is gone. After a complete response neither is an abort. */
  #onClose(): void {
    if (this.#state === 'flushing') {
      this.#finish(this.#response.writableFinished ? 'whole' : 'cut');
    } else if (this.#state !== 'done') {
      this.#isAborted = true;
      const hasBegun = this.#state === 'streaming';
      this.#finish(hasBegun ? 'cut' : undefined);
      this.onAbort?.();
    }
  }

  /** @param ending `undefined` while the request goes on without its caller. */
  #finish(ending: ExchangeEnding | undefined): void {
    this.#transition(this.#state, 'done');
    this.#keepAlive?.cancel();
    if (ending !== undefined) this.tellDone(this.#status, this.#answerBytes, ending);
  }

  /** The only place that changes the state. */
  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** The request's method, if it is one of those that the relay knows. */
export function relayedMethod({ method }: IncomingMessage): ExchangeRequest['method'] | undefined {
  return relayedMethods.find((each) => each === method);
}

/** Read even when tracing is off: requests are few here. */
function traceContextOf({ headers }: IncomingMessage): Pick<ExchangeRequest, 'traceparent' | 'tracestate'> {
  const [traceparent, tracestate] = [headers['traceparent'], headers['tracestate']].map((value) =>
    Array.isArray(value) ? value.join() : (value ?? ''),
  );
  return { traceparent: traceparent ?? '', tracestate: tracestate ?? '' };
}

const STREAM_HEADERS = ['cache-control', 'no-cache, no-transform', 'x-accel-buffering', 'no'];
