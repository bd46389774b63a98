// The caller's side of a relayed request: which exchange receives its messages, on what stream, and what happens after a disconnect. The
// backend's side is `relayed-request.ts`. A base class, so that a call is one object. Hot path.
import { readBackendMessage, type BackendMessage, type ClientMessage } from '../mcp/index.js';
import { ambiguousIdKey, isSameId } from '../bytes/index.js';
import { limits, errorsToBackends, rpcErrors, type RpcError } from '../shared/index.js';
import { copied, joined } from '../fair/index.js';
import type { IdSpan, RpcRequest } from '../upstream/index.js';
import { faultReason, upstreamFault } from '../http-client/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import {
  answer,
  answerInParts,
  answerJoined,
  answerVolatile,
  answerWithStatus,
  type Exchange,
} from '../exchange/index.js';
import { CallerStream, type StreamOwner, RequestInFlight } from '../streams/index.js';
import { obstacleToRetry } from './gate.js';
import type { RelayedRequestPlan } from './era-rules.js';
import { isTargetMethod, readTarget } from './targets.js';
import { DetachedCall } from './detached-call.js';

/** Time that a call goes on, and holds a connection, after its caller has gone. After that, the backend is notified, and the call ends. */
export const DETACHED_CALL_MS_MAX = 300_000;
/**
 * Time that an answer waits for one more report of the call's progress, if reports come on the backend's own stream: the answer may
 * have overtaken the last report. After that, the answer is given; a later report goes on the session's stream.
 */
export const LATE_PROGRESS_WAIT_MS = 50;

export abstract class AnsweredRequest extends RequestInFlight implements StreamOwner {
  readonly id: IdSpan;
  protected readonly plan: RelayedRequestPlan;
  /** The exchange that receives messages and the answer: the caller's, or that of a retry. */
  protected exchange: Exchange;
  /** The request at its backend, if it was sent. */
  protected request: RpcRequest | undefined;
  protected isDone = false;
  /** Notifications of the backend since the client was asked for input; `undefined` while a caller takes them. */
  #notificationsKept: Buffer[] | undefined;
  /** Whether reports of progress come on the backend's own stream, beside the answer. */
  protected hasSeparateProgress = false;
  #giveAnswer: (() => void) | undefined;
  /** The `ambiguousTokenKey`, and the token that was sent to the backend when it was computed. */
  #tokenKey: { readonly sent: Buffer | undefined; readonly key: string } | undefined;
  /** Opened for the first event, or while the answer is slow to come. */
  #stream: CallerStream | undefined;
  /** Made once the caller, or its first connection, is gone. */
  #detached: DetachedCall | undefined;

  constructor(plan: RelayedRequestPlan) {
    super();
    this.plan = plan;
    this.exchange = plan.exchange;
    this.id = plan.id;
  }

  /** The answer may have overtaken the last report, so it is held back until one more has come, or for a moment. */
  protected holdAnswer(give: () => void): void {
    this.request = undefined;
    this.#giveAnswer = give;
    this.plan.context.deadlines.after(LATE_PROGRESS_WAIT_MS, () => this.giveHeldAnswer());
  }

  protected giveHeldAnswer(): void {
    const give = this.#giveAnswer;
    this.#giveAnswer = undefined;
    if (!this.isDone) give?.();
  }

  /** Whether the caller takes no more of its stream for now. */
  protected get isBlocked(): boolean {
    return this.#stream?.isBlocked === true;
  }

  /** @param request the request as the backend has it now, after a first or second try. */
  protected noteSent(request: RpcRequest): void {
    this.request = request;
    this.#detached?.onSent(request);
  }

  /** As in `AskingStream`. */
  get askingObstacle(): RpcError | undefined {
    const exchange = this.exchange;
    const { rules } = this.plan;
    if (!rules.hasSession) return rules.askingObstacle;
    if (exchange.isAborted && this.#stream?.isResumable !== true) return errorsToBackends.clientGone;
    return exchange.request.acceptedTypes === 'json' ? errorsToBackends.clientTakesNoStream : undefined;
  }

  override onSlow(): void {
    const exchange = this.exchange;
    if (this.#stream !== undefined || exchange.request.acceptedTypes === 'json' || exchange.isAborted) return;
    this.#openStream().prime();
  }

  /** A message for the caller; for `BackendRequests` too. */
  tell(parts: readonly Buffer[], onLost?: () => void): void {
    if (!this.isDone) this.#emit(joined(parts), onLost);
  }

  /** Answers the caller with this message. @param meanwhile the exchange that receives what comes next. */
  pauseWith(message: Buffer, meanwhile: Exchange): void {
    const exchange = this.exchange;
    exchange.onAbort = undefined;
    if (this.#isEventDue) (this.#stream ?? this.#openStream()).finish([message]);
    else answer(exchange, message);
    this.#stream = undefined;
    this.goOn(meanwhile);
    this.#notificationsKept = [];
  }

  /** @param exchange receives everything from now on, and first the notifications that came while there was no caller. */
  goOn(exchange: Exchange): void {
    this.exchange = exchange;
    exchange.onAbort = () => this.onCallerGone();
    const notifications = this.#notificationsKept ?? [];
    this.#notificationsKept = undefined;
    for (const bytes of notifications) this.onMessage(bytes, readBackendMessage(bytes)!);
    this.request?.resume();
  }

  abstract onMessage(bytes: Buffer, message: BackendMessage): void;

  /** Keeps a notification while no caller waits: the newest, up to 16 KiB. @returns false while a caller waits. */
  protected tryKeep(bytes: Buffer, { method }: BackendMessage): boolean {
    const kept = this.#notificationsKept;
    // A list that has changed must not be served for as long as a client takes to answer.
    if (kept === undefined || method.endsWith('/list_changed')) return false;
    if (bytes.length < limits.countedFromBytes) kept.push(copied(bytes));
    let total = kept.reduce((sum, { length }) => sum + length, 0);
    while (total >= limits.countedFromBytes) total -= kept.shift()!.length;
    return true;
  }

  /** For `HeldCall`: a call that the config no longer allows is not continued. */
  obstacleFor(
    virtualHost: CompiledVirtualHost,
    exchange: Exchange,
    message: ClientMessage,
    passedAllowList: string | undefined,
  ): RpcError | undefined {
    const { session, upstream, message: call } = this.plan;
    const current = session.applyConfig(virtualHost, exchange.request);
    if (!isTargetMethod(call.method)) return undefined;
    const { target } = readTarget(call.method, current, exchange.request.body, message, session.upstreams);
    if ('error' in target) return target.error;
    if (upstream.state === 'closed')
      return rpcErrors.backendFailed(upstream.backend.name, faultReason(upstreamFault('session-ended')));
    return obstacleToRetry(target.gate, target.backend, passedAllowList);
  }

  abstract override giveUp(): void;

  protected get callersId(): IdSpan {
    return this.plan.rules.callersId?.(this.id) ?? this.id;
  }

  protected emitProgress(bytes: Buffer, message: BackendMessage): void {
    const progress = this.plan.rules.withCallersToken(bytes, message);
    if (progress !== undefined) this.#emit(progress);
  }

  /**
   * In the legacy era, disconnecting is not a cancellation (S12): the call goes on unheard, and its answer is dropped unless a stream
   * keeps it. It goes on for a limited time, because it holds a connection to the backend.
   */
  protected onCallerGone(): void {
    if (this.isDone) {
      this.#stream?.detach();
      return;
    }
    if (!this.plan.rules.hasSession) this.giveUp();
    else if (this.#stream === undefined) this.#noteGone().begin(DETACHED_CALL_MS_MAX, this.request);
    else this.#stream.detach();
  }

  /** For `CallerStream`. */
  onCallerDetached(): void {
    const timeMs = this.plan.session.streamKeeper?.resumptionTimeMs ?? DETACHED_CALL_MS_MAX;
    this.#noteGone().begin(timeMs, this.request);
  }

  onCallerAttached(): void {
    this.#noteGone().end();
  }

  onRoom(): void {
    this.request?.resume();
  }

  /** The request's body stays in memory, but its count ended with the caller's first connection: `DetachedCall` counts it again. */
  #noteGone(): DetachedCall {
    if (this.#detached !== undefined) return this.#detached;
    const { session, context } = this.plan;
    const { length } = this.id.bytes;
    return (this.#detached = new DetachedCall(session.account, length, context.deadlines, () => this.giveUp()));
  }

  /** For `RpcRequest`. */
  onRationRead(spentMs: number): void {
    this.#detached?.onRationRead(spentMs);
  }

  override abandonedWait(): string | undefined {
    return this.#detached?.isUnheard === true && this.plan.message.method === 'tasks/result' ? this.task : undefined;
  }

  /** The id of the task that the request is about, as the caller has written it. */
  protected get task(): string {
    const { exchange, message } = this.plan;
    return exchange.request.body.toString('utf8', message.nameStart, message.nameEnd);
  }

  override get ambiguousTokenKey(): string | undefined {
    const { message, exchange, rules } = this.plan;
    const { progressTokenStart: start, progressTokenEnd: end } = message;
    if (start === -1) return undefined;
    const sent = rules.sentToken;
    if (this.#tokenKey === undefined || this.#tokenKey.sent !== sent) {
      const key =
        sent === undefined ? ambiguousIdKey(exchange.request.body, start, end) : ambiguousIdKey(sent, 0, sent.length);
      this.#tokenKey = { sent, key };
    }
    return this.#tokenKey.key;
  }

  /** Progress is relayed under the caller's own token only; a caller that gave none asked for none. */
  protected isOwnProgress(bytes: Buffer, message: BackendMessage): boolean {
    const { message: call, exchange, rules } = this.plan;
    const { progressTokenStart: start, progressTokenEnd: end } = message;
    if (start === -1 || call.progressTokenStart === -1) return false;
    const sent = rules.sentToken;
    if (sent !== undefined) return isSameId(bytes, start, end, sent, 0, sent.length);
    return isSameId(bytes, start, end, exchange.request.body, call.progressTokenStart, call.progressTokenEnd);
  }

  /** Only for a client that takes events. */
  #openStream(): CallerStream {
    return (this.#stream = new CallerStream(this, this.exchange, this.plan.session.streamKeeper, this.callersId));
  }

  #emit(bytes: Buffer, onLost?: () => void): void {
    const exchange = this.exchange;
    if (exchange.request.acceptedTypes === 'json') return;
    if (this.#stream === undefined && exchange.isAborted) return;
    const stream = this.#stream ?? this.#openStream();
    stream.emit(bytes, onLost);
    if (stream.isBlocked) this.request?.pause();
  }

  /**
   * Gives the answer to the current exchange.
   * @param parts what the caller gets in place of the message.
   * @param status HTTP status, used if no event was sent before.
   * @param isPassing whether the message is valid only until this returns.
   */
  protected answerCaller(
    message: Buffer,
    parts: readonly Buffer[] | undefined,
    status: number,
    isPassing: boolean,
  ): void {
    this.#detached?.close();
    const exchange = this.exchange;
    this.plan.session.finish(this);
    const isPlain = status === 200 && !this.#isEventDue;
    if (isPlain && isPassing) answerVolatile(exchange, message);
    else if (isPlain && parts !== undefined && message.length <= limits.readAtOnceBytesMax)
      answerJoined(exchange, parts);
    else if (isPlain && parts !== undefined) answerInParts(exchange, parts);
    else this.#finishOtherwise(exchange, parts ?? [isPassing ? copied(message) : message], status);
    this.plan.rules.onOver?.();
  }

  #finishOtherwise(exchange: Exchange, parts: readonly Buffer[], status: number): void {
    if (this.#isEventDue) (this.#stream ?? this.#openStream()).finish(parts);
    else answerWithStatus(exchange, joined(parts), status);
  }

  /** Whether the answer is sent as the last event of a stream, which is open already or is opened so that the client can resume it. */
  get #isEventDue(): boolean {
    if (this.#stream !== undefined) return true;
    const { session } = this.plan;
    const exchange = this.exchange;
    return (
      exchange.request.acceptedTypes === 'event-stream' && session.streamKeeper !== undefined && !exchange.isAborted
    );
  }
}
