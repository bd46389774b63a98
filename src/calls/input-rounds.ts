// What a modern backend asks the client of a session in the middle of a request: the backend answers with questions, these are put to
// the client as if a legacy backend had asked them (backend-requests.ts), and the request is made again with the client's answers and
// the backend's `requestState`. Cold path: a request whose backend asks nothing never comes here.
import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { readInputRequired, type InputRequest, type InputRequired } from '../mcp/index.js';
import type { Reading } from '../bytes/index.js';
import type { Deadline } from '../fair/index.js';
import { limits, rpcErrors, type RpcError } from '../shared/index.js';
import type { AskingStream } from '../streams/index.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';

/** Pause after an answer that asks nothing but wants the request repeated; each counts as one of the `inputRoundsMax`. */
const INPUT_PAUSE_MS = 250;

/** The request whose backend asks. */
export interface InputOwner extends AskingStream {
  /** The client has answered everything: the request is to be made again. */
  onInput(): void;
  /** The request will not be made again. @param error `undefined` if the backend's answer is invalid. */
  onNoInput(error: RpcError | undefined): void;
}

/** What goes into the request when it is made again. */
interface InputRound {
  /** A new id (N07), as JSON. */
  readonly id: Buffer;
  /** Members to put into its params, as JSON. */
  readonly members: Buffer;
}

export class InputRounds {
  readonly #plan: RelayedRequestPlan;
  readonly #owner: InputOwner;
  #count = 0;
  #round: InputRound | undefined;
  #reading: Reading | undefined;
  #pause: Deadline | undefined;
  /** Bytes taken from the subject's share, for answers that are kept until they have been sent. */
  #countedBytes = 0;
  #isAsking = false;
  #isOver = false;

  constructor(plan: RelayedRequestPlan, owner: InputOwner) {
    this.#plan = plan;
    this.#owner = owner;
  }

  /** What the request is to be made with now; `undefined` the first time. */
  get round(): InputRound | undefined {
    return this.#round;
  }

  /** @param result of type `input_required`; it must stay valid. */
  begin(result: Buffer): void {
    this.#giveBytes();
    if (this.#count >= limits.inputRoundsMax) {
      this.#owner.onNoInput(rpcErrors.tooManyInputRounds);
      return;
    }
    this.#count += 1;
    this.#reading = readInputRequired(this.#plan.upstream.subject, result, (input) => {
      this.#reading = undefined;
      if (input === undefined) this.#owner.onNoInput(undefined);
      else if (input.requests.length === 0) this.#waitAndGoOn(input);
      else this.#ask(input);
    });
  }

  /** From now on the client's answers go to another process, which knows nothing of the request. */
  onRetired(): void {
    if (this.#isAsking) this.#owner.onNoInput(rpcErrors.inputCutShort);
  }

  /** The request is over. The owner withdraws what the client has yet to answer. */
  end(): void {
    this.#isOver = true;
    this.#reading?.cancel();
    this.#pause?.cancel();
    this.#giveBytes();
  }

  /** The backend asks for nothing, but wants the request to be made again. */
  #waitAndGoOn({ requestState }: InputRequired): void {
    this.#pause = this.#plan.context.deadlines.after(INPUT_PAUSE_MS, () => this.#goOn([], requestState));
  }

  #ask({ requests, requestState }: InputRequired): void {
    const { session, upstream, metadata } = this.#plan;
    if (session.isRetired) return this.#owner.onNoInput(rpcErrors.inputCutShort);
    this.#isAsking = true;
    const answers: Buffer[] = [];
    let openCount = requests.length;
    for (const [index, request] of requests.entries()) {
      const error = session.backendRequests.askInput(
        this.#owner,
        upstream,
        metadata,
        { method: request.method, params: paramsOf(request), mode: request.mode },
        (answer) => {
          if (this.#isOver) return;
          if (!Buffer.isBuffer(answer))
            return this.#owner.onNoInput(rpcErrors.inputNotObtained(request.method, answer.message));
          this.#takeBytes(answer);
          answers[index] = Buffer.concat([request.key, COLON, answer]);
          openCount -= 1;
          if (openCount === 0) this.#goOn(answers, requestState);
        },
      );
      if (error !== undefined) return this.#owner.onNoInput(rpcErrors.inputNotObtained(request.method, error.message));
    }
  }

  #goOn(answers: readonly Buffer[], requestState: Buffer | undefined): void {
    if (this.#isOver) return;
    this.#isAsking = false;
    const parts: Buffer[] = [];
    for (const [index, answer] of answers.entries()) parts.push(index === 0 ? RESPONSES : COMMA, answer);
    if (answers.length > 0) parts.push(CLOSE);
    if (requestState !== undefined) parts.push(...(answers.length > 0 ? [COMMA] : []), STATE, requestState);
    this.#round = { id: this.#plan.context.ids.next(), members: Buffer.concat(parts) };
    this.#owner.onInput();
  }

  /** Counts an answer that is kept: the exchange that brought it, and with it its count in the share, is over at once. */
  #takeBytes({ length }: Buffer): void {
    if (length < limits.countedFromBytes) return;
    this.#plan.session.account.requestBytes.take(length);
    this.#countedBytes += length;
  }

  #giveBytes(): void {
    this.#plan.session.account.requestBytes.give(this.#countedBytes);
    this.#countedBytes = 0;
  }
}

const RESPONSES = Buffer.from('"inputResponses":{');
const STATE = Buffer.from('"requestState":');
const COMMA = Buffer.from(',');
const COLON = Buffer.from(':');
const CLOSE = Buffer.from('}');

/** Legacy clients want an `elicitationId` with each URL, which modern backends do not give. */
function paramsOf({ method, mode, params, hasElicitationId }: InputRequest): Buffer {
  if (method !== 'elicitation/create' || mode !== 'url' || hasElicitationId) return params;
  return Buffer.concat([Buffer.from(`{"elicitationId":"${randomUUID()}",`), params.subarray(1)]);
}
