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
  answerBorrowed,
  answerWithStatus,
  type Exchange,
} from '../exchange/index.js';
import { CallerStream, type StreamOwner, RequestInFlight } from '../streams/index.js';
import { obstacleToRetry } from './gate.js';
import type { RelayedRequestPlan } from './era-rules.js';
import { isTargetMethod, readTarget } from './targets.js';
import { DetachedCall } from './detached-call.js';

/**
 * How long a call goes on, and occupies a connection, after its caller has gone. Then the backend is notified, and the call ends.
 */
export const DETACHED_CALL_MS_MAX = 300_000;
/**
 * How long an answer waits for one more progress report, if reports come on the backend's own stream: the answer may have overtaken the
 * last report. Then the answer is sent, and a later report goes on the session's stream.
 */
export const LATE_PROGRESS_WAIT_MS = 50;

export abstract class AnsweredRequest extends RequestInFlight implements StreamOwner {
  readonly id: IdSpan;
  protected readonly plan: RelayedRequestPlan;
  protected exchange: Exchange;
  protected request: RpcRequest | undefined;
  protected isDone = false;
  /** Notifications received since the client was asked for input; `undefined` while a caller waits. */
  #bufferedNotifications: Buffer[] | undefined;
  /** Whether progress reports come on the backend's own stream, beside the answer. */
  protected hasSeparateProgress = false;
  #sendDelayedAnswer: (() => void) | undefined;
  #progressKey: { readonly sent: Buffer | undefined; readonly key: string } | undefined;
  /** The stream to the caller, opened for the first event, or while the answer is slow to come. */
  #stream: CallerStream | undefined;
  /** Limits the call while it has no caller; created when the caller's first connection is gone. */
  #detached: DetachedCall | undefined;

  constructor(plan: RelayedRequestPlan) {
    super();
    this.plan = plan;
    this.exchange = plan.exchange;
    this.id = plan.id;
  }

  /** Delays the answer until one more progress report has come, or `LATE_PROGRESS_WAIT_MS` have passed. */
  protected delayAnswer(send: () => void): void {
    this.request = undefined;
    this.#sendDelayedAnswer = send;
    this.plan.context.deadlines.after(LATE_PROGRESS_WAIT_MS, () => this.sendDelayedAnswer());
  }

  protected sendDelayedAnswer(): void {
    const send = this.#sendDelayedAnswer;
    this.#sendDelayedAnswer = undefined;
    if (!this.isDone) send?.();
  }

  /** Whether the caller reads too slowly to be sent more. */
  protected get isBlocked(): boolean {
    return this.#stream?.isBlocked === true;
  }

  protected onSent(request: RpcRequest): void {
    this.request = request;
    this.#detached?.onSent(request);
  }

  /** Why the caller cannot be asked anything now; `undefined` if it can. */
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

  /** Sends the caller a message; `BackendRequests` uses it, too. */
  sendToClient(parts: readonly Buffer[], onLost?: () => void): void {
    if (!this.isDone) this.#emit(joined(parts), onLost);
  }

  /** Answers the caller with this message, while the call goes on. @param meanwhile the exchange that receives all later messages. */
  pauseWith(message: Buffer, meanwhile: Exchange): void {
    const exchange = this.exchange;
    exchange.onAbort = undefined;
    if (this.#isEventDue) (this.#stream ?? this.#openStream()).finish([message]);
    else answer(exchange, message);
    this.#stream = undefined;
    this.continueWith(meanwhile);
    this.#bufferedNotifications = [];
  }

  /** Goes on with another exchange: it receives the notifications kept while no caller waited, and all later messages. */
  continueWith(exchange: Exchange): void {
    this.exchange = exchange;
    exchange.onAbort = () => this.onCallerGone();
    const notifications = this.#bufferedNotifications ?? [];
    this.#bufferedNotifications = undefined;
    for (const bytes of notifications) this.onMessage(bytes, readBackendMessage(bytes)!);
    this.request?.resume();
  }

  abstract onMessage(bytes: Buffer, message: BackendMessage): void;

  /** Keeps the newest notifications while no caller waits, up to 16 KiB. @returns false if a caller waits, or a list has changed. */
  protected tryBuffer(bytes: Buffer, { method }: BackendMessage): boolean {
    const kept = this.#bufferedNotifications;
    // The news that a list has changed is not kept: the client would use the old list for as long as it takes to answer.
    if (kept === undefined || method.endsWith('/list_changed')) return false;
    if (bytes.length < limits.countedFromBytes) kept.push(copied(bytes));
    let total = kept.reduce((sum, { length }) => sum + length, 0);
    while (total >= limits.countedFromBytes) total -= kept.shift()!.length;
    return true;
  }

  /** Why the config no longer allows a suspended call to go on; `undefined` if it does. See `SuspendableRequest`. */
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
    const progress = this.plan.rules.withCallersProgressToken(bytes, message);
    if (progress !== undefined) this.#emit(progress);
  }

  /**
   * In the modern era, a disconnect cancels the call (M08). In the legacy era it does not (S12): the call goes on for a limited time,
   * because it occupies a connection to the backend, and its answer is dropped unless a stream keeps it.
   */
  protected onCallerGone(): void {
    if (this.isDone) {
      this.#stream?.detach();
      return;
    }
    if (!this.plan.rules.hasSession) this.giveUp();
    else if (this.#stream === undefined) this.#ensureDetached().onCallerGone(DETACHED_CALL_MS_MAX, this.request);
    else this.#stream.detach();
  }

  onCallerDetached(): void {
    const timeMs = this.plan.session.streamKeeper?.resumptionTimeMs ?? DETACHED_CALL_MS_MAX;
    this.#ensureDetached().onCallerGone(timeMs, this.request);
  }

  onCallerAttached(): void {
    this.#ensureDetached().onCallerBack();
  }

  onWritable(): void {
    this.request?.resume();
  }

  /** Creates the `DetachedCall`, if there is none. It counts the request's body, which otherwise counts only until the connection ends. */
  #ensureDetached(): DetachedCall {
    if (this.#detached !== undefined) return this.#detached;
    const { session, context } = this.plan;
    const { length } = this.id.bytes;
    return (this.#detached = new DetachedCall(session.account, length, context.deadlines, () => this.giveUp()));
  }

  onRationRead(spentMs: number): void {
    this.#detached?.onRationRead(spentMs);
  }

  override abandonedTaskId(): string | undefined {
    return this.#detached?.isOrphan === true && this.plan.message.method === 'tasks/result' ? this.taskId : undefined;
  }

  /** The task's id as the caller has written it. */
  protected get taskId(): string {
    const { exchange, message } = this.plan;
    return exchange.request.body.toString('utf8', message.nameStart, message.nameEnd);
  }

  override get ambiguousProgressKey(): string | undefined {
    const { message, exchange, rules } = this.plan;
    const { progressTokenStart: start, progressTokenEnd: end } = message;
    if (start === -1) return undefined;
    const sent = rules.sentProgressToken;
    if (this.#progressKey === undefined || this.#progressKey.sent !== sent) {
      const key =
        sent === undefined ? ambiguousIdKey(exchange.request.body, start, end) : ambiguousIdKey(sent, 0, sent.length);
      this.#progressKey = { sent, key };
    }
    return this.#progressKey.key;
  }

  /** Whether a progress report is of this call, and wanted: a caller that gave no token wants none. */
  protected isOwnProgress(bytes: Buffer, message: BackendMessage): boolean {
    const { message: call, exchange, rules } = this.plan;
    const { progressTokenStart: start, progressTokenEnd: end } = message;
    if (start === -1 || call.progressTokenStart === -1) return false;
    const sent = rules.sentProgressToken;
    if (sent !== undefined) return isSameId(bytes, start, end, sent, 0, sent.length);
    return isSameId(bytes, start, end, exchange.request.body, call.progressTokenStart, call.progressTokenEnd);
  }

  /** Opens the stream to the caller, which must accept events. */
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
   * Answers the current exchange.
   * @param parts what the caller gets in place of the message.
   * @param status HTTP status, used if no event was sent before.
   * @param isVolatile whether the message is valid only until this returns.
   */
  protected answerCaller(
    message: Buffer,
    parts: readonly Buffer[] | undefined,
    status: number,
    isVolatile: boolean,
  ): void {
    this.#detached?.close();
    const exchange = this.exchange;
    this.plan.session.finish(this);
    const isPlain = status === 200 && !this.#isEventDue;
    if (isPlain && isVolatile) answerBorrowed(exchange, message);
    else if (isPlain && parts !== undefined && message.length <= limits.readAtOnceBytesMax)
      answerJoined(exchange, parts);
    else if (isPlain && parts !== undefined) answerInParts(exchange, parts);
    else this.#answerAsEventOrWithStatus(exchange, parts ?? [isVolatile ? copied(message) : message], status);
    this.plan.rules.onOver?.();
  }

  #answerAsEventOrWithStatus(exchange: Exchange, parts: readonly Buffer[], status: number): void {
    if (this.#isEventDue) (this.#stream ?? this.#openStream()).finish(parts);
    else answerWithStatus(exchange, joined(parts), status);
  }

  /** Whether the answer is the last event of a stream, which is open already or is opened so that the client can resume it. */
  get #isEventDue(): boolean {
    if (this.#stream !== undefined) return true;
    const { session } = this.plan;
    const exchange = this.exchange;
    return (
      exchange.request.acceptedTypes === 'event-stream' && session.streamKeeper !== undefined && !exchange.isAborted
    );
  }
}
