// One call of a modern client during which a legacy backend has asked the client a question. The client gets the questions as the call's
// result (`input_required`), and the call stays open at the backend until the client calls again with the answers (a retry). Questions that
// come at about the same time go into one round. Cold path: created when a backend asks.
//
//   served ──the backend asks──> asking ──a moment later──> suspended ──the retry──> served
//   asking ──the backend wants no answer any more──> served
//   suspended ──the backend has answered all the same──> answered
//   served, asking, suspended, answered ──answered, given up or taken──> over
import { edited } from '../bytes/index.js';
import { INPUT_METHODS, readBackendMessage, type ClientMessage } from '../mcp/index.js';
import type { Account, Deadline } from '../fair/index.js';
import { limits, errorsToBackends, rpcErrors, type RpcError } from '../shared/index.js';
import {
  answerError,
  answerWithStatus,
  errorMessage,
  idSpanOf,
  resultMessage,
  type Caller,
  type Exchange,
  type BodyType,
  type ExchangeRequest,
  CallerlessExchange,
} from '../exchange/index.js';
import type { BackendRequests } from '../streams/index.js';
import { type SuspendableRequest, nameKindOf } from '../calls/index.js';
import type { SuspendedCalls } from './suspended-calls.js';
import { inputRequiredResult } from './modern-results.js';
import { newCallKey, type SuspendedCallAddress, type StateBinding } from './request-state.js';

/**
 * An exchange without a caller: for a call whose client has yet to answer the backend, and for subscriptions that the gateway makes itself
 * (listen-request.ts). Everything but the answer is dropped.
 */
export class AnswerOnlyExchange extends CallerlessExchange {
  override readonly isAborted: boolean;
  override readonly copiesSmallBodies: boolean = true;
  readonly #onAnswer: (status: number, message: Buffer | undefined) => void;
  #isOver = false;
  /** The answer's parts; `undefined` when it is too large, or not given in parts. */
  #pieces: Buffer[] | undefined = undefined;

  /**
   * @param onAnswer called once, with the whole message, or with `undefined` if it is too large to be kept, or was broken off.
   * @param isAborted false if the answer is awaited, so that the call does not count as abandoned.
   */
  constructor(
    request: ExchangeRequest,
    onAnswer: (status: number, message: Buffer | undefined) => void,
    isAborted = true,
  ) {
    super({ ...request, acceptedTypes: 'json' });
    this.isAborted = isAborted;
    this.#onAnswer = onAnswer;
  }

  override respond(status: number, _contentType: string, body: Uint8Array | string): void {
    const message = Buffer.from(body as Uint8Array);
    this.#finish(status, message.length > limits.suspendedAnswerBytesMax ? undefined : message);
  }

  override openBody(_contentType: BodyType, bodyBytes: number): void {
    if (bodyBytes > limits.suspendedAnswerBytesMax) this.#finish(200, undefined);
    else this.#pieces = [];
  }

  override write(bytes: Uint8Array): boolean {
    this.#pieces?.push(Buffer.from(bytes));
    return true;
  }

  override end(last?: Uint8Array): void {
    if (last !== undefined) this.write(last);
    this.#finish(200, this.#pieces && Buffer.concat(this.#pieces));
  }

  override reset(): void {
    this.#finish(502, undefined);
  }

  #finish(status: number, message: Buffer | undefined): void {
    this.#pieces = undefined;
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onAnswer(status, message);
  }
}

/** Time after a backend's first question in which further questions join its round. After that, later questions go into the next round. */
export const QUESTIONS_GATHER_MS = 20;

type State = 'served' | 'asking' | 'suspended' | 'answered' | 'over';

/** A caller's request: the first one, or a later retry. */
export interface CurrentCaller {
  readonly exchange: Exchange;
  readonly message: ClientMessage;
}

export interface SuspendedCallPlan {
  readonly binding: StateBinding;
  readonly backendName: string;
  /** Hash of the allow-list of resources under which the call was allowed. */
  readonly allowList: string | undefined;
  readonly account: Account;
  readonly backendRequests: Pick<BackendRequests, 'onAnswer'>;
  readonly request: SuspendableRequest;
  readonly caller: CurrentCaller;
}

interface Question {
  /** The question's key in `inputRequests`. */
  readonly name: string;
  /** The gateway's id for the question, as JSON. */
  readonly id: Buffer;
  /** The question as JSON: `{"method":…,"params":…}`. */
  readonly json: string;
}

export class SuspendedCall {
  readonly key = newCallKey();
  readonly #calls: SuspendedCalls;
  readonly #plan: SuspendedCallPlan;
  /** Bytes counted in the subject's share: the request, the questions, and an answer that is kept. */
  #keptBytes: number;
  #state: State = 'served';
  /** The caller that waits now; the first caller while none waits. Changed only here. */
  caller: CurrentCaller;
  /** Questions without an answer yet, by id. */
  readonly #questions = new Map<string, Question>();
  #questionBytes = 0;
  #questionCount = 0;
  #round = 0;
  #gatherTimer: NodeJS.Timeout | undefined;
  #deadline: Deadline | undefined;
  /** The backend's answer and its HTTP status, if it came while no caller waited. */
  #answer: { readonly status: number; readonly message: Buffer } | undefined;

  constructor(calls: SuspendedCalls, plan: SuspendedCallPlan) {
    this.#calls = calls;
    this.#plan = plan;
    this.caller = plan.caller;
    // The request's body outlives the caller's first exchange, which has counted it in the subject's share; then it is counted here.
    const { length } = plan.caller.exchange.request.body;
    this.#keptBytes = length < limits.countedFromBytes ? 0 : length;
    plan.account.requestBytes.take(this.#keptBytes);
  }

  get subject(): string {
    return this.#plan.account.subject;
  }

  /**
   * Takes a question into the next round.
   * @param id the gateway's id for the question, as JSON; the message has it already.
   * @returns why the client cannot be asked; `undefined` if it will be.
   */
  ask(id: Buffer, message: Buffer): RpcError | undefined {
    if (this.#calls.isClosed) return errorsToBackends.processEnding;
    if (this.#state === 'over' || this.#round >= limits.suspendedCallRoundsMax)
      return errorsToBackends.tooManyInRequest;
    const json =
      this.#questionBytes + message.length > limits.suspendedQuestionBytesMax ? undefined : inputRequestOf(message);
    if (json === undefined) return errorsToBackends.requestNotSentMidRequest;
    if (this.#plan.account.requestBytes.tryTake(json.length) !== undefined)
      return errorsToBackends.tooManySuspendedCalls;
    this.#questionCount += 1;
    this.#questions.set(id.toString(), { name: String(this.#questionCount), id: Buffer.from(id), json });
    this.#questionBytes += json.length;
    if (this.#transition('served', 'asking')) this.#startGathering();
    return undefined;
  }

  /** Called when the backend no longer wants an answer. @param id the gateway's id for the question, as JSON. */
  withdraw(id: Buffer): void {
    this.#forgetQuestion(id.toString());
    if (this.#questions.size > 0 || !this.#transition('asking', 'served')) return;
    clearTimeout(this.#gatherTimer);
  }

  /** Whether the address names the last round, and no retry has continued the call since. */
  isSuspendedAt({ round }: SuspendedCallAddress): boolean {
    return round === this.#round && (this.#state === 'suspended' || this.#state === 'answered');
  }

  /** Why the config no longer allows the call to the retry's caller; then the call is given up. Called only if `isSuspendedAt`. */
  obstacleFor(virtualHost: Caller['virtualHost'], { exchange, message }: CurrentCaller): RpcError | undefined {
    const { request, allowList } = this.#plan;
    const obstacle = request.obstacleFor(virtualHost, exchange, message, allowList);
    if (obstacle !== undefined) this.giveUpWaiting();
    return obstacle;
  }

  /**
   * Continues the call with the client's retry. Called only if `isSuspendedAt`.
   * @param answers results, by the names of the questions; unknown names are ignored.
   */
  continueWith(caller: CurrentCaller, answers: ReadonlyMap<string, Buffer>): void {
    const { binding, backendName, request } = this.#plan;
    this.#deadline?.cancel();
    this.caller = caller;
    caller.exchange.watcher?.onIdentified(binding.method, backendName, binding.name, nameKindOf(binding.method));
    if (this.#answer !== undefined) {
      this.#sendAnswer(this.#answer.status, this.#answer.message);
      this.#end();
      return;
    }
    this.#transition('suspended', 'served');
    request.continueWith(caller.exchange);
    for (const question of [...this.#questions.values()]) {
      const result = answers.get(question.name);
      if (result !== undefined) this.#forwardAnswer(question, result);
    }
    // Unanswered and new questions go into a new round at once.
    if (this.#questions.size > 0 && this.#transition('served', 'asking')) this.#startGathering();
  }

  /** Called when the call has been answered; an answer that came while no caller waited is kept for the retry. */
  onRequestOver(): void {
    if (this.#state !== 'answered') this.#end();
  }

  #startGathering(): void {
    this.#gatherTimer = setTimeout(() => this.#endRound(), QUESTIONS_GATHER_MS);
  }

  #endRound(): void {
    const { binding, request } = this.#plan;
    const current = this.caller;
    if (!this.#transition('asking', 'suspended')) return;
    this.#round += 1;
    // The first caller is kept instead of the retry's, whose exchange and body are not needed.
    this.caller = this.#plan.caller;
    const inputRequests = [...this.#questions.values()].map(({ name, json }) => `"${name}":${json}`);
    const requestState = this.#calls.requestStateFor(binding, { callKey: this.key, round: this.#round });
    const result = inputRequiredResult(`{${inputRequests.join()}}`, requestState);
    current.exchange.watcher?.onOutcome('ok', '', -1);
    this.#deadline = this.#calls.deadlines.after(limits.personMsMax, () => this.#onTimeUp());
    const { request: first } = this.caller.exchange;
    request.pauseWith(
      resultMessage(idSpanOf(current.exchange, current.message), result),
      new AnswerOnlyExchange(first, (...given) => this.#onAnswer(...given)),
    );
  }

  /** Called when the backend has answered without waiting for the client's input. */
  #onAnswer(status: number, message: Buffer | undefined): void {
    if (!this.#transition('suspended', 'answered')) return;
    this.#forgetQuestions();
    const { requestBytes } = this.#plan.account;
    const kept = message !== undefined && requestBytes.tryTake(message.length) === undefined ? message : undefined;
    this.#keptBytes += kept?.length ?? 0;
    const { exchange, message: call } = this.caller;
    this.#answer = { status, message: kept ?? errorMessage(idSpanOf(exchange, call), rpcErrors.answerTooLargeToKeep) };
  }

  #sendAnswer(status: number, message: Buffer): void {
    const { exchange } = this.caller;
    const id = idSpanOf(this.caller.exchange, this.caller.message);
    const answered = readBackendMessage(message);
    if (answered === undefined) {
      answerError(exchange, id, rpcErrors.answerTooLargeToKeep);
      return;
    }
    exchange.watcher?.onOutcome(answered.isError ? 'rpc-error' : 'ok', '', -1);
    const putIn = id.bytes.subarray(id.start, id.end);
    const body = edited(message, [{ start: answered.idStart, end: answered.idEnd, putIn }]);
    answerWithStatus(exchange, body, status);
  }

  #forwardAnswer({ id }: Question, result: Buffer): void {
    this.#forgetQuestion(id.toString());
    const body = Buffer.concat([ANSWER_HEAD, id, ANSWER_RESULT, result, ANSWER_TAIL]);
    const start = ANSWER_HEAD.length;
    const message = { idStart: start, idEnd: start + id.length, relatedTaskStart: -1, relatedTaskEnd: -1 };
    this.#plan.backendRequests.onAnswer({ ...this.caller.exchange.request, body }, message);
  }

  #forgetQuestion(id: string): void {
    const bytes = this.#questions.get(id)?.json.length ?? 0;
    this.#questions.delete(id);
    this.#questionBytes -= bytes;
    this.#plan.account.requestBytes.give(bytes);
  }

  #forgetQuestions(): void {
    for (const id of [...this.#questions.keys()]) this.#forgetQuestion(id);
  }

  /** Gives the call up as if its client had not come back in time; a call that waits for no client goes on. */
  giveUpWaiting(): void {
    if (this.#state !== 'served') this.#onTimeUp();
  }

  #onTimeUp(): void {
    const isOpen = this.#state === 'asking' || this.#state === 'suspended';
    this.#end();
    if (isOpen) this.#plan.request.giveUp();
  }

  #end(): void {
    if (this.#state === 'over') return;
    this.#transition(this.#state, 'over');
    clearTimeout(this.#gatherTimer);
    this.#deadline?.cancel();
    this.#forgetQuestions();
    this.#answer = undefined;
    this.#plan.account.requestBytes.give(this.#keptBytes);
    this.#calls.drop(this);
  }

  #transition(from: State, to: State): boolean {
    if (this.#state !== from) return false;
    this.#state = to;
    return true;
  }
}

/** A backend's request as an input request; `undefined` if no modern client can be asked for it. */
function inputRequestOf(bytes: Buffer): string | undefined {
  const message = readBackendMessage(bytes);
  if (message === undefined || !INPUT_METHODS.has(message.method)) return undefined;
  const { method, paramsStart, paramsEnd } = message;
  // Empty params are added, because some clients cannot parse a request without any.
  const params = paramsStart === -1 ? '{}' : bytes.toString('utf8', paramsStart, paramsEnd);
  return `{"method":${JSON.stringify(method)},"params":${params}}`;
}

const ANSWER_HEAD = Buffer.from('{"jsonrpc":"2.0","id":');
const ANSWER_RESULT = Buffer.from(',"result":');
const ANSWER_TAIL = Buffer.from('}');
