// The backends' requests that the client of one session has not answered yet: each under our id, with a timeout, counted in the
// session's share of memory. Cold path: never reached by a call whose backend asks nothing.
import { errorsToBackends, type RpcError, limits, KIB } from '../../shared/index.js';
import { idKey } from '../../bytes/index.js';
import type { Deadline, DeadlineWheel } from '../../fair/index.js';
import type { SessionShare, UpstreamSession, UpstreamSessionRecord } from '../../upstream/index.js';
import type { RequestMetadata } from '../../http-client/index.js';
import { AskedIds, type AskedRequest } from './asked-ids.js';

/**
 * What each such request adds to the subject's share of session bytes, beside its id. Beyond that, without room for it, the request is
 * refused to the backend.
 */
export const BACKEND_REQUEST_BYTES_EACH = KIB;

/** A stream on which backends' requests reach the client: that of a call, or the session's own. */
export interface AskingStream {
  /** The error for the backend when the client cannot be asked on this stream; `undefined` when it can. */
  readonly askingObstacle: RpcError | undefined;
  /**
   * Sends a message to the client.
   * @param parts of the message, in order. Small ones are valid only until this returns.
   */
  tell(parts: readonly Buffer[]): void;
  /**
   * Sends a request to the client.
   * @param id our id, as JSON; the parts contain it already.
   * @param onLost called when the request will not reach the client though the stream goes on, with the reason where it is known.
   */
  ask(id: Buffer, parts: readonly Buffer[], onLost: (error?: RpcError) => void): void;
  /** The response to this request is no longer wanted. @param parts of the cancellation for the client. */
  withdraw(id: Buffer, parts: readonly Buffer[]): void;
  /** The backend has asked for something that the client does not declare. @param mode of an elicitation. */
  onUnoffered?(method: string, mode: string): void;
  /** `true` when the backend has asked on this stream, `false` once its last request is settled: in between, the client is waited for. */
  onAsking(isAsking: boolean, upstream: UpstreamSession): void;
}

/** Receives the client's result as JSON, in memory that may be kept, or the error in place of a result. */
export type InputTaker = (answer: Buffer | RpcError) => void;

/** A request that the client has not answered yet. */
interface AwaitedAnswer extends AskedRequest {
  /** Our id, as JSON, and its key. */
  readonly id: Buffer;
  readonly key: string;
  /** The backend's session in which it was asked: to a later session, the response would mean something else. */
  readonly askedIn: UpstreamSessionRecord | undefined;
  readonly backendIdKey: string;
  /** What it counts in the session's share of memory. */
  readonly bytes: number;
  readonly stream: AskingStream;
  /** Metadata of the client's request on whose stream it came. */
  readonly metadata: RequestMetadata;
  readonly deadline: Deadline;
  /** Takes the response instead of the backend, where the backend has no session in which it could be answered. */
  readonly onInput: InputTaker | undefined;
}

export interface AwaitedAnswersPlan {
  readonly sessionId: string;
  readonly memory: SessionShare;
  readonly deadlines: DeadlineWheel;
  readonly answerTimeoutMs: number;
}

/** A base class, so that the requests of a session's backends are one object with those that wait. */
export abstract class AwaitedAnswers {
  protected readonly ids: AskedIds;
  readonly #plan: AwaitedAnswersPlan;
  /** By the key of our id. */
  readonly #open = new Map<string, AwaitedAnswer>();

  constructor(plan: AwaitedAnswersPlan) {
    this.#plan = plan;
    this.ids = new AskedIds(plan.sessionId, plan.answerTimeoutMs);
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** Registers a request that is about to be sent to the client. */
  protected begin(
    stream: AskingStream,
    asked: AskedRequest,
    metadata: RequestMetadata,
    onInput: InputTaker | undefined,
  ): AwaitedAnswer {
    const { upstream, backendId, tokenKey } = asked;
    const id = this.ids.next(asked);
    const key = idKey(id, 0, id.length);
    const request: AwaitedAnswer = {
      ...asked,
      id,
      key,
      askedIn: upstream.record,
      backendIdKey: idKey(backendId, 0, backendId.length),
      stream,
      metadata,
      onInput,
      bytes: bytesOf(backendId.length, tokenKey),
      deadline: this.#plan.deadlines.after(this.#plan.answerTimeoutMs, () => this.#onTimeUp(request)),
    };
    this.#open.set(key, request);
    this.#plan.memory.keep(request.bytes);
    stream.onAsking(true, upstream);
    return request;
  }

  /** Removes a request that the client, or another process, has answered. @param key of our id. */
  protected take(key: string): AwaitedAnswer | undefined {
    const request = this.#open.get(key);
    if (request !== undefined) this.#settle(request);
    return request;
  }

  /** Removes a request that its backend has cancelled. @param backendIdKey of the backend's own id. */
  protected takeOf(upstream: UpstreamSession, backendIdKey: string): AwaitedAnswer | undefined {
    for (const request of this.#open.values()) {
      if (request.upstream !== upstream || request.backendIdKey !== backendIdKey) continue;
      this.#settle(request);
      return request;
    }
    return undefined;
  }

  /** The requests for which the client reports progress with this token. */
  protected withToken(tokenKey: string): readonly AwaitedAnswer[] {
    return [...this.#open.values()].filter((request) => request.tokenKey === tokenKey);
  }

  /** The request will never reach the client: its asker gets the error. */
  protected onLost(request: AwaitedAnswer, error: RpcError = errorsToBackends.clientReadsNoRequests): void {
    if (!this.#open.has(request.key)) return;
    this.#settle(request);
    tellAsker(request, error);
  }

  /** The stream ends: the requests sent on it are withdrawn from the client. */
  endOf(stream: AskingStream): void {
    for (const request of [...this.#open.values()]) {
      if (request.stream !== stream) continue;
      this.#settle(request);
      tellCancelled(request, 'The request that it belongs to has ended');
    }
  }

  /** Whether a request that the backend sent on this stream, in its current session, is still open. */
  isAsking(stream: AskingStream, upstream: UpstreamSession): boolean {
    for (const open of this.#open.values()) {
      if (open.stream === stream && open.upstream === upstream && open.askedIn === upstream.record) return true;
    }
    return false;
  }

  /** The session has ended: drops all requests without notifying anybody. */
  clear(): void {
    for (const { deadline, bytes } of this.#open.values()) {
      deadline.cancel();
      this.#plan.memory.drop(bytes);
    }
    this.#open.clear();
  }

  /** @returns why one more request cannot be sent to the client; `undefined` when it can. */
  protected noRoomFor(upstream: UpstreamSession, idBytes: number, tokenKey: string | undefined): RpcError | undefined {
    if (idBytes > limits.backendRequestIdBytesMax) return errorsToBackends.idTooLong;
    if (!this.#plan.memory.hasRoomFor(bytesOf(idBytes, tokenKey))) return errorsToBackends.tooManyPending;
    let openCount = 0;
    for (const request of this.#open.values()) if (request.upstream === upstream) openCount += 1;
    return openCount < limits.backendRequestsOpenMax ? undefined : errorsToBackends.tooManyPending;
  }

  #onTimeUp(request: AwaitedAnswer): void {
    // Settled first: if the cancellation is lost, `onLost` must not answer the request a second time.
    this.#settle(request);
    tellCancelled(request, 'It was not answered in time');
    tellAsker(request, errorsToBackends.clientTimedOut);
  }

  #settle(request: AwaitedAnswer): void {
    request.deadline.cancel();
    this.#open.delete(request.key);
    this.#plan.memory.drop(request.bytes);
    const { stream, upstream } = request;
    if (!this.isAsking(stream, upstream)) stream.onAsking(false, upstream);
  }
}

/** Tells the client that its response is no longer wanted. */
export function tellCancelled({ stream, id }: AwaitedAnswer, reason: string): void {
  const before = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":';
  stream.withdraw(id, [Buffer.from(before), id, Buffer.from(`,"reason":${JSON.stringify(reason)}}}`)]);
}

function tellAsker({ upstream, askedIn, backendId, metadata, onInput }: AwaitedAnswer, error: RpcError): void {
  if (onInput !== undefined) onInput(error);
  else if (upstream.record === askedIn) upstream.answerInstead(backendId, error, metadata);
}

/** The id is kept four times: as the backend's, within ours, and in the keys of both. */
function bytesOf(idBytes: number, tokenKey: string | undefined): number {
  return BACKEND_REQUEST_BYTES_EACH + 6 * idBytes + 2 * (tokenKey?.length ?? 0);
}
