// The calls that are suspended in this process (suspended-call.ts). A retry is routed by its `requestState` to its call, whichever worker of
// this gateway has it. Cold path.
import { stringValue, jsonKind, type JsonScanner, scanQueue } from '../bytes/index.js';
import type { ClientMessage } from '../mcp/index.js';
import { Quota, type DeadlineWheel } from '../fair/index.js';
import { limits, rpcErrors, type RpcError } from '../shared/index.js';
import { answerError, idSpanOf, type Caller, type Exchange } from '../exchange/index.js';
import { argumentsIn } from '../messages/index.js';
import type { ForwardRequest } from '../session/index.js';
import { SuspendedCall, type SuspendedCallPlan } from './suspended-call.js';
import {
  argumentsHash,
  headersHash,
  isStateShaped,
  newCallKey,
  RequestStates,
  type SuspendedCallAddress,
  type StateBinding,
} from './request-state.js';
import { hasOpenedUrls, modernError } from './modern-results.js';

export interface SuspendedCallsOptions {
  readonly deadlines: DeadlineWheel;
  /** The secret of the states, shared by this gateway's workers. */
  readonly secret: Uint8Array;
  readonly slot: number;
  /** Forwards a request to the worker of another slot. If its `onGone` is called, the exchange has no answer yet. */
  readonly forwardToSlot?: ((slot: number, ...request: Parameters<ForwardRequest>) => void) | undefined;
}

export class SuspendedCalls {
  readonly deadlines: DeadlineWheel;
  readonly #options: SuspendedCallsOptions;
  readonly #states: RequestStates;
  readonly #calls = new Map<string, SuspendedCall>();
  readonly #quota = new Quota(limits.suspendedCallsMax);
  /** Whether this process suspends no more calls, because no retry would reach it. Changed only here. */
  isClosed = false;

  constructor(options: SuspendedCallsOptions) {
    this.deadlines = options.deadlines;
    this.#options = options;
    this.#states = new RequestStates(options.secret);
  }

  get count(): number {
    return this.#calls.size;
  }

  /** Makes a suspended call of a call that is asking. @returns `undefined` when closed, or when the subject has too many. */
  trySuspend(plan: SuspendedCallPlan): SuspendedCall | undefined {
    if (this.isClosed || !this.#quota.tryTake(plan.account.subject)) return undefined;
    const call = new SuspendedCall(this, plan);
    this.#calls.set(call.key, call);
    return call;
  }

  /** Gives up the calls that wait for a retry, and tells their backends: no retry will reach this process any more. */
  giveUpAll(): void {
    this.isClosed = true;
    for (const call of [...this.#calls.values()]) call.giveUpWaiting();
  }

  drop(call: SuspendedCall): void {
    if (this.#calls.delete(call.key)) this.#quota.give(call.subject);
  }

  /** The `requestState` that leads a retry to the call. */
  requestStateFor(binding: StateBinding, address: Omit<SuspendedCallAddress, 'slot'>): string {
    return this.#states.seal(binding, { slot: this.#options.slot, ...address });
  }

  /** The `requestState` for a request without a suspended call: once its client has answered, any worker makes the call from the start. */
  stateToBeginAnew(binding: StateBinding): string {
    return this.requestStateFor(binding, { callKey: newCallKey(), round: NO_ROUND });
  }

  /**
   * Continues the call that the request is a retry of.
   * @param message with an envelope.
   * @returns `true` if the request was answered, continued or forwarded; `false` if it has no state of the gateway's; `anew` if it must be
   * served as if it had no state.
   */
  continueCall(caller: Caller, exchange: Exchange, message: ClientMessage): boolean | 'anew' {
    const { body } = exchange.request;
    const state = requestStateIn(body, message);
    if (state === undefined || !isStateShaped(state)) return false;
    const { subject, virtualHost } = caller;
    const binding = stateBindingOf(subject, virtualHost.id, exchange, message);
    const address = this.#states.open(binding, state);
    if (address === undefined) return false;
    if (address === 'expired') this.#fail(exchange, message);
    else if (address.round === NO_ROUND) return this.#requireUrlsOpened(exchange, message) ? 'anew' : true;
    else if (address.slot === this.#options.slot) this.#continue(caller, exchange, message, address);
    else if (this.#options.forwardToSlot === undefined) this.#fail(exchange, message);
    else this.#options.forwardToSlot(address.slot, caller, exchange, () => this.#fail(exchange, message));
    return true;
  }

  /** Whether the client's user has opened the addresses that the backend named; if not, answers with an error. */
  #requireUrlsOpened(exchange: Exchange, message: ClientMessage): boolean {
    const { inputResponsesStart: start, inputResponsesEnd: end } = message.envelope!;
    const isDone = start !== -1 && hasOpenedUrls(exchange.request.body.subarray(start, end));
    if (!isDone) this.#refuse(exchange, message, rpcErrors.urlNotAccepted);
    return isDone;
  }

  #continue(
    { subject, virtualHost }: Caller,
    exchange: Exchange,
    message: ClientMessage,
    address: SuspendedCallAddress,
  ): void {
    const call = this.#calls.get(address.callKey);
    if (call?.isSuspendedAt(address) !== true) return this.#fail(exchange, message);
    const obstacle = call.obstacleFor(virtualHost, { exchange, message });
    if (obstacle !== undefined) return this.#refuse(exchange, message, obstacle);
    const { inputResponsesStart: start, inputResponsesEnd: end } = message.envelope!;
    if (start === -1) return call.continueWith({ exchange, message }, NO_ANSWERS);
    const bytes = exchange.request.body.subarray(start, end);
    scanQueue.scanNow(subject, bytes, 1, (tape) => {
      const answers = tape && answersIn(tape, bytes);
      // Another retry may have continued the call meanwhile. A retry whose caller has gone leaves the call suspended.
      if (!call.isSuspendedAt(address)) this.#fail(exchange, message);
      else if (answers === undefined)
        answerError(exchange, idSpanOf(exchange, message), rpcErrors.inputResponsesInvalid);
      else if (exchange.isAborted) exchange.reset();
      else call.continueWith({ exchange, message }, answers);
    });
  }

  #fail(exchange: Exchange, message: ClientMessage): void {
    this.#refuse(exchange, message, rpcErrors.callOver);
  }

  #refuse(exchange: Exchange, message: ClientMessage, error: RpcError): void {
    exchange.watcher?.onIdentified(message.method, '', '');
    answerError(exchange, idSpanOf(exchange, message), modernError(error));
  }
}

export function stateBindingOf(
  subject: string,
  virtualHostId: string,
  { request: { body, passthroughHeaders } }: Exchange,
  message: ClientMessage,
  args = argumentsIn(body, message),
): StateBinding {
  const { method, nameStart, nameEnd } = message;
  const name = nameStart === -1 ? '' : stringValue(body, nameStart, nameEnd);
  const headers = headersHash(passthroughHeaders);
  return { subject, virtualHostId, method, name, argsHash: argumentsHash(args), headersHash: headers };
}

/** The state in a request; `undefined` if there is none, or if it cannot be the gateway's: not a string, or too long. */
function requestStateIn(body: Buffer, { envelope }: ClientMessage): string | undefined {
  if (envelope === undefined || envelope.requestStateStart === -1) return undefined;
  const { requestStateStart: start, requestStateEnd: end } = envelope;
  const isString = body[start] === QUOTE && end - start <= STATE_BYTES_MAX;
  return isString ? stringValue(body, start, end) : undefined;
}

/** The answers in a request; `undefined` unless the bytes are an object of objects. */
function answersIn(tape: JsonScanner, bytes: Buffer): ReadonlyMap<string, Buffer> | undefined {
  if (tape.kind(0) !== jsonKind.object) return undefined;
  const answers = new Map<string, Buffer>();
  for (let node = 1; node < tape.next(0); node = tape.next(node)) {
    if (tape.kind(node) !== jsonKind.object) return undefined;
    const name = stringValue(bytes, tape.keyStart(node) - 1, tape.keyEnd(node) + 1);
    answers.set(name, bytes.subarray(tape.start(node), tape.end(node)));
  }
  return answers;
}

/** The number that stands for the round in a state without a suspended call. */
const NO_ROUND = 0;
const QUOTE = 0x22;
/** The most bytes of a state: more than any of the gateway's has, even with every character escaped. */
const STATE_BYTES_MAX = 1_024;
const NO_ANSWERS: ReadonlyMap<string, Buffer> = new Map();
