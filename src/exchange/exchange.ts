// One HTTP request of a caller and its answer, as the relay sees them, whatever the HTTP server. The edge implements `Exchange` over its
// HTTP library, the hop over a Unix socket, the control plane over Node's own server, and a batch for each of its messages;
// `CallerlessExchange`, below, is for notifications that another process has already answered. Hot path: one object per request.
import { bearerToken, headerIn, KIB } from '../shared/index.js';
import type { ParsedClientMessage } from '../mcp/index.js';
import type { MemoryWaiter, ShareBound } from '../fair/index.js';
import { NO_METADATA, type RequestMetadata, type TraceHeaders } from '../http-client/index.js';
import type { IdSpan } from '../upstream/index.js';
import type { CompiledBackend, CompiledVirtualHost } from '../user-config/index.js';

/** Bytes of an event that is written together with the head of its stream, or with the end. A larger event is written separately. */
export const JOINED_EVENT_BYTES_MAX = 8 * KIB;

/** A subject and its virtual host, as admission found it in the config of that moment. */
export interface Caller {
  readonly subject: string;
  readonly virtualHost: CompiledVirtualHost;
}

/** Which forms of an answer the caller's `Accept` header allows (specification 2.2). */
export type AcceptedTypes = 'json' | 'event-stream' | 'both';

/** The type of a body that is given in parts: one message, or one event that contains a message. */
export type BodyType = 'application/json' | 'text/event-stream';

/**
 * How an exchange ended. `whole`: all of the answer was handed over. `cut`: at most a part of it. `unheard`: the caller went away before
 * there was an answer; the request went on, and has ended since. A disconnect cancels a request only in the modern era (S12, M08).
 */
export type ExchangeEnding = 'whole' | 'cut' | 'unheard';

/**
 * The outcome of a request. `tool-error`: its result says `isError`; `rpc-error`: a JSON-RPC error, the backend's or ours; `fault`: its
 * backend failed; `refused`: the request could not be answered, or there was no room for it.
 */
export type RequestOutcome = 'ok' | 'tool-error' | 'rpc-error' | 'fault' | 'refused';

/** What a name in logs and traces is the name of; `''` for no name. */
export type NameKind = 'tool' | 'prompt' | '';

/**
 * The headers of MCP 2026-07-28 that describe a request, not yet compared with its body. Values are as sent: some may have the form
 * `=?base64?…?=`. `''` for an absent header.
 */
export interface MirrorHeaders {
  /** `mcp-protocol-version`, which legacy callers send too. */
  readonly protocolVersion: string;
  /** `mcp-method`. */
  readonly method: string;
  /** `mcp-name`. */
  readonly name: string;
  /** `mcp-param-*`: lower-case name, value, name, value, … each name once, in the order received. */
  readonly params: readonly string[];
}

/** The mirror of a request without any of these headers. */
export const NO_MIRROR: MirrorHeaders = Object.freeze({
  protocolVersion: '',
  method: '',
  name: '',
  params: Object.freeze([]),
});

/** What the relay needs to know about a request. Values are copies: they stay valid after the handler has returned. */
export interface ExchangeRequest {
  /** Requests with `other` do not reach the relay. */
  readonly method: 'POST' | 'DELETE' | 'GET' | 'other';
  /** `mcp-session-id`, or `''` when the header is absent. */
  readonly sessionId: string;
  /** `last-event-id` of a GET, or `''`. */
  readonly lastEventId: string;
  /** The id of the HTTP request, for logs, and for backends as `x-request-id`; `''` where requests have none. */
  readonly requestId: string;
  /** The W3C trace context, as received; `''` when it is absent or tracing is off. */
  readonly traceparent: string;
  readonly tracestate: string;
  readonly acceptedTypes: AcceptedTypes;
  /**
   * Only those headers that some backend of the virtual host lists in `passthrough_headers`: lower-case name, value, … in the order
   * received.
   */
  readonly passthroughHeaders: readonly string[];
  /** Changes together with the body when a wrapped call is replaced by the call in it (wrapped-call.ts). */
  mirror: MirrorHeaders;
  /**
   * Whether a wrapped call was so replaced: its headers do not repeat its arguments, so the gateway must make the `mcp-param-*` headers.
   */
  isWrapped?: boolean;
  /** The whole request body; empty for none. It belongs to the exchange; only `wrapped-call.ts` changes its bytes. */
  readonly body: Buffer;
}

// Which of the caller's headers go to a backend (specification 2.6). The config's compiler has removed those that must never be copied;
// the exchange has those that any backend of the virtual host lists; here each backend gets the ones it lists itself.

/** What this backend is told about the caller's HTTP request. */
export function metadataFor(backend: CompiledBackend, request: ExchangeRequest): RequestMetadata {
  const { requestId } = request;
  const callerToken =
    backend.auth?.type === 'token-exchange'
      ? bearerToken(headerIn(request.passthroughHeaders, 'authorization') ?? '')
      : '';
  const headers =
    backend.passthroughHeaders.size === 0 ? NO_METADATA.headers : headersFor(backend.passthroughHeaders, request);
  if (headers.length === 0 && requestId === '' && callerToken === '') return NO_METADATA;
  // A backend that lists `x-request-id` gets the caller's own header, if there is one, instead of our request id.
  const hasOwnId = headers.length > 0 && headerIn(headers, 'x-request-id') !== undefined;
  return { headers, requestId: hasOwnId ? '' : requestId, callerToken };
}

/** @returns name, value, name, value, … */
function headersFor(listed: ReadonlySet<string>, { passthroughHeaders: offered }: ExchangeRequest): readonly string[] {
  if (offered.length === 0) return NO_METADATA.headers;
  const copied: string[] = [];
  for (let i = 0; i + 1 < offered.length; i += 2) {
    const name = offered[i];
    const value = offered[i + 1];
    if (name !== undefined && value !== undefined && listed.has(name)) copied.push(name, value);
  }
  return copied;
}

/**
 * A request and the methods that answer it, in one of two ways: `respond` once, or `openStream` or `openBody`, then any number of `write`,
 * then `end`. The head may be held back until the first bytes of the body. Every call after an abort, or after the answer is complete, does
 * nothing (`write` returns true).
 *
 * The hooks (`onDrain` and so on) are plain fields, so that a hook without a listener costs nothing. Hot path: one object per exchange.
 */
export abstract class Exchange {
  abstract readonly request: ExchangeRequest;
  /**
   * True once nothing reaches the caller: it is gone, or the answer was reset. Whether that cancels the call depends on its era (S12, M08).
   */
  abstract readonly isAborted: boolean;

  /**
   * Gives the whole answer at once.
   * @param body belongs to the exchange from then on: a large body is sent without a copy.
   * @param sessionId the `mcp-session-id` header of the response, only for a result of `initialize` (S18).
   * @param headers further headers: name, value, …
   */
  abstract respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers?: readonly string[],
  ): void;

  /** Whether the memory of a body of up to `REUSED_BUFFER_BYTES` may be reused as soon as `respond` returns. */
  readonly copiesSmallBodies: boolean = false;

  /** Opens an answer as an event stream, with status 200. The exchange itself sends keep-alive comments. */
  abstract openStream(sessionId?: string): void;
  /** Opens an answer of known length that is given in parts, split at any byte, with status 200. */
  abstract openBody(contentType: BodyType, bodyBytes: number): void;
  /**
   * Writes bytes of an open body, or whole events of an open stream.
   * @returns true when there is room for more, and the memory may be reused; false when the caller reads too slowly: the bytes are
   *   accepted, but must not be changed until `onDrain` is called, and no more may be written until then.
   */
  abstract write(bytes: Uint8Array): boolean;
  /**
   * Ends an open stream, or a body that was written completely.
   * @param last the last bytes, which may be sent together with the end. They belong to the exchange from then on, and may be given even if
   *   `write` has returned false and `onDrain` was not called since.
   */
  abstract end(last?: Uint8Array): void;
  /**
   * Ends the caller's connection without completing the answer, so that the caller notices: for an answer that broke half-way, or whose
   * caller is gone. The exchange is over then; `onAbort` is not called.
   */
  abstract reset(): void;

  /** Whether this is the exchange of one message of a batch. */
  get isPart(): boolean {
    return false;
  }

  /** Gives the exchange its parsed message if parsing took several turns of the event loop. Only parts of a batch use it. */
  onRead(_message: ParsedClientMessage): void {}

  /** Makes room for a large answer that is assembled in memory before it is given. @param _waiter called later if `wait` is returned. */
  makeRoom(_bytes: number, _waiter: MemoryWaiter): 'room' | 'wait' | ShareBound {
    return 'room';
  }

  /**
   * Counts the memory of a message that is handed over in pieces, until the exchange is over or the method is called with 0.
   * @param _bytes the bytes of the message; 0 when its last piece was handed over.
   */
  countInPieces(_bytes: number): void {}

  /** Nothing will read the request's body any more: its memory may be reused. */
  releaseBody(): void {}

  /** Called when there is room again after a `write` that returned false, and possibly at other times. Set by the relay. */
  onDrain: (() => void) | undefined = undefined;
  /** Called once when the caller goes away before the answer is complete. Set by the relay. */
  onAbort: (() => void) | undefined = undefined;

  /** Learns what the request is, and its outcome. `undefined` if neither logs nor metrics need that. */
  watcher: ExchangeWatcher | undefined = undefined;
  /** Called once, when the exchange is over, after the watcher. @see ExchangeWatcher.onDone */
  onDone: ((status: number, bytes: number, ending: ExchangeEnding) => void) | undefined = undefined;
  /** For a request in a lease: called if the backend at the URL keeps no session, so that any process may ask it. */
  onSessionless: ((url: string) => void) | undefined = undefined;

  /** Reports the end of the exchange on the first call; later calls do nothing. */
  protected tellDone(status: number, bytes: number, ending: ExchangeEnding): void {
    const { watcher, onDone } = this;
    if (watcher === undefined && onDone === undefined) return;
    this.watcher = undefined;
    this.onDone = undefined;
    watcher?.onDone(status, bytes, ending);
    onDone?.(status, bytes, ending);
  }
}

/** Observes one exchange for logs, metrics and traces. */
export interface ExchangeWatcher {
  /** Whether `onOutcome` must distinguish results with `isError`, for which each result has to be searched. */
  readonly wantsToolErrors: boolean;
  /**
   * Called when the request has been identified.
   * @param backend the backend's name, `''` for a method that has none, like `name`, which is that of a tool or prompt (`nameKind`).
   */
  onIdentified(method: string, backend: string, name: string, nameKind?: NameKind): void;
  /**
   * Called when the answer is known and about to be given; not called for trivial answers, such as an empty list.
   * @param detail the code of an error or a refusal, the kind of a fault; `''` when all is well.
   * @param backendMs the time until the answer of the one backend that was asked; -1 when there is none.
   */
  onOutcome(outcome: RequestOutcome, detail: string | number, backendMs: number): void;
  /** Whether requests are traced: then `onSending` is called for the trace headers to send. */
  readonly isTraced: boolean;
  /**
   * Called when the request is sent to its backend, which may happen more than once.
   * @param traceparent the one in the message itself; `''` for none.
   * @param id the message's id.
   * @returns the trace headers to send; `undefined` for none.
   */
  onSending(traceparent: string, id: IdSpan): TraceHeaders | undefined;
  /** Called with the exchange of each message of a batch, before that message is handled. */
  onPart(part: Exchange): void;
  /**
   * Called once, when the exchange is over.
   * @param status the status in the answer's head; 0 when there was no head.
   * @param bytes the bytes of the answer's body that were handed over: to the kernel, or by a hop to the other worker.
   */
  onDone(status: number, bytes: number, ending: ExchangeEnding): void;
}

/**
 * An exchange without a caller, such as that of a notification that another process has answered and passed on: answers are discarded. Cold
 * path.
 */
export class CallerlessExchange extends Exchange {
  readonly request: ExchangeRequest;
  readonly isAborted: boolean = false;

  constructor(request: ExchangeRequest) {
    super();
    this.request = request;
  }

  respond(_status: number, _contentType: string, _body: Uint8Array | string): void {}
  openStream(): void {}
  openBody(_contentType: BodyType, _bodyBytes: number): void {}
  write(_bytes: Uint8Array): boolean {
    return true;
  }
  end(_last?: Uint8Array): void {}
  reset(): void {}
}
