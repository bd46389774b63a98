// One HTTP request of a caller and its answer, as the relay sees them. The edge, the hop, the control plane and batches implement
// `Exchange`; `CallerlessExchange` is for messages whose HTTP request another process has answered. Hot path: one object per request.
import { bearerToken, headerIn, KIB } from '../shared/index.js';
import type { ParsedClientMessage } from '../mcp/index.js';
import type { MemoryWaiter, ShareBound } from '../fair/index.js';
import { NO_METADATA, type RequestMetadata, type TraceHeaders } from '../http-client/index.js';
import type { IdSpan } from '../upstream/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';

/** The most bytes of an event that is written together with the head of its stream, or with the end. */
export const JOINED_EVENT_BYTES_MAX = 8 * KIB;

/** A subject and its virtual host, as admission found them in the config of that moment. */
export interface Caller {
  readonly subject: string;
  readonly virtualHost: CompiledVirtualHost;
}

/** What the caller accepts, by its `Accept` header (specification 2.2). */
export type AcceptedTypes = 'json' | 'event-stream' | 'both';

/** The content type of a body in parts: one message, or one event with a message. */
export type BodyType = 'application/json' | 'text/event-stream';

/**
 * How an exchange ended. `whole`: all of the answer was handed over. `cut`: at most a part. `unheard`: the caller went away before there
 * was an answer, and the request has ended since. A disconnect cancels a request only in the modern era (S12, M08).
 */
export type ExchangeEnding = 'whole' | 'cut' | 'unheard';

/**
 * How a request ended. `tool-error`: a result with `isError`; `rpc-error`: a JSON-RPC error, the backend's or the gateway's; `fault`: the
 * backend failed; `refused`: the gateway gave a refusal.
 */
export type RequestOutcome = 'ok' | 'tool-error' | 'rpc-error' | 'fault' | 'refused';

/** What kind of thing a name in logs and traces belongs to; `''` for no name. */
export type NameKind = 'tool' | 'prompt' | '';

/** The headers of MCP 2026-07-28 that repeat parts of the body, as sent: some may be `=?base64?…?=`. `''` for an absent header. */
export interface MirrorHeaders {
  /** `mcp-protocol-version`; legacy callers send it, too. */
  readonly protocolVersion: string;
  /** The value of `mcp-method`. */
  readonly method: string;
  /** The value of `mcp-name`. */
  readonly name: string;
  /** The `mcp-param-*` headers: lower-case name, value, name, value, … each name once, in the order received. */
  readonly params: readonly string[];
}

export const NO_MIRROR: MirrorHeaders = Object.freeze({
  protocolVersion: '',
  method: '',
  name: '',
  params: Object.freeze([]),
});

/** What the relay needs to know about a request. Values stay valid after the handler has returned. */
export interface ExchangeRequest {
  /** The HTTP method. Requests with `other` do not reach the relay. */
  readonly method: 'POST' | 'DELETE' | 'GET' | 'other';
  /** The value of `mcp-session-id`, or `''`. */
  readonly sessionId: string;
  /** The value of `last-event-id`, or `''`; the backend's name, if the request is a backend's answer that was passed back. */
  readonly lastEventId: string;
  /** The request's id for logs, and for backends as `x-request-id`; `''` where requests have no ids. */
  readonly requestId: string;
  /** The W3C trace context; `''` when it is absent or tracing is off. */
  readonly traceparent: string;
  readonly tracestate: string;
  readonly acceptedTypes: AcceptedTypes;
  /** The headers that some backend lists in `passthrough_headers`: lower-case name, value, … in the order received. */
  readonly passthroughHeaders: readonly string[];
  /** The headers that repeat the body. They change with it when a wrapped call is replaced by the call in it (wrapped-call.ts). */
  mirror: MirrorHeaders;
  /** Whether a wrapped call was replaced: its headers do not repeat its arguments, so the gateway makes the `mcp-param-*` headers. */
  isWrapped?: boolean;
  /** Whether it came from this worker's successor on their own channel: then a response is a backend's answer to a request here. */
  isFromSuccessor?: boolean;
  /** The whole body; empty for none. Only `wrapped-call.ts` changes its bytes. */
  readonly body: Buffer;
}

// Selects the caller's headers that a backend gets (specification 2.6): those that this backend's config lists.

export function metadataFor(backend: CompiledBackend, request: ExchangeRequest): RequestMetadata {
  const { requestId } = request;
  const callerToken =
    backend.auth?.type === 'token-exchange'
      ? bearerToken(headerIn(request.passthroughHeaders, 'authorization') ?? '')
      : '';
  const headers =
    backend.passthroughHeaders.size === 0 ? NO_METADATA.headers : headersFor(backend.passthroughHeaders, request);
  if (headers.length === 0 && requestId === '' && callerToken === '') return NO_METADATA;
  // A backend whose config lists `x-request-id` gets the caller's own id instead of the gateway's.
  const hasOwnId = headers.length > 0 && headerIn(headers, 'x-request-id') !== undefined;
  return { headers, requestId: hasOwnId ? '' : requestId, callerToken };
}

/** The caller's headers that the config of a backend lists. @returns name, value, name, value, … */
function headersFor(listed: ReadonlySet<string>, { passthroughHeaders: offered }: ExchangeRequest): readonly string[] {
  const copied: string[] = [];
  for (let i = 0; i + 1 < offered.length; i += 2)
    if (listed.has(offered[i]!)) copied.push(offered[i]!, offered[i + 1]!);
  return copied;
}

/**
 * A request and the methods that answer it: `respond` once, or `openStream` or `openBody`, then any number of `write`, then `end`. The
 * head may be held back until the first bytes. Every call after an abort, or after the end, does nothing (`write` returns true).
 * The hooks (`onDrain` and so on) are plain fields, which cost nothing without a listener. Hot path: one object per exchange.
 */
export abstract class Exchange {
  abstract readonly request: ExchangeRequest;
  /** Whether nothing reaches the caller: it is gone, or the answer was reset. Its era decides whether that cancels the call (S12, M08). */
  abstract readonly isAborted: boolean;

  /**
   * Sends the whole answer.
   * @param body belongs to the exchange from then on: a large one is sent without a copy.
   * @param sessionId the `mcp-session-id`, only for a result of `initialize` (S18).
   * @param headers name, value, …
   */
  abstract respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers?: readonly string[],
  ): void;

  /** Whether a body of up to `REUSED_BUFFER_BYTES` may change as soon as `respond` returns. */
  readonly copiesSmallBodies: boolean = false;

  /** Opens an event stream with status 200. The exchange sends keep-alive comments. */
  abstract openStream(sessionId?: string): void;
  /** Opens a body with status 200: an answer of known length in parts, split at any byte. */
  abstract openBody(contentType: BodyType, bodyBytes: number): void;
  /**
   * Writes bytes of an open body, or whole events of an open stream.
   * @returns true when there is room for more, and the memory may be reused; false when the caller reads too slowly: the bytes are
   *   accepted, but until `onDrain` they must not change, and no more may be written.
   */
  abstract write(bytes: Uint8Array): boolean;
  /**
   * Ends an open stream, or a body that was written completely.
   * @param last the last bytes, allowed even before `onDrain`. They belong to the exchange from then on.
   */
  abstract end(last?: Uint8Array): void;
  /** Ends the caller's connection, so that it notices that the answer is incomplete. The exchange is over; `onAbort` is not called. */
  abstract reset(): void;

  get isBatchPart(): boolean {
    return false;
  }

  /** Called when the request's message was parsed. Only parts of a batch use it: theirs was parsed in several turns of the event loop. */
  onMessageParsed(_message: ParsedClientMessage): void {}

  /** Reserves memory for a large answer that is assembled in memory. @param _waiter called later if `wait` is returned. */
  reserve(_bytes: number, _waiter: MemoryWaiter): 'room' | 'wait' | ShareBound {
    return 'room';
  }

  /**
   * Counts a message that is handed over in pieces, until the exchange is over.
   * @param _bytes of the message; 0 when its last piece was handed over.
   */
  countSentInPieces(_bytes: number): void {}

  /** Called when nothing reads the request's body any more. */
  releaseBody(): void {}

  /** Called when there is room after a `write` that returned false, and perhaps at other times. Set by the relay. */
  onDrain: (() => void) | undefined = undefined;
  /** Called once when the caller goes away before the answer is complete. Set by the relay. */
  onAbort: (() => void) | undefined = undefined;

  /** Gets the events of the exchange, for logs, metrics and traces; `undefined` if none of these needs them. */
  watcher: ExchangeWatcher | undefined = undefined;
  /** Called once at the end, after the watcher. @see ExchangeWatcher.onDone */
  onDone: ((status: number, bytes: number, ending: ExchangeEnding) => void) | undefined = undefined;
  /** Called for a request in a lease if the backend at the URL keeps no sessions, so that any process may send requests to it. */
  onSessionless: ((url: string) => void) | undefined = undefined;

  /** Reports the end. Later calls do nothing. */
  protected reportDone(status: number, bytes: number, ending: ExchangeEnding): void {
    const { watcher, onDone } = this;
    this.watcher = undefined;
    this.onDone = undefined;
    watcher?.onDone(status, bytes, ending);
    onDone?.(status, bytes, ending);
  }
}

export interface ExchangeWatcher {
  /** Whether results have to be searched for `isError`. */
  readonly wantsToolErrors: boolean;
  /** Called once the request's target is known. @param backend the backend's name, or `''`. @param name of a tool or prompt, or `''`. */
  onIdentified(method: string, backend: string, name: string, nameKind?: NameKind): void;
  /**
   * Called before the answer is given; not for trivial answers, such as an empty list.
   * @param detail the code of an error or a refusal, the kind of a fault; or `''`.
   * @param backendMs milliseconds until the backend had answered or failed; -1 if the request was sent to no backend.
   */
  onOutcome(outcome: RequestOutcome, detail: string | number, backendMs: number): void;
  /** Whether `onSending` returns trace headers. */
  readonly isTraced: boolean;
  /**
   * Called when the request is sent to its backend, perhaps more than once.
   * @param traceparent the one in the message itself, or `''`.
   * @param id the id of the message.
   */
  onSending(traceparent: string, id: IdSpan): TraceHeaders | undefined;
  /** Called for each message of a batch, before it is handled. */
  onBatchPart(part: Exchange): void;
  /**
   * Called once, when the exchange is over.
   * @param status the HTTP status; 0 when no head was sent.
   * @param bytes how many bytes of the body were handed over: to the kernel, or by a hop to the other worker.
   */
  onDone(status: number, bytes: number, ending: ExchangeEnding): void;
}

/** The request of an exchange without a caller, as if it had come to this process. */
export function callerlessRequest(sessionId: string, body: Buffer, more: Partial<ExchangeRequest>): ExchangeRequest {
  return {
    method: 'POST',
    sessionId,
    lastEventId: '',
    requestId: '',
    traceparent: '',
    tracestate: '',
    acceptedTypes: 'json',
    passthroughHeaders: [],
    mirror: NO_MIRROR,
    body,
    ...more,
  };
}

/** The exchange of a message whose HTTP request another process has answered: what is sent to it is discarded. Cold path. */
export class CallerlessExchange extends Exchange {
  readonly request: ExchangeRequest;
  readonly isAborted: boolean = false;

  constructor(request: ExchangeRequest) {
    super();
    this.request = request;
  }

  respond(status: number, _contentType: string, _body: Uint8Array | string): void {
    this.reportDone(status, 0, 'unheard');
  }
  openStream(): void {}
  openBody(_contentType: BodyType, _bodyBytes: number): void {}
  write(_bytes: Uint8Array): boolean {
    return true;
  }
  end(_last?: Uint8Array): void {}
  reset(): void {
    this.reportDone(0, 0, 'unheard');
  }
}
