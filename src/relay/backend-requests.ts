// What backends ask of the client of one session: sampling, elicitation, roots. Each request goes to the client under an id
// of ours, and the client's answer, whichever connection and worker it comes by, goes to the backend that asked, under
// the backend's own id. Nothing but the ids is touched. Cold: a call whose backend asks nothing never comes here.
//
//   asked ──answered by the client──────────────> answer sent to the backend
//     ├────withdrawn by the backend─────────────> the client is told
//     ├────its stream has ended─────────────────> the client is told
//     └────not answered in time, or lost────────> the backend is told, and so is the client
import { readClientOffers, type ClientOffers } from '../protocol/client-offers.js';
import { readProgressKey, readRequestDetail, readRequestId } from '../protocol/backend-request.js';
import { idKey, type BackendMessage, type ClientMessage } from '../protocol/json-rpc.js';
import type { Account } from '../shared/accounts.js';
import type { Deadline, DeadlineWheel } from '../shared/deadline-wheel.js';
import { limits } from '../shared/limits.js';
import { rpcCodes } from '../shared/refusals.js';
import type { RpcError } from './answers.js';
import type { ClientIntroduction } from './upstream/client-introduction.js';
import type { Exchange } from './exchange.js';
import { passthroughHeadersFor } from './passthrough.js';
import type { UpstreamSession, UpstreamSessionRecord } from './upstream/upstream-session.js';

/** A stream to the client on which it can be asked: that of a call, or the session's own. */
export interface AskingStream {
  /** Why the client cannot be asked on it, as the backend is told; `undefined` when it can. */
  readonly askingObstacle: RpcError | undefined;
  /**
   * A message for the client.
   * @param parts one behind the other. Small ones are valid until this returns.
   * @param onLost called when the message will not reach the client, though the stream goes on.
   */
  tell(parts: readonly Buffer[], onLost?: () => void): void;
  /** The first request was asked on it, or the last one is settled: meanwhile it is the client who is waited for. */
  onAsking(isAsking: boolean): void;
}

export interface BackendRequestsPlan {
  readonly account: Account;
  readonly introduction: ClientIntroduction;
  readonly deadlines: DeadlineWheel;
  readonly answerTimeoutMs: number;
}

/** A request that the client has not answered yet. */
interface OpenRequest {
  /** Ours, as JSON, and its key. */
  readonly id: Buffer;
  readonly key: string;
  readonly upstream: UpstreamSession;
  /** The upstream session that it was asked in: to its successor the answer would mean something else. */
  readonly askedIn: UpstreamSessionRecord | undefined;
  /** The backend's own, as JSON, and its key. */
  readonly backendId: Buffer;
  readonly backendIdKey: string;
  readonly tokenKey: string | undefined;
  readonly stream: AskingStream;
  /** Of the request on whose stream it came. */
  readonly passthrough: readonly string[];
  readonly deadline: Deadline;
}

export class BackendRequests {
  readonly #plan: BackendRequestsPlan;
  #offers: ClientOffers | undefined;
  /** By the key of our id. */
  readonly #open = new Map<string, OpenRequest>();
  #askedCount = 0;

  constructor(plan: BackendRequestsPlan) {
    this.#plan = plan;
  }

  /** Whether the client has anything to answer. */
  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  get offersRoots(): boolean {
    return this.#offered.roots;
  }

  /** Whether the client can be asked for anything at all. */
  get offersAnything(): boolean {
    const { sampling, roots, elicitationForm, elicitationUrl } = this.#offered;
    return sampling || roots || elicitationForm || elicitationUrl;
  }

  /**
   * Puts a backend's request to the client, or refuses it.
   * @param bytes the whole message; valid until this returns unless it is large.
   */
  ask(
    stream: AskingStream,
    upstream: UpstreamSession,
    passthrough: readonly string[],
    bytes: Buffer,
    message: BackendMessage,
  ): void {
    const { idStart, idEnd } = message;
    const backendId = Buffer.from(bytes.subarray(idStart, idEnd));
    if (message.method === 'ping') {
      upstream.answerInstead(backendId, undefined, passthrough);
      return;
    }
    const { tokenKey, mode } = readRequestDetail(bytes, message);
    const error =
      this.#notOffered(message.method, mode) ?? stream.askingObstacle ?? this.#noRoomFor(upstream, backendId.length);
    if (error !== undefined) {
      upstream.answerInstead(backendId, error, passthrough);
      return;
    }
    const id = this.#newId(upstream.backend.name, backendId);
    const key = idKey(id, 0, id.length);
    const request: OpenRequest = {
      ...{ id, key, upstream, askedIn: upstream.record, backendId, tokenKey, stream, passthrough },
      backendIdKey: idKey(backendId, 0, backendId.length),
      deadline: this.#plan.deadlines.after(this.#plan.answerTimeoutMs, () => this.#onTimeUp(request)),
    };
    const isFirst = this.#countOn(stream) === 0;
    this.#open.set(key, request);
    if (isFirst) stream.onAsking(true);
    stream.tell([bytes.subarray(0, idStart), id, bytes.subarray(idEnd)], () => this.#onLost(request));
  }

  /** The client has answered something. What was not asked, or is settled, goes nowhere. */
  onAnswer(exchange: Exchange, message: ClientMessage): void {
    const { body } = exchange.request;
    const { idStart: start, idEnd: end } = message;
    const request = this.#open.get(idKey(body, start, end));
    if (request === undefined) return;
    this.#settle(request);
    const { upstream, askedIn, backendId } = request;
    if (upstream.record !== askedIn) return;
    // Of the exchange, which is over at once, nobody counts it any more.
    const countedBytes = body.length >= limits.countedFromBytes ? body.length : 0;
    const { requestBytes } = this.#plan.account;
    requestBytes.take(countedBytes);
    const headers = passthroughHeadersFor(upstream.backend, exchange.request);
    const answer = { body, leftOut: { start, end }, putIn: backendId };
    upstream.send(answer, headers, () => requestBytes.give(countedBytes));
  }

  /** The client reports progress of a request that it was asked. A token that two of them share says nothing. */
  onProgress(exchange: Exchange, message: ClientMessage): void {
    const { body } = exchange.request;
    // What waits to be sent is counted by nobody.
    const isHeavy = body.length >= limits.countedFromBytes;
    const tokenKey = this.isEmpty || isHeavy ? undefined : readProgressKey(body, message);
    if (tokenKey === undefined) return;
    const [request, ...others] = [...this.#open.values()].filter((open) => open.tokenKey === tokenKey);
    if (request === undefined || others.length > 0 || request.upstream.record !== request.askedIn) return;
    request.upstream.send({ body }, passthroughHeadersFor(request.upstream.backend, exchange.request));
  }

  /** A backend's `notifications/cancelled`: it no longer wants the answer. */
  withdraw(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): void {
    const span = this.isEmpty ? undefined : readRequestId(bytes, message);
    if (span === undefined) return;
    const backendIdKey = idKey(bytes, span.start, span.end);
    for (const request of this.#open.values()) {
      if (request.upstream !== upstream || request.backendIdKey !== backendIdKey) continue;
      this.#settle(request);
      request.stream.tell([bytes.subarray(0, span.start), request.id, bytes.subarray(span.end)]);
      return;
    }
  }

  /** The stream ends: what was asked on it is withdrawn. */
  endOf(stream: AskingStream): void {
    for (const request of [...this.#open.values()]) {
      if (request.stream !== stream) continue;
      this.#settle(request);
      tellCancelled(request, 'The request that it belongs to is over');
    }
  }

  /** The session is over; nobody is told. */
  clear(): void {
    for (const { deadline } of this.#open.values()) deadline.cancel();
    this.#open.clear();
  }

  get #offered(): ClientOffers {
    return (this.#offers ??= readClientOffers(this.#plan.introduction.capabilities));
  }

  /** The client will never see it. */
  #onLost(request: OpenRequest): void {
    if (!this.#open.has(request.key)) return;
    this.#settle(request);
    const { upstream, askedIn, backendId, passthrough } = request;
    if (upstream.record === askedIn) upstream.answerInstead(backendId, NOT_READ, passthrough);
  }

  #onTimeUp(request: OpenRequest): void {
    const { upstream, askedIn, backendId, passthrough } = request;
    // First, or to lose the notice would answer the request once more.
    this.#settle(request);
    tellCancelled(request, 'It was not answered in time');
    if (upstream.record === askedIn) upstream.answerInstead(backendId, NOT_ANSWERED, passthrough);
  }

  #settle(request: OpenRequest): void {
    request.deadline.cancel();
    this.#open.delete(request.key);
    if (this.#countOn(request.stream) === 0) request.stream.onAsking(false);
  }

  #countOn(stream: AskingStream): number {
    let count = 0;
    for (const request of this.#open.values()) if (request.stream === stream) count += 1;
    return count;
  }

  #newId(backendName: string, backendId: Buffer): Buffer {
    this.#askedCount += 1;
    return Buffer.from(JSON.stringify(`${this.#askedCount}:${backendName}:${backendId.toString()}`));
  }

  /** Only what the client has declared is asked of it (C19). */
  #notOffered(method: string, mode: string): RpcError | undefined {
    const offers = this.#offered;
    switch (method) {
      case 'sampling/createMessage':
        return offers.sampling ? undefined : notOffered(method);
      case 'roots/list':
        return offers.roots ? undefined : notOffered(method);
      case 'elicitation/create':
        if (!offers.elicitationForm && !offers.elicitationUrl) return notOffered(method);
        return (mode === 'url' ? offers.elicitationUrl : offers.elicitationForm) ? undefined : MODE_NOT_OFFERED;
      default:
        return notOffered(method);
    }
  }

  #noRoomFor(upstream: UpstreamSession, idBytes: number): RpcError | undefined {
    if (idBytes > limits.backendRequestIdBytesMax) return ID_TOO_LONG;
    let openCount = 0;
    for (const request of this.#open.values()) if (request.upstream === upstream) openCount += 1;
    return openCount < limits.backendRequestsOpenMax ? undefined : TOO_MANY;
  }
}

function notOffered(method: string): RpcError {
  return { code: rpcCodes.methodNotFound, message: `The client does not offer ${method}` };
}

function tellCancelled({ stream, id }: OpenRequest, reason: string): void {
  const before = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":';
  stream.tell([Buffer.from(before), id, Buffer.from(`,"reason":${JSON.stringify(reason)}}}`)]);
}

const MODE_NOT_OFFERED = {
  code: rpcCodes.invalidParams,
  message: 'The client does not offer this mode of elicitation',
};
const ID_TOO_LONG = { code: rpcCodes.internalError, message: 'The id of the request is too long' };
const TOO_MANY = { code: rpcCodes.internalError, message: 'Too many requests are open at the client' };
const NOT_READ = { code: rpcCodes.internalError, message: 'The client does not read its stream' };
const NOT_ANSWERED = { code: rpcCodes.internalError, message: 'The client did not answer in time' };
