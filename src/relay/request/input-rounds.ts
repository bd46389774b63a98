// What a backend without sessions wants of the client in the middle of a request: it answers with questions, they are put to the
// client of a session as if the backend had asked them (backend-requests.ts), and the request is made again with the answers
// and with what the backend wants to see again. Cold: a request whose backend asks nothing never comes here.
import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { readInputRequired, type InputRequest, type InputRequired } from '../../protocol/input-required.js';
import type { Reading } from '../../protocol/reading-queue.js';
import type { Deadline, DeadlineWheel } from '../../shared/deadline-wheel.js';
import { limits } from '../../shared/limits.js';
import { rpcCodes } from '../../shared/refusals.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';
import type { OwnIds } from '../../upstream/own-ids.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { RpcError } from '../exchange/answers.js';
import type { AskingStream } from '../asking/backend-requests.js';
import type { Session } from '../session/session.js';

/** The request whose backend asks. */
export interface InputOwner extends AskingStream {
  /** Everything is answered: the request is made again. */
  onInput(): void;
  /** It will not be; `undefined`: what the backend says makes no sense. */
  onNoInput(error: RpcError | undefined): void;
}

/** What goes into the request when it is made again. */
export interface InputRound {
  /** Another than before (N07): JSON. */
  readonly id: Buffer;
  /** Members of its params. */
  readonly members: Buffer;
}

export interface InputRoundsPlan {
  readonly ids: OwnIds;
  readonly session: Session;
  readonly upstream: UpstreamSession;
  readonly metadata: RequestMetadata;
  readonly deadlines: DeadlineWheel;
}

export class InputRounds {
  readonly #plan: InputRoundsPlan;
  readonly #owner: InputOwner;
  #count = 0;
  #round: InputRound | undefined;
  #reading: Reading | undefined;
  #pause: Deadline | undefined;
  /** In the subject's share, of answers that are kept until they were sent. */
  #countedBytes = 0;
  #isAsking = false;
  #isOver = false;

  constructor(plan: InputRoundsPlan, owner: InputOwner) {
    this.#plan = plan;
    this.#owner = owner;
  }

  /** Of the request as it is to be made now; `undefined` the first time. */
  get round(): InputRound | undefined {
    return this.#round;
  }

  /** @param result of type `input_required`; it may be kept. */
  begin(result: Buffer): void {
    this.#giveBytes();
    if (this.#count >= limits.inputRoundsMax) {
      this.#owner.onNoInput(TOO_MANY_ROUNDS);
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

  /** What the client is asked it answers to another process, which knows nothing of the request. */
  onRetired(): void {
    if (this.#isAsking) this.#owner.onNoInput(REPLACED);
  }

  /** Nobody waits for the request any more. What is open at the client is the owner's to end. */
  end(): void {
    this.#isOver = true;
    this.#reading?.cancel();
    this.#pause?.cancel();
    this.#giveBytes();
  }

  /** It asks for nothing, and wants to be asked again. */
  #waitAndGoOn({ requestState }: InputRequired): void {
    this.#pause = this.#plan.deadlines.after(limits.inputPauseMs, () => this.#goOn([], requestState));
  }

  #ask({ requests, requestState }: InputRequired): void {
    const { session, upstream, metadata } = this.#plan;
    if (session.isRetired) return this.#owner.onNoInput(REPLACED);
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
          if (!Buffer.isBuffer(answer)) return this.#owner.onNoInput(notHad(request, answer.message));
          this.#takeBytes(answer);
          answers[index] = Buffer.concat([request.key, COLON, answer]);
          openCount -= 1;
          if (openCount === 0) this.#goOn(answers, requestState);
        },
      );
      if (error !== undefined) return this.#owner.onNoInput(notHad(request, error.message));
    }
  }

  #goOn(answers: readonly Buffer[], requestState: Buffer | undefined): void {
    if (this.#isOver) return;
    this.#isAsking = false;
    const parts: Buffer[] = [];
    for (const [index, answer] of answers.entries()) parts.push(index === 0 ? RESPONSES : COMMA, answer);
    if (answers.length > 0) parts.push(CLOSE);
    if (requestState !== undefined) parts.push(...(answers.length > 0 ? [COMMA] : []), STATE, requestState);
    this.#round = { id: this.#plan.ids.next(), members: Buffer.concat(parts) };
    this.#owner.onInput();
  }

  /** Of the exchange that has brought it, which is over at once, nobody counts it any more. */
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

const TOO_MANY_ROUNDS: RpcError = {
  code: rpcCodes.internalError,
  message: `The backend has asked for more ${limits.inputRoundsMax} times and is still not done: giving up`,
};

const REPLACED: RpcError = {
  code: rpcCodes.internalError,
  message: 'The backend needs a response from the client, but this process is being replaced: call again',
};

function notHad({ method }: InputRequest, why: string): RpcError {
  return {
    code: rpcCodes.internalError,
    message: `The backend needs a response from the client to ${method}, which could not be obtained: ${why}`,
  };
}

/** Clients of before want an id with each URL, which backends do not give any more. */
function paramsOf({ method, mode, params, hasElicitationId }: InputRequest): Buffer {
  if (method !== 'elicitation/create' || mode !== 'url' || hasElicitationId) return params;
  return Buffer.concat([Buffer.from(`{"elicitationId":"${randomUUID()}",`), params.subarray(1)]);
}
