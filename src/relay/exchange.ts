// The downstream side as the relay sees it: one HTTP request of a caller and its answer. The relay knows no HTTP
// server; the edge implements this over uWebSockets.js, the hop over a Unix socket, the control plane over Node's own
// server. Hot: one object per request.
import type { ClientReading } from '../protocol/json-rpc.js';
import type { RoomWaiter } from '../shared/message-memory.js';
import type { ShareBound } from '../shared/share.js';

/** Which answer shapes the caller's `Accept` header allows (decisions 2.2). */
export type AnswerForms = 'json' | 'event-stream' | 'both';

/** What a body that is given in parts is: one message, or one event with it. */
export type BodyType = 'application/json' | 'text/event-stream';

/** What the relay needs to know of a request. Values are copies: they stay valid after the handler returned. */
export interface ExchangeRequest {
  readonly method: 'POST' | 'DELETE' | 'GET';
  /** `mcp-session-id`, or `''` when the header is absent. */
  readonly sessionId: string;
  /** `last-event-id` of a GET, or `''`. */
  readonly lastEventId: string;
  readonly answerForms: AnswerForms;
  /**
   * The headers that some backend of the virtual host lists in `passthrough_headers`: lower-case name, value, name,
   * value, … in the order received. Never anything else.
   */
  readonly passthroughHeaders: readonly string[];
  /** The whole request body; empty when there is none. Owned by the exchange, must not be changed. */
  readonly body: Buffer;
}

/**
 * The answer is given in exactly one of two ways: `respond` once, or `openStream` or `openBody`, any number of `write`,
 * `end`.
 * Every call after an abort, or after the answer is complete, does nothing (`write` answers true).
 */
export interface Exchange {
  readonly request: ExchangeRequest;
  /** True once the caller went away. Being gone is not a cancellation (S12): the relay lets the call end by itself. */
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
  /** Ends an open stream, or a body all of which was written. */
  end(): void;
  /**
   * Ends the caller's connection without completing the answer, so that the caller notices: for an answer that broke
   * half-way. The exchange is complete after it; `onAbort` is not called.
   */
  reset(): void;

  /**
   * Says what the request turned out to be, for the access log. Present only where one is kept.
   * @param backend and `tool` are `''` where the method has none.
   */
  annotate?(method: string, backend: string, tool: string): void;

  /** True for one message of a batch: its exchange is a part of another. */
  readonly isPart?: boolean;
  /** Hears what the body of a part has been read as, if that took several turns of the event loop. */
  onRead?(message: ClientReading): void;
  /** The exchange of a message of this one's batch, as the access log sees it. Present only where one is kept. */
  watchPart?(part: Exchange): Exchange;

  /**
   * Calls back once, when the whole answer was handed over (`isWhole`) or never will be. Over a hop it is handed over to
   * the other worker. For the access log; optional to do.
   */
  whenSettled?(onSettled: (isWhole: boolean) => void): void;

  /**
   * Makes room for a large answer that is put together before it is given. Without it there is room.
   * @param waiter hears later when the answer is `wait`.
   */
  makeRoom?(bytes: number, waiter: RoomWaiter): 'room' | 'wait' | ShareBound;

  /**
   * Has a message count that is in memory and handed over in pieces, until it says 0 or the exchange is over. Without it
   * nothing counts.
   * @param bytes of one more message; 0 when the last piece of all was handed over.
   */
  countInPieces?(bytes: number): void;

  /** Says that nothing will read the request's body any more: its memory may be used for another. Optional to do. */
  releaseBody?(): void;

  /** Called when a `write` that answered false has drained, at other times too. Set by the relay. */
  onDrain: (() => void) | undefined;
  /** Called once when the caller goes away before the answer is complete. Set by the relay. */
  onAbort: (() => void) | undefined;
}
