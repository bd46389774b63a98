// The downstream side as the relay sees it: one HTTP request of a caller and its answer. The relay knows no HTTP server. The edge
// implements this over its HTTP library, the hop over a Unix socket, the control plane over Node's own server, a batch for each of its
// messages; one is for notices that another process has answered already. Hot: one object per request.
import type { ClientReading } from '../../protocol/json-rpc.js';
import type { RoomWaiter } from '../../shared/message-memory.js';
import type { ShareBound } from '../../shared/share.js';
import type { TraceHeaders } from '../../upstream/http/http-upstream.js';
import type { IdSpan } from '../../upstream/rpc/request-plan.js';

/** Which answer shapes the caller's `Accept` header allows (decisions 2.2). */
export type AnswerForms = 'json' | 'event-stream' | 'both';

/** What a body that is given in parts is: one message, or one event with it. */
export type BodyType = 'application/json' | 'text/event-stream';

/**
 * How an exchange ended. `whole`: all of its answer was handed over. `cut`: a part of it at most. `unheard`: the caller had
 * gone before there was an answer; what it asked for has come to its end since, as being gone does not end it (S12).
 */
export type ExchangeEnding = 'whole' | 'cut' | 'unheard';

/**
 * How a request came out. `tool-error`: its result says `isError`; `rpc-error`: an error of JSON-RPC, the backend's or ours;
 * `fault`: its backend failed; `refused`: it was no message that could be answered, or there was no room for it.
 */
export type RequestOutcome = 'ok' | 'tool-error' | 'rpc-error' | 'fault' | 'refused';

/** What a name in logs and traces is the name of; `''`: there is none. */
export type NameKind = 'tool' | 'prompt' | '';

/**
 * What the headers of MCP 2026-07-28 say of a request, before anybody has looked whether its body agrees. Values are as sent:
 * some may be in base64 between `=?base64?` and `?=`. `''` is absent.
 */
export interface MirrorHeaders {
  /** `mcp-protocol-version`, which callers of before send too. */
  readonly protocolVersion: string;
  /** `mcp-method`. */
  readonly method: string;
  /** `mcp-name`. */
  readonly name: string;
  /** `mcp-param-*`: lower-case name, value, name, value, … each name once, in the order received. */
  readonly params: readonly string[];
}

/** Of a request that has none of them. */
export const NO_MIRROR: MirrorHeaders = Object.freeze({
  protocolVersion: '',
  method: '',
  name: '',
  params: Object.freeze([]),
});

/** What the relay needs to know of a request. Values are copies: they stay valid after the handler returned. */
export interface ExchangeRequest {
  /** `other` is none that reaches the relay. */
  readonly method: 'POST' | 'DELETE' | 'GET' | 'other';
  /** `mcp-session-id`, or `''` when the header is absent. */
  readonly sessionId: string;
  /** `last-event-id` of a GET, or `''`. */
  readonly lastEventId: string;
  /** Of the HTTP request, for logs and for backends: `x-request-id`; `''` where requests have none. */
  readonly requestId: string;
  /** W3C's trace context, as it came; `''` where it is absent, or nobody traces. */
  readonly traceparent: string;
  readonly tracestate: string;
  readonly answerForms: AnswerForms;
  /**
   * The headers that some backend of the virtual host lists in `passthrough_headers`: lower-case name, value, name,
   * value, … in the order received. Never anything else.
   */
  readonly passthroughHeaders: readonly string[];
  /** With the body it changes where a call becomes another one (wrapped-call.ts). */
  mirror: MirrorHeaders;
  /** The whole request body; empty when there is none. Owned by the exchange; `wrapped-call.ts` alone replaces it. */
  readonly body: Buffer;
}

/**
 * The answer is given in exactly one of two ways: `respond` once, or `openStream` or `openBody`, any number of `write`,
 * `end`. A head may wait for the first bytes behind it.
 * Every call after an abort, or after the answer is complete, does nothing (`write` answers true).
 */
export interface Exchange {
  readonly request: ExchangeRequest;
  /** True once nothing reaches the caller any more: it went away, or the answer was reset. Being gone is not a cancellation (S12): the relay lets the call end by itself. */
  readonly isAborted: boolean;

  /**
   * The whole answer at once.
   * @param body belongs to the exchange from here on: a large one is sent from where it is.
   * @param sessionId becomes the `mcp-session-id` response header (only on an `initialize` result, S18).
   * @param headers more headers: name, value, name, value, …
   */
  respond(
    status: number,
    contentType: string,
    body: Uint8Array | string,
    sessionId?: string,
    headers?: readonly string[],
  ): void;

  /** Whether `respond` is done with the memory of a body of up to `LENT_BYTES_MAX` when it returns. */
  readonly takesLent: boolean;

  /** Opens an event stream answer: status 200, `text/event-stream`. The exchange itself sends keep-alive comments. */
  openStream(sessionId?: string): void;
  /** Opens an answer of a known length that is given in parts, cut anywhere: status 200. */
  openBody(contentType: BodyType, bodyBytes: number): void;
  /**
   * Writes bytes of an open body, or whole events of an open stream.
   * @returns true when there is room for more, and the memory may be used again; false when the caller reads too slowly:
   *   the bytes are taken all the same, but must stay as they are, and the relay must write no more, until `onDrain` was
   *   called.
   */
  write(bytes: Uint8Array): boolean;
  /**
   * Ends an open stream, or a body all of which was written.
   * @param last is written before, behind all that still waits, and may go out with the end in one piece. It belongs to the exchange
   *   from here on, also where `write` has answered false and `onDrain` was not called since.
   */
  end(last?: Uint8Array): void;
  /**
   * Ends the caller's connection without completing the answer, so that the caller notices: for an answer that broke
   * half-way, or will never be given to a caller that is gone. The exchange is over after it; `onAbort` is not called.
   */
  reset(): void;

  /** Whether this is one message of a batch: its exchange is a part of another. */
  readonly isPart: boolean;
  /** Tells what the body has been read as, if that took several turns of the event loop. Of interest to parts only. */
  onRead(message: ClientReading): void;

  /**
   * Makes room for a large answer that is put together before it is given.
   * @param waiter hears later when the answer is `wait`.
   */
  makeRoom(bytes: number, waiter: RoomWaiter): 'room' | 'wait' | ShareBound;

  /**
   * Has a message count that is in memory and handed over in pieces, until it says 0 or the exchange is over.
   * @param bytes of one more message; 0 when the last piece of all was handed over.
   */
  countInPieces(bytes: number): void;

  /** Nothing will read the request's body any more: its memory may be used for another. */
  releaseBody(): void;

  /** Called when a `write` that answered false has drained, at other times too. Set by the relay. */
  onDrain: (() => void) | undefined;
  /** Called once when the caller goes away before the answer is complete. Set by the relay. */
  onAbort: (() => void) | undefined;

  /** Hears what the request is and how it comes out. `undefined` where nobody wants to know. */
  watcher: ExchangeWatcher | undefined;
  /** Called once, when the exchange is over, behind the watcher. @see ExchangeWatcher.onDone */
  onDone: ((status: number, bytes: number, ending: ExchangeEnding) => void) | undefined;
}

/** Whoever keeps logs or figures: one for each exchange. */
export interface ExchangeWatcher {
  /** Whether `onOutcome` has to tell a result that says `isError` from others, which has to be searched for that. */
  readonly isToolErrorTold: boolean;
  /**
   * It is known what the request is.
   * @param backend and `name`, of a tool or a prompt as `nameKind` says, are `''` where the method has none.
   */
  onIdentified(method: string, backend: string, name: string, nameKind?: NameKind): void;
  /**
   * The answer is known, and will be given; of answers without a story of their own, as an empty list, this is not called.
   * @param detail the code of an error or a refusal, the kind of a fault; `''` when all is well.
   * @param backendMs what the one backend that was asked took for it; -1 when there is none.
   */
  onOutcome(outcome: RequestOutcome, detail: string | number, backendMs: number): void;
  /** Whether requests are traced: then `onSending` is asked what their backends are told. */
  readonly isTraced: boolean;
  /**
   * The request goes to its backend, again perhaps.
   * @param traceparent of the message itself, `''` without.
   * @param id of the message.
   */
  onSending(traceparent: string, id: IdSpan): TraceHeaders | undefined;
  /** Hears of the exchange of each message of this one's batch, before that is handled. */
  onPart(part: Exchange): void;
  /**
   * The exchange is over: comes once.
   * @param status as in the answer's head; 0 when there was none.
   * @param bytes of the answer's body that were handed over: to the kernel, or by a hop to the other worker.
   */
  onDone(status: number, bytes: number, ending: ExchangeEnding): void;
}
