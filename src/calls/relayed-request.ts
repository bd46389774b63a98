// One request for a single backend, such as `tools/call`: relayed byte for byte both ways, except for names, ids, URIs and what the config
// or an era changes. This is the backend's side; the caller's side is `answered-request.ts`. Hot path: one object per call, nothing
// awaited.
import { randomUUID } from 'node:crypto';
import {
  capability,
  readBackendMessage,
  type BackendMessage,
  type ClientMessage,
  type Era,
  type MirroredParam,
  errorCodeIn,
  isToolError,
} from '../mcp/index.js';
import { isNumberIdAsText, type Scan, partsOf } from '../bytes/index.js';
import { type Deadline, LARGE_MEMORY_FROM_BYTES, wakeScheduler, joined } from '../fair/index.js';
import { limits, rpcErrors, type RpcError } from '../shared/index.js';
import { errorMessage, resultMessage, type Exchange, type ExchangeWatcher, metadataFor } from '../exchange/index.js';
import { AnsweredRequest } from './answered-request.js';
import { adaptedForClient, askAfterRefusal } from '../session/index.js';
import { withEdit, type ReadArguments, callersParts, tracedMessage, bareTaskEdit } from '../messages/index.js';
import { mirroredParamsToRead, readArguments } from './large-arguments.js';
import { ModernLeg, type ModernLegOwner } from './modern-leg.js';
import { upstreamFault, type UpstreamFault, faultReason, type OutgoingMessage } from '../http-client/index.js';
import {
  isNameTooLong,
  type IdSpan,
  type RequestHandler,
  type UpstreamSession,
  type UpstreamSessionRecord,
} from '../upstream/index.js';
import { ownResult, type RelayedRequestPlan } from './era-rules.js';

/**
 * How long a backend has to answer a cancelled call, which it need not do. Then the call is cut, and the caller is answered `Request
 * cancelled`.
 */
export const CANCELLED_ANSWER_MS_MAX = 5_000;

/**
 * How long a backend may be silent while a task's result is awaited, which comes only when the task has ended; `--call-timeout` if that is
 * longer. Then the caller is answered -32603, and may ask again.
 */
const TASK_RESULT_SILENCE_MS_MAX = 3_600_000;

/** Reports the outcome to the watcher. @param sentAtMs when the request went to the backend, on `performance`'s clock. */
function reportOutcome(
  watcher: ExchangeWatcher,
  method: string,
  bytes: Buffer,
  { isError, bodyStart, bodyEnd }: BackendMessage,
  sentAtMs: number,
): void {
  const backendMs = performance.now() - sentAtMs;
  if (isError) watcher.onOutcome('rpc-error', errorCodeIn(bytes, bodyStart, bodyEnd), backendMs);
  else if (watcher.wantsToolErrors && method === 'tools/call' && isToolError(bytes, bodyStart, bodyEnd))
    watcher.onOutcome('tool-error', '', backendMs);
  else watcher.onOutcome('ok', '', backendMs);
}

/**
 * The error for the caller when the backend has failed. A missing consent is an elicitation error (-32042) for legacy clients only: modern
 * ones do not know it (M27).
 */
export function failureOf(fault: UpstreamFault, { session, upstream, rules }: RelayedRequestPlan): RpcError {
  const { name } = upstream.backend;
  if (fault.makeConnectUrl === undefined) {
    const error = rpcErrors.backendFailed(name, faultReason(fault));
    return fault.refusal === undefined ? error : { ...error, data: { ...fault.refusal } };
  }
  const isElicited = rules.hasSession && session.backendRequests.offersUrls;
  return consentMissing(name, fault.makeConnectUrl(), isElicited);
}

/**
 * The error for a backend that needs its user's consent first. If the URL for that is known, a client that supports it gets an elicitation
 * in URL mode (2025-11-25), any other client the URL in the error message.
 */
function consentMissing(backendName: string, url: string | undefined, isElicited: boolean): RpcError {
  if (url === undefined) return rpcErrors.consentWithoutUrl(backendName);
  if (!isElicited) return rpcErrors.consentAtUrl(backendName, url);
  const error = rpcErrors.consentElicited(backendName);
  const elicitation = { mode: 'url', elicitationId: randomUUID(), url, message: error.message };
  return { ...error, data: { elicitations: [elicitation] } };
}

const SESSION_ENDED = upstreamFault('session-ended');

export class RelayedRequest extends AnsweredRequest implements RequestHandler, ModernLegOwner {
  readonly isCancellable = true;
  readonly acceptsBorrowed = true;
  /** The upstream session in which the request was sent. A fault is about this session, even if another session has replaced it since. */
  #sentIn: UpstreamSessionRecord | undefined;
  #sentAtMs = 0;
  #isSecondTry = false;
  /** The era in which the backend has refused the first try: the second try must be in the other era. */
  #refusedEra: Era | undefined;
  #modernLeg: ModernLeg | undefined;
  /** Whether the client has yet to answer something that the backend has asked. */
  #isAsking = false;
  /** Whether the client has yet to answer a question on the backend's own stream, which may belong to any call. */
  #isSilenceExcused = false;
  #argumentScan: Scan | undefined;
  #cancelDeadline: Deadline | undefined;

  start(): void {
    // If two requests wait for one task, the backend may put its questions to either: so a request without a caller is given up.
    if (this.plan.message.method === 'tasks/result') this.plan.session.inFlight.giveUpAbandoned(this.taskId);
    this.plan.session.inFlight.begin(this);
    this.exchange.onAbort = () => this.onCallerGone();
    // A large message takes a while to be parsed; its caller may be gone by then.
    if (this.exchange.isAborted) this.onCallerGone();
    if (this.isDone) return;
    if (this.plan.upstream.isReady) this.#onUpstreamReady(undefined);
    else this.plan.upstream.whenReady(this.plan.metadata, (fault) => this.#onUpstreamReady(fault));
  }

  /**
   * Forwards the caller's own notification to the backend that runs the request, and stops waiting soon.
   * @param exchange that of the notification.
   */
  override cancel(exchange: Exchange, notification: ClientMessage): void {
    if (this.isDone) return;
    if (this.request === undefined) {
      this.#refuse(rpcErrors.cancelled);
      return;
    }
    const { upstream } = this.plan;
    const { body } = exchange.request;
    const metadata = metadataFor(upstream.backend, exchange.request);
    // A large notification is not forwarded, because bytes that wait to be sent count in no share.
    if (body.length < limits.countedFromBytes)
      upstream.send(withEdit({ body }, bareTaskEdit(body, notification, upstream.backend)), metadata);
    else upstream.cancel(this.#sentId, 'cancelled by the client', metadata);
    // A backend without sessions cannot tell whose request a cancellation names: only closing the connection tells it.
    if (this.#sentIn?.sessionId === '') {
      this.#endCancelled();
      return;
    }
    // A deadline is needed, because a backend need not answer, and many never end the stream either.
    this.#cancelDeadline ??= this.plan.context.deadlines.after(CANCELLED_ANSWER_MS_MAX, () => this.#endCancelled());
  }

  #endCancelled(): void {
    this.request?.abort();
    this.#refuse(rpcErrors.cancelled);
  }

  override get mayEndLater(): true {
    return true;
  }

  endWithSession(): void {
    this.request?.abort();
    this.#fail(SESSION_ENDED);
  }

  onAnswer(bytes: Buffer, message: BackendMessage, isBorrowed = false): void {
    if (this.#modernLeg === undefined) {
      if (this.hasSeparateProgress && bytes.length <= limits.readAtOnceBytesMax) {
        const lastingBytes = isBorrowed ? Buffer.from(bytes) : bytes;
        this.delayAnswer(() => this.onFinalAnswer(lastingBytes, message));
      } else this.onFinalAnswer(bytes, message, isBorrowed);
      return;
    }
    // The message is copied, because it may be needed until the client has answered.
    const kept = isBorrowed ? Buffer.from(bytes) : bytes;
    this.#modernLeg.onAnswer(kept, message, this.request?.status ?? 0);
  }

  /** Passes the final answer on to the caller. Called by `ModernLeg` or, where there is none, by `onAnswer`. */
  onFinalAnswer(bytes: Buffer, message: BackendMessage, isBorrowed = false): void {
    if (!message.isError) this.plan.onSettled?.(true);
    const { session, upstream, uriLocations, rules } = this.plan;
    const { uriName } = upstream.backend;
    // The era in which the request was sent: other requests may have found out since that the backend speaks another one.
    const era = this.#sentIn?.era ?? 'legacy';
    const adapted = rules.adaptedAnswer?.(bytes, message, this.plan, era);
    if (typeof adapted === 'string') return this.#finish(resultMessage(this.callersId, adapted));
    if (adapted !== undefined && 'code' in adapted) return this.#refuse(adapted);
    const tasks = session.taskOwnership(upstream);
    const { taskLocations } = adapted ?? this.plan;
    const more = adapted?.edits;
    const parts = callersParts(bytes, message, this.callersId, uriName, uriLocations, taskLocations, tasks, more);
    if (parts === 'task-unreachable') this.#fail(upstreamFault(parts));
    else {
      // Tool errors are looked for only if there is a watcher, for which alone they matter.
      const { watcher } = this.exchange;
      if (watcher !== undefined) reportOutcome(watcher, this.plan.message.method, bytes, message, this.#sentAtMs);
      // Parts are joined into a copy. Without parts, the answer is still in the memory that it was read into, and stays borrowed.
      this.#finish(bytes, parts, adapted?.status, isBorrowed && parts === undefined);
    }
    // The request's body is not needed once it is sent. Only the memory of a large one is used again.
    if (this.id.bytes.length >= LARGE_MEMORY_FROM_BYTES && this.request?.isSent === true)
      this.plan.exchange.releaseBody();
  }

  sendAgain(): void {
    this.#isSecondTry = false;
    this.#refusedEra = undefined;
    this.plan.upstream.whenReady(this.plan.metadata, (fault) => this.#onUpstreamReady(fault));
  }

  onNoInput(error: RpcError | undefined): void {
    if (error === undefined) this.#fail(upstreamFault('answer-invalid'));
    else this.#refuse(error);
  }

  override onMessage(bytes: Buffer, message: BackendMessage): void {
    const { session, upstream, metadata, rules } = this.plan;
    if (message.kind === 'request' && !this.#isAnswerable) return;
    if (message.kind === 'request') session.backendRequests.ask(this, upstream, metadata, bytes, message);
    else if (message.method === 'notifications/cancelled') session.backendRequests.withdraw(upstream, bytes, message);
    else if (!this.tryBuffer(bytes, message)) {
      upstream.noteListChange(message.method);
      const isProgress = message.method === 'notifications/progress';
      const isOwnProgress = isProgress && this.isOwnProgress(bytes, message);
      if (isProgress && !isOwnProgress && this.#tryRepairProgress(bytes, message)) return;
      if (isProgress && !isOwnProgress && session.inFlight.isMistakable(upstream, bytes, message)) return;
      const isPlainProgress =
        isOwnProgress && (rules.sentProgressToken !== undefined || !upstream.declares(capability.tasks));
      if (isPlainProgress) this.emitProgress(bytes, message);
      else if (rules.isForCaller(bytes, message)) {
        const parts = adaptedForClient(session, upstream, bytes, message, isOwnProgress);
        if (parts !== undefined) this.sendToClient(parts);
      }
    }
  }

  /** Relays progress whose token, a number, the backend returns as a string. Not on a stream of several calls: one may have that string. */
  #tryRepairProgress(bytes: Buffer, { progressTokenStart: start, progressTokenEnd: end }: BackendMessage): boolean {
    const { message: call, exchange, rules, upstream } = this.plan;
    if (start === -1 || call.progressTokenStart === -1 || upstream.backend.transport === 'SSE') return false;
    const putIn =
      rules.sentProgressToken ?? exchange.request.body.subarray(call.progressTokenStart, call.progressTokenEnd);
    if (bytes.length > limits.readAtOnceBytesMax || !isNumberIdAsText(bytes, start, end, putIn, 0, putIn.length))
      return false;
    const repaired = joined(partsOf(bytes, [{ start, end, putIn }]));
    const message = readBackendMessage(repaired);
    if (message === undefined) return false;
    upstream.endpoint.onForgiven('id-as-text');
    this.onMessage(repaired, message);
    return true;
  }

  /** Whether questions of the backend can be answered: only in the legacy upstream session in which the request was sent. */
  get #isAnswerable(): boolean {
    return this.#sentIn?.era === 'legacy' && this.plan.upstream.record?.sessionId === this.#sentIn.sessionId;
  }

  /** Asks the caller what the backend wants to know. Like `onUndeclaredRequest` and `withdraw`, part of `AskingStream`. */
  ask(id: Buffer, parts: readonly Buffer[], onLost: (error?: RpcError) => void): void {
    const { rules } = this.plan;
    if (rules.hasSession) return this.sendToClient(parts, onLost);
    const error = rules.ask(this.plan, this, id, joined(parts));
    if (error !== undefined) onLost(error);
  }

  onUndeclaredRequest(method: string, mode: string): void {
    this.plan.rules.onUndeclaredRequest(method, mode);
  }

  withdraw(id: Buffer, parts: readonly Buffer[]): void {
    const { rules } = this.plan;
    if (rules.hasSession) this.sendToClient(parts);
    else rules.withdraw(id);
  }

  /** Called when the backend begins or ends to wait for the client: meanwhile its silence does not count, as a person may have to decide. */
  onAskingChanged(isAsking: boolean): void {
    this.#isAsking = isAsking;
    this.#countSilence();
  }

  override onSessionHandedOver(): void {
    this.#modernLeg?.onSessionHandedOver();
  }

  override excuseSilence(upstream: UpstreamSession, isExcused: boolean): void {
    if (upstream !== this.plan.upstream) return;
    this.#isSilenceExcused = isExcused;
    this.#countSilence();
  }

  override askingStreamFor(upstream: UpstreamSession): this | undefined {
    const { rules } = this.plan;
    const isAskable = !rules.hasSession && rules.askingObstacle === undefined && this.request !== undefined;
    return isAskable && upstream === this.plan.upstream && this.#isAnswerable ? this : undefined;
  }

  override takeProgress(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    const { session, rules } = this.plan;
    if (upstream !== this.plan.upstream || !this.isOwnProgress(bytes, message)) return false;
    this.#countSilence();
    this.hasSeparateProgress = upstream.backend.transport !== 'SSE';
    if (this.tryBuffer(bytes, message)) return true;
    // The backend's own stream is not paused for one caller: progress that the caller is too slow for is dropped, as later progress says
    // more.
    if (this.isBlocked) return true;
    const parts =
      rules.sentProgressToken === undefined ? adaptedForClient(session, upstream, bytes, message, true) : undefined;
    if (parts !== undefined) this.sendToClient(parts);
    else if (rules.sentProgressToken !== undefined && !this.isDone) this.emitProgress(bytes, message);
    this.sendDelayedAnswer();
    return true;
  }

  override isForOtherBackend(upstream: UpstreamSession): boolean {
    return upstream !== this.plan.upstream;
  }

  /** Counts the backend's silence from now on, unless it waits for the client. */
  #countSilence(): void {
    this.request?.excuseSilence(this.#isAsking || this.#isSilenceExcused);
  }

  /** Faults are handled round robin by subject: hundreds of requests may fail at once when their backend goes away. */
  onFault(fault: UpstreamFault): void {
    wakeScheduler.run(this.plan.session.identity.subject, () => this.#onFault(fault));
  }

  #onFault(fault: UpstreamFault): void {
    if (this.isDone) return;
    const { upstream, metadata } = this.plan;
    this.request = undefined;
    const isLost = upstream.tryRecover(fault, this.#sentIn);
    const mayTryAgain = !this.#isSecondTry && this.#cancelDeadline === undefined;
    // After these faults, the backend has not executed the request. So it is tried once more, in a new upstream session (R04) or with other
    // credentials, unless it was cancelled.
    if (mayTryAgain && (isLost || upstream.tryRenewCredentials(fault, metadata))) {
      this.#isSecondTry = true;
      this.#refusedEra = fault.kind === 'era-refused' ? this.#sentIn?.era : undefined;
      upstream.whenReady(metadata, (openFault) => this.#onUpstreamReady(openFault));
      return;
    }
    upstream.reportFailure(fault);
    askAfterRefusal(upstream, fault, metadata);
    if (fault.kind === 'answer-timeout') upstream.cancel(this.#sentId, 'timed out', metadata);
    this.#fail(fault);
  }

  #onUpstreamReady(fault: UpstreamFault | undefined): void {
    if (this.isDone) return;
    if (fault !== undefined) {
      this.#fail(fault);
      return;
    }
    const { gate, upstream, metadata } = this.plan;
    if (gate === undefined) this.#send();
    else gate.check(upstream, metadata, (obstacle) => this.#onGateChecked(obstacle));
  }

  #onGateChecked(obstacle: RpcError | UpstreamFault | 'nothing' | undefined): void {
    if (this.isDone) return;
    if (obstacle === undefined) this.#send();
    else if (obstacle === 'nothing') {
      this.exchange.watcher?.onOutcome('ok', '', -1);
      this.#finish(resultMessage(this.callersId, ownResult(this.plan.rules, '"completion":{"values":[]}')));
    } else if ('code' in obstacle) this.#refuse(obstacle);
    else this.#fail(obstacle);
  }

  #send(read?: ReadArguments): void {
    const { session, upstream, metadata, message, context } = this.plan;
    const { record } = upstream;
    // The upstream session may have been lost while the request was checked.
    if (record === undefined || (this.#modernLeg?.hasBegun === true && record.era === 'legacy')) {
      this.#fail(upstreamFault('session-lost'));
      return;
    }
    // If the backend still speaks the era in which it refused the first try, it had another reason to refuse.
    if (record.era === this.#refusedEra) return this.#fail(upstreamFault('era-refused'));
    const unreadParams = upstream.mirrors && mirroredParamsToRead(this.plan);
    if (unreadParams !== undefined && unreadParams !== read?.params) return this.#readArgumentsFirst(unreadParams);
    // Subscriptions alone have `onSettled`.
    if (record.era === 'modern' && this.plan.onSettled !== undefined) return this.#subscribeHere(this.plan.onSettled);
    this.#sentIn = record;
    if (this.exchange.watcher !== undefined) this.#sentAtMs = performance.now();
    const outgoing = this.#buildOutgoing(record.era, read);
    if ('code' in outgoing) return this.#refuse(outgoing);
    const { callIdleTimeoutMs } = context.options;
    const isLong = message.method === 'tasks/result';
    const silenceMs = isLong ? Math.max(callIdleTimeoutMs, TASK_RESULT_SILENCE_MS_MAX) : callIdleTimeoutMs;
    this.onSent(upstream.request(outgoing, this.#sentId, metadata, silenceMs, true, this));
    // Questions asked in an earlier upstream session do not excuse silence.
    this.#isSilenceExcused = session.awaitsClientAnswer(upstream);
    if (this.#isSilenceExcused) this.#countSilence();
  }

  /** A modern backend keeps no subscriptions: the client's session keeps them, and listens for changes of the subscribed resources. */
  #subscribeHere(onSettled: (isDone: boolean) => void): void {
    const { upstream, message } = this.plan;
    if (!upstream.declares(capability.resourcesSubscribe))
      return this.#refuse(rpcErrors.methodNotFound(message.method));
    onSettled(true);
    this.exchange.watcher?.onOutcome('ok', '', -1);
    this.#finish(resultMessage(this.callersId, '{}'));
  }

  /** Reads the arguments, then sends. If the tool's mirrored parameters have changed meanwhile, the arguments are read again. */
  #readArgumentsFirst(params: readonly MirroredParam[]): void {
    this.#argumentScan = readArguments(this.plan, params, (read) => {
      this.#argumentScan = undefined;
      if ('code' in read) this.#refuse(read);
      else this.#send(read);
    });
  }

  #buildOutgoing(era: Era, read: ReadArguments | undefined): OutgoingMessage | RpcError {
    const { rules, upstream, bareName, message, exchange } = this.plan;
    const adapted = rules.outgoing?.(this.plan.outgoing, upstream, bareName, read) ?? this.plan.outgoing;
    if ('code' in adapted) return adapted;
    if (era === 'modern' && isNameTooLong(bareName)) return rpcErrors.nameTooLong;
    const { watcher } = exchange;
    const traced = watcher?.isTraced === true ? tracedMessage(watcher, this.plan, adapted, this.id) : adapted;
    // A modern client's request has its envelope and headers already, but a call from within `call_tool` lacks headers.
    if (era === 'legacy' || (message.envelope !== undefined && exchange.request.isWrapped !== true)) {
      this.#modernLeg?.end();
      this.#modernLeg = undefined;
      return traced;
    }
    return (this.#modernLeg ??= new ModernLeg(this.plan, this)).outgoing(traced, read);
  }

  get #sentId(): IdSpan {
    const id = this.plan.rules.sentId?.(this.id) ?? this.id;
    return this.#modernLeg?.sentId(id) ?? id;
  }

  override giveUp(): void {
    if (this.isDone) return;
    if (this.request !== undefined)
      this.plan.upstream.cancel(this.#sentId, 'nobody is waiting for the response', this.plan.metadata);
    this.request?.abort();
    this.#refuse(rpcErrors.cancelled);
  }

  /** Ends the request with an error of the gateway's own that is no fault of the backend. */
  #refuse(error: RpcError): void {
    const { rules } = this.plan;
    const { error: own, status } = rules.ownError(error);
    this.exchange.watcher?.onOutcome('rpc-error', own.code, -1);
    this.#finish(errorMessage(this.callersId, own), undefined, status);
  }

  #fail(fault: UpstreamFault): void {
    const tookMs = this.#sentAtMs === 0 ? -1 : performance.now() - this.#sentAtMs;
    this.exchange.watcher?.onOutcome('fault', fault.kind, tookMs);
    this.#finish(errorMessage(this.callersId, failureOf(fault, this.plan)));
  }

  #finish(message: Buffer, parts?: readonly Buffer[], status = 200, isVolatile = false): void {
    if (this.isDone) return;
    if (this.#isAsking) this.plan.session.backendRequests.onStreamEnded(this);
    this.isDone = true;
    this.plan.onSettled?.(false);
    this.plan.gate?.abort();
    this.#modernLeg?.end();
    this.#argumentScan?.cancel();
    this.#cancelDeadline?.cancel();
    this.answerCaller(message, parts, status, isVolatile);
  }
}
