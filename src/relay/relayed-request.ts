// One request for a single backend on its way, as `tools/call`: there with only the name changed, and back as it came. The
// caller's going away does not end it (S12), a cancellation does (C16). Hot: one object per call, nothing awaited.
import { capability } from '../protocol/capabilities.js';
import { sameId, type BackendMessage, type ClientMessage } from '../protocol/json-rpc.js';
import type { Era } from '../protocol/protocol-versions.js';
import type { Deadline } from '../shared/deadline-wheel.js';
import { limits } from '../shared/limits.js';
import { rpcCodes } from '../shared/refusals.js';
import { copied, joined } from '../shared/short-memory.js';
import {
  answer,
  answerInParts,
  answerJoined,
  answerPassing,
  answerWithStatus,
  CANCELLED,
  errorMessage,
  methodNotFound,
  resultMessage,
  type RpcError,
} from './answers.js';
import { clientsNotification } from './backend-notifications.js';
import { withEdit } from './bare-body.js';
import { CallerStream, type StreamOwner } from './caller-stream.js';
import type { Exchange } from './exchange.js';
import { metadataFor } from './passthrough.js';
import { ModernLeg, NAME_TOO_LONG, NOT_CHANGED, type ModernLegOwner } from './modern-leg.js';
import { failureOf } from './request-failure.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';
import { RequestInFlight } from './request-in-flight.js';
import { callersParts } from './rewriting.js';
import { tracedMessage } from './trace-passing.js';
import { bareTaskEdit } from './task-ids.js';
import { tellOutcome } from './told-outcome.js';
import { UnheardCall } from './unheard-call.js';
import { upstreamFault, type UpstreamFault } from '../upstream/upstream-fault.js';
import { isNameTooLong } from '../upstream/modern-request.js';
import type { IdSpan, RequestHandler, RpcRequest } from '../upstream/rpc-request.js';
import type { OutgoingMessage } from '../upstream/http-upstream.js';
import type { UpstreamSession } from '../upstream/upstream-session.js';
import type { UpstreamSessionRecord } from '../upstream/upstream-session-record.js';

const CLIENT_GONE: RpcError = { code: rpcCodes.internalError, message: 'The client is gone' };
const JSON_ALONE: RpcError = {
  code: rpcCodes.internalError,
  message: 'The client takes no event stream: it cannot be asked',
};

export class RelayedRequest extends RequestInFlight implements RequestHandler, ModernLegOwner, StreamOwner {
  readonly id: IdSpan;
  readonly isCancellable = true;
  readonly #plan: RelayedRequestPlan;
  /** Who hears of it: its caller, or whoever has made the request again. */
  #exchange: Exchange;
  #request: RpcRequest | undefined;
  /** The upstream session that the request was sent in, to tell a loss of it from a loss of its successor. */
  #sentIn: UpstreamSessionRecord | undefined;
  /** Known where somebody wants to know how long the backend took. */
  #sentAtMs = 0;
  #isSecondTry = false;
  /** The backend has refused the first try for its era: the second one is of the other. */
  #refusedEra: Era | undefined;
  /** Made where its backend has no sessions. */
  #modern: ModernLeg | undefined;
  /** From the first event on, or before a slow answer. */
  #stream: CallerStream | undefined;
  /** The client has something to answer that its backend has asked. */
  #isAsking = false;
  /** The same, asked on the backend's own stream, where nobody tells for which call. */
  #isExcused = false;
  #isDone = false;
  #cancelDeadline: Deadline | undefined;
  /** Once its caller, or the caller's first connection, is gone. */
  #unheard: UnheardCall | undefined;

  constructor(plan: RelayedRequestPlan) {
    super();
    const { body } = plan.exchange.request;
    this.#plan = plan;
    this.#exchange = plan.exchange;
    this.id = { bytes: body, start: plan.message.idStart, end: plan.message.idEnd };
  }

  start(): void {
    // Of two that wait for one task its backend would ask either of them.
    if (this.#plan.message.method === 'tasks/result') this.#plan.session.inFlight.giveUpAbandoned(this.#task);
    this.#plan.session.begin(this);
    this.#exchange.onAbort = () => this.#onCallerGone();
    // A large message takes a while to be read, and its caller may be gone by then.
    if (this.#exchange.isAborted) this.#onCallerGone();
    if (this.#isDone) return;
    this.#plan.upstream.whenReady(this.#plan.metadata, (fault) => this.#onOpen(fault));
  }

  /**
   * Passes the caller's own notice on to the one backend that runs the request, and stops waiting soon.
   * @param exchange the notice's own exchange.
   */
  cancel(exchange: Exchange, notice: ClientMessage): void {
    if (this.#isDone) return;
    if (this.#request === undefined) {
      // Not sent yet: there is nothing to cancel there.
      this.#refuse(CANCELLED);
      return;
    }
    const { upstream } = this.#plan;
    const { body } = exchange.request;
    const metadata = metadataFor(upstream.backend, exchange.request);
    // What waits to be sent is counted by nobody.
    if (body.length < limits.countedFromBytes)
      upstream.send(withEdit({ body }, bareTaskEdit(body, notice, upstream.backend)), metadata);
    else upstream.cancel(this.#sentId, 'cancelled by the client', metadata);
    // A backend without sessions cannot tell whose request the notice means. What it understands is that nobody listens any more.
    if (this.#sentIn?.sessionId === '') {
      this.#endCancelled();
      return;
    }
    // A backend need not answer what was cancelled, and many never end the stream either.
    this.#cancelDeadline ??= this.#plan.deadlines.after(limits.cancelledAnswerMsMax, () => this.#endCancelled());
  }

  #endCancelled(): void {
    this.#request?.abort();
    this.#refuse(CANCELLED);
  }

  /** The session was ended under the call. */
  endWithSession(): void {
    this.#request?.abort();
    this.#fail(upstreamFault('session-ended'));
  }

  /** For `RpcRequest`. */
  get readsInPlace(): true {
    return true;
  }

  onAnswer(bytes: Buffer, message: BackendMessage, _sessionId: string, isInPlace = false): void {
    if (this.#sentIn?.era !== 'modern' || this.#modern === undefined) {
      this.onWhole(bytes, message, isInPlace);
      return;
    }
    // What it says may be needed until the client has answered.
    const kept = isInPlace ? Buffer.from(bytes) : bytes;
    if (!this.#modern.takes(kept, message, this.#request?.status ?? 0)) this.onWhole(kept, message);
  }

  /** For `ModernLeg`, as the next two. */
  onWhole(bytes: Buffer, message: BackendMessage, isInPlace = false): void {
    if (!message.isError) this.#plan.onSettled?.(true);
    const { session, upstream, uriPlaces, form } = this.#plan;
    const { uriName } = upstream.backend;
    const instead = form.insteadOf(bytes, message);
    if (instead !== undefined) {
      this.#refuse(instead);
      return;
    }
    const tasks = session.taskForm(upstream);
    const taskPlaces = form.taskPlacesIn(this.#plan.taskPlaces, bytes, message, upstream);
    const more = form.answerEdits(bytes, message, upstream);
    const parts = callersParts(bytes, message, this.#callersId, uriName, uriPlaces, taskPlaces, tasks, more);
    if (parts === 'task-unreachable') this.#fail(upstreamFault(parts));
    else {
      tellOutcome(this.#exchange.watcher, this.#plan.message.method, bytes, message, this.#sentAtMs);
      // Parts are put together, which copies them.
      const status = message.isError ? form.answerStatus(bytes, message, upstream) : 200;
      this.#finish(bytes, parts, status, isInPlace && parts === undefined);
    }
    if (this.#request?.isSent === true) this.#plan.exchange.releaseBody();
  }

  onInput(): void {
    this.#isSecondTry = false;
    this.#refusedEra = undefined;
    this.#plan.upstream.whenReady(this.#plan.metadata, (fault) => this.#onOpen(fault));
  }

  onNoInput(error: RpcError | undefined): void {
    if (error === undefined) this.#fail(upstreamFault('answer-invalid'));
    else this.#refuse(error);
  }

  onMessage(bytes: Buffer, message: BackendMessage): void {
    const { session, upstream, metadata, form } = this.#plan;
    // Without a session nothing can be asked on a stream, and nobody could answer.
    if (message.kind === 'request' && upstream.isModern) return;
    if (message.kind === 'request') session.backendRequests.ask(this, upstream, metadata, bytes, message);
    else if (message.method === 'notifications/cancelled') session.backendRequests.withdraw(upstream, bytes, message);
    else {
      upstream.hear(message.method);
      const isOwnProgress = message.method === 'notifications/progress' && this.#isOwnProgress(bytes, message);
      const isAsItCame = isOwnProgress && (form.sentToken !== undefined || !upstream.declares(capability.tasks));
      if (isAsItCame) this.#sayProgress(bytes, message);
      else if (form.isHeard(bytes, message)) {
        const parts = clientsNotification(session, upstream, bytes, message, isOwnProgress);
        if (parts !== undefined) this.tell(parts);
      }
    }
  }

  /** For `BackendRequests`. */
  get askingObstacle(): RpcError | undefined {
    const exchange = this.#exchange;
    const { form } = this.#plan;
    if (form.asking !== undefined) return form.askingObstacle;
    if (exchange.isAborted && this.#stream?.isResumable !== true) return CLIENT_GONE;
    return form.askingObstacle ?? (exchange.request.answerForms === 'json' ? JSON_ALONE : undefined);
  }

  override onSlow(): void {
    const exchange = this.#exchange;
    if (this.#stream !== undefined || exchange.request.answerForms === 'json' || exchange.isAborted) return;
    this.#openStream().prime();
  }

  /** A message for the caller; for `BackendRequests` too. */
  tell(parts: readonly Buffer[], onLost?: () => void): void {
    if (!this.#isDone) this.#say(joined(parts), onLost);
  }

  /** For `BackendRequests`. */
  ask(id: Buffer, parts: readonly Buffer[], onLost: (error?: RpcError) => void): void {
    const { form } = this.#plan;
    if (form.asking === undefined) return this.tell(parts, onLost);
    const error = form.asking.ask(this.#plan, this, id, joined(parts));
    if (error !== undefined) onLost(error);
  }

  /** For `BackendRequests`. */
  onUnoffered(method: string, mode: string): void {
    this.#plan.form.onUnoffered(method, mode);
  }

  /** For `BackendRequests`. */
  withdraw(id: Buffer, parts: readonly Buffer[]): void {
    const { asking } = this.#plan.form;
    if (asking === undefined) this.tell(parts);
    else asking.withdraw(id);
  }

  /** Gives its caller this for an answer; what comes next is for another. */
  pauseWith(message: Buffer, meanwhile: Exchange): void {
    const exchange = this.#exchange;
    exchange.onAbort = undefined;
    if (this.#isEventDue) (this.#stream ?? this.#openStream()).finish([message], this.#callersId);
    else answer(exchange, message);
    this.#stream = undefined;
    this.goOn(meanwhile);
  }

  /** @param exchange hears of it from now on. */
  goOn(exchange: Exchange): void {
    this.#exchange = exchange;
    exchange.onAbort = () => this.#onCallerGone();
    this.#request?.resume();
  }

  get #callersId(): IdSpan {
    return this.#plan.form.callersId(this.id);
  }

  #sayProgress(bytes: Buffer, message: BackendMessage): void {
    const said = this.#plan.form.withCallersToken(bytes, message);
    if (said !== undefined) this.#say(said);
  }

  /** For `BackendRequests`: people take their time, and the backend waits for them. */
  onAsking(isAsking: boolean): void {
    this.#isAsking = isAsking;
    this.#countSilence();
  }

  override onRetired(): void {
    this.#modern?.onRetired();
  }

  override excuseSilence(upstream: UpstreamSession, isExcused: boolean): void {
    if (upstream !== this.#plan.upstream) return;
    this.#isExcused = isExcused;
    this.#countSilence();
  }

  override hearProgress(upstream: UpstreamSession, bytes: Buffer, message: BackendMessage): boolean {
    const { session, form } = this.#plan;
    if (upstream !== this.#plan.upstream || !this.#isOwnProgress(bytes, message)) return false;
    this.#countSilence();
    // Nothing holds the backend back there: what the caller does not take at once is dropped, and the next says more.
    if (this.#stream?.isBlocked === true) return true;
    const parts =
      form.sentToken === undefined ? clientsNotification(session, upstream, bytes, message, true) : undefined;
    if (parts !== undefined) this.tell(parts);
    else if (form.sentToken !== undefined && !this.#isDone) this.#sayProgress(bytes, message);
    return true;
  }

  /** From now on, or not at all while the client is asked. */
  #countSilence(): void {
    this.#request?.excuseSilence(this.#isAsking || this.#isExcused);
  }

  onFault(fault: UpstreamFault): void {
    const { upstream, metadata } = this.#plan;
    this.#request = undefined;
    const isLost = upstream.tryMarkLost(fault, this.#sentIn);
    const mayTryAgain = !this.#isSecondTry && this.#cancelDeadline === undefined;
    // The request was refused, so it was not executed: once more, in a new upstream session (R04), or with other
    // credentials, if still wanted.
    if (mayTryAgain && (isLost || upstream.tryRenewCredentials(fault, metadata))) {
      this.#isSecondTry = true;
      this.#refusedEra = fault.kind === 'era-refused' ? this.#sentIn?.era : undefined;
      upstream.whenReady(metadata, (openFault) => this.#onOpen(openFault));
      return;
    }
    upstream.reportFailure(fault);
    if (fault.kind === 'answer-timeout') upstream.cancel(this.#sentId, 'timed out', metadata);
    this.#fail(fault);
  }

  #onOpen(fault: UpstreamFault | undefined): void {
    if (this.#isDone) return;
    if (fault !== undefined) {
      this.#fail(fault);
      return;
    }
    const { gate, upstream, metadata } = this.#plan;
    if (gate === undefined) this.#send();
    else gate.pass(upstream, metadata, (obstacle) => this.#onPassed(obstacle));
  }

  #onPassed(obstacle: RpcError | UpstreamFault | undefined): void {
    if (this.#isDone) return;
    if (obstacle === undefined) this.#send();
    else if ('code' in obstacle) this.#refuse(obstacle);
    else this.#fail(obstacle);
  }

  #send(): void {
    const { session, upstream, metadata, idleTimeoutMs } = this.#plan;
    // While the request was at the gate the session may have been lost.
    if (upstream.record === undefined) {
      this.#fail(upstreamFault('session-lost'));
      return;
    }
    if (this.#modern?.isBegun === true && !upstream.isModern) {
      this.#fail(upstreamFault('session-lost'));
      return;
    }
    // Whoever speaks it after all has refused the request for another reason.
    if (upstream.record.era === this.#refusedEra) return this.#fail(upstreamFault('era-refused'));
    const obstacle = this.#plan.form.obstacleAt(upstream, this.#plan.bareName);
    if (obstacle !== undefined) {
      this.#refuse(obstacle);
      return;
    }
    // For subscriptions alone.
    if (upstream.isModern && this.#plan.onSettled !== undefined) return this.#settleHere(this.#plan.onSettled);
    this.#sentIn = upstream.record;
    if (this.#exchange.watcher !== undefined) this.#sentAtMs = performance.now();
    const outgoing = this.#outgoing();
    if ('code' in outgoing) return this.#refuse(outgoing);
    this.#request = upstream.request(outgoing, this.#sentId, metadata, idleTimeoutMs, true, this);
    this.#unheard?.onSent(this.#request);
    // In the upstream session in which it goes out now: what was asked in one before is no excuse.
    this.#isExcused = session.isAskedUnasked(upstream);
    if (this.#isExcused) this.#countSilence();
  }

  /** A backend without sessions keeps no subscription. The session does, and what it listens for there goes by them. */
  #settleHere(onSettled: (isDone: boolean) => void): void {
    const { upstream, message } = this.#plan;
    if (!upstream.declares(capability.resourcesSubscribe)) return this.#refuse(methodNotFound(message.method));
    onSettled(true);
    this.#exchange.watcher?.onOutcome('ok', '', -1);
    this.#finish(resultMessage(this.#callersId, '{}'));
  }

  #outgoing(): OutgoingMessage | RpcError {
    const { form, upstream, bareName, message } = this.#plan;
    if (upstream.isModern && isNameTooLong(bareName)) return NAME_TOO_LONG;
    const formed = form.outgoing(this.#plan.outgoing, upstream, bareName);
    if (formed === undefined) return NOT_CHANGED;
    const traced = tracedMessage(this.#plan, formed, this.id);
    // Who has said so itself needs nothing put in; but what stood in a wrapping has no head of its own.
    if (!upstream.isModern || (message.envelope !== undefined && !form.isWrapped)) return traced;
    return (this.#modern ??= new ModernLeg(this.#plan, this)).outgoing(traced);
  }

  /** As the backend knows it. */
  get #sentId(): IdSpan {
    const id = this.#plan.form.sentId(this.id);
    return this.#sentIn?.era === 'modern' ? (this.#modern?.sentId(id) ?? id) : id;
  }

  /**
   * Going away is not a cancellation in a session (S12): the call goes on unheard, and what comes of it is dropped. But not for ever,
   * because it holds a connection to the backend.
   */
  #onCallerGone(): void {
    if (this.#isDone) {
      this.#stream?.detach();
      return;
    }
    if (this.#plan.form.endsWithCaller) this.giveUp();
    else if (this.#stream === undefined) this.#noteGone().begin(limits.unheardCallMsMax, this.#request);
    else this.#stream.detach();
  }

  /** For `CallerStream`. */
  onDetached(): void {
    const timeMs = this.#plan.session.streamKeeper?.resumptionTimeMs ?? limits.unheardCallMsMax;
    this.#noteGone().begin(timeMs, this.#request);
  }

  onAttached(): void {
    this.#noteGone().end();
  }

  onRoom(): void {
    this.#request?.resume();
  }

  /** With its caller, or the caller's first connection, went the count of what it sent, which is still here. */
  #noteGone(): UnheardCall {
    if (this.#unheard !== undefined) return this.#unheard;
    const { session, deadlines } = this.#plan;
    const { length } = this.id.bytes;
    return (this.#unheard = new UnheardCall(session.account, length, deadlines, () => this.giveUp()));
  }

  /** For `RpcRequest`. */
  onRationRead(spentMs: number): void {
    this.#unheard?.onRationRead(spentMs);
  }

  override get abandonedWait(): string {
    return this.#unheard?.isUnheard !== true || this.#plan.message.method !== 'tasks/result' ? '' : this.#task;
  }

  override giveUp(): void {
    if (this.#isDone) return;
    if (this.#request !== undefined)
      this.#plan.upstream.cancel(this.#sentId, 'nobody waits for the answer', this.#plan.metadata);
    this.#request?.abort();
    this.#refuse(CANCELLED);
  }

  /** The id of the task that the request is about, as the caller has written it. */
  get #task(): string {
    const { exchange, message } = this.#plan;
    return exchange.request.body.toString('utf8', message.nameStart, message.nameEnd);
  }

  /** Progress is relayed under the caller's own token only; a caller that gave none asked for none. */
  #isOwnProgress(bytes: Buffer, message: BackendMessage): boolean {
    const { message: call, exchange, form } = this.#plan;
    const { progressTokenStart: start, progressTokenEnd: end } = message;
    if (start === -1 || call.progressTokenStart === -1) return false;
    const sent = form.sentToken;
    if (sent !== undefined) return sameId(bytes, start, end, sent, 0, sent.length);
    return sameId(bytes, start, end, exchange.request.body, call.progressTokenStart, call.progressTokenEnd);
  }

  /** To a client that takes events. */
  #openStream(): CallerStream {
    return (this.#stream = new CallerStream(this, this.#exchange, this.#plan.session.streamKeeper));
  }

  #say(bytes: Buffer, onLost?: () => void): void {
    const exchange = this.#exchange;
    if (exchange.request.answerForms === 'json') return;
    if (this.#stream === undefined && exchange.isAborted) return;
    const stream = this.#stream ?? this.#openStream();
    stream.say(bytes, onLost);
    if (stream.isBlocked) this.#request?.pause();
  }

  /** Ends with an error of ours that is nobody's fault. */
  #refuse(error: RpcError): void {
    const { form } = this.#plan;
    const own = form.ownError(error);
    this.#exchange.watcher?.onOutcome('rpc-error', own.code, -1);
    this.#finish(errorMessage(this.#callersId, own), undefined, form.statusOf(own));
  }

  #fail(fault: UpstreamFault): void {
    const tookMs = this.#sentAtMs === 0 ? -1 : performance.now() - this.#sentAtMs;
    this.#exchange.watcher?.onOutcome('fault', fault.kind, tookMs);
    this.#finish(errorMessage(this.#callersId, failureOf(fault, this.#plan)));
  }

  /**
   * @param parts what the caller gets in place of the message.
   * @param status of HTTP, where nothing was said before.
   * @param isPassing the message is valid only now.
   */
  #finish(message: Buffer, parts?: readonly Buffer[], status = 200, isPassing = false): void {
    if (this.#isDone) return;
    if (this.#isAsking) this.#plan.session.backendRequests.endOf(this);
    this.#isDone = true;
    this.#plan.onSettled?.(false);
    this.#plan.gate?.abort();
    this.#modern?.end();
    this.#cancelDeadline?.cancel();
    this.#unheard?.close();
    const exchange = this.#exchange;
    this.#plan.session.finish(this);
    const isPlain = status === 200 && !this.#isEventDue;
    if (isPlain && isPassing) answerPassing(exchange, message);
    else if (isPlain && parts !== undefined && message.length <= limits.readAtOnceBytesMax)
      answerJoined(exchange, parts);
    else if (isPlain && parts !== undefined) answerInParts(exchange, parts);
    else this.#finishOtherwise(exchange, parts ?? [isPassing ? copied(message) : message], status);
    this.#plan.form.onOver();
  }

  #finishOtherwise(exchange: Exchange, parts: readonly Buffer[], status: number): void {
    if (this.#isEventDue) (this.#stream ?? this.#openStream()).finish(parts, this.#callersId);
    else answerWithStatus(exchange, joined(parts), status);
  }

  /** Whether the answer is the last event of a stream, or of one that can be gone on with. */
  get #isEventDue(): boolean {
    if (this.#stream !== undefined) return true;
    const { session } = this.#plan;
    const exchange = this.#exchange;
    return exchange.request.answerForms === 'event-stream' && session.streamKeeper !== undefined && !exchange.isAborted;
  }
}
