// Adapts a session's request to a backend of MCP 2026-07-28: its headers, its envelope, and answers that are not final yet. A backend's
// questions are put to the client as if a legacy backend had asked them (backend-requests.ts). Then the request is sent again, with the
// client's answers and the backend's `requestState`. A modern client's call that came through `call_tool` gets only its headers here. Warm
// path: modern backends only.
import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import {
  errorCodeIn,
  type InputRequest,
  type InputRequired,
  type BackendMessage,
  listKinds,
  LOG_LEVEL_KEY,
  type MirroredParam,
  readInputRequired,
  readResultType,
} from '../mcp/index.js';
import { readStringMember, type Scan } from '../bytes/index.js';
import type { Deadline } from '../fair/index.js';
import { limits, rpcCodes, rpcErrors, type RpcError } from '../shared/index.js';
import type { AskingStream } from '../streams/index.js';
import { withModernHead, type OutgoingMessage } from '../http-client/index.js';
import { modernHead, type IdSpan, type UpstreamSession } from '../upstream/index.js';
import { mirroredParamsToRead } from './large-arguments.js';
import { ListPages } from '../lists/index.js';
import { paramHeaders, type ReadArguments, modernMessage } from '../messages/index.js';
import type { RelayedRequestPlan } from './era-rules.js';
import type { Session } from '../session/index.js';
import { mayAskForInput } from './targets.js';

const NO_PARAMS: readonly string[] = [];

/** Backends refuse requests with this HTTP status if headers and body differ. */
const HEADERS_REFUSED = 400;

/** Pause before a request is repeated after an answer that asks no question. Each such answer counts as one of the `inputRoundsMax`. */
const INPUT_PAUSE_MS = 250;

export interface ModernLegOwner extends AskingStream {
  onFinalAnswer(bytes: Buffer, message: BackendMessage): void;
  sendAgain(): void;
  /** Called when the backend gets no input, so the request ends. @param error `undefined` if the backend's answer is invalid. */
  onNoInput(error: RpcError | undefined): void;
}

interface InputRound {
  /** The new id of the request (N07), as JSON. */
  readonly id: Buffer;
  /** The members to put into the request's params, as JSON. */
  readonly members: Buffer;
}

export class ModernLeg {
  readonly #plan: RelayedRequestPlan;
  readonly #owner: ModernLegOwner;
  #resultScan: Scan | undefined;
  #inputScan: Scan | undefined;
  #roundCount = 0;
  #round: InputRound | undefined;
  #isAsking = false;
  #pauseDeadline: Deadline | undefined;
  /** Bytes counted in the subject's share: the client's answers, until they are sent to the backend. */
  #countedBytes = 0;
  #sentParamHeaders = NO_PARAMS;
  /** The tool's mirrored parameters, as they were known when a large call was sent. */
  #sentMirroredParams: readonly MirroredParam[] | undefined;
  /** Reads the backend's tools again after it has refused the headers. */
  #toolsReader: ListPages | undefined;
  #hasTriedRefresh = false;
  #isOver = false;

  constructor(plan: RelayedRequestPlan, owner: ModernLegOwner) {
    this.#plan = plan;
    this.#owner = owner;
  }

  /** Whether the backend has begun with the request, because it has asked for input: then the request must not begin again elsewhere. */
  get hasBegun(): boolean {
    return this.#round !== undefined;
  }

  sentId(callers: IdSpan): IdSpan {
    const id = this.#round?.id;
    return id === undefined ? callers : { bytes: id, start: 0, end: id.length };
  }

  /**
   * The message in the form for the backend. @param read the arguments of a large call that its headers repeat.
   * @returns an error if the message is too large to be changed as needed, or its tool or arguments too large for the headers.
   */
  outgoing(message: OutgoingMessage, read?: ReadArguments): OutgoingMessage | RpcError {
    const { session, upstream, bareName, message: call } = this.#plan;
    const changed = this.#hasEnvelope
      ? message
      : modernMessage(message, call, { envelope: envelopeIn(session, upstream), round: this.#round });
    if (changed === undefined) return rpcErrors.notConverted;
    if (call.method === 'tools/call' && upstream.mirrors?.isTooLarge(bareName) === true) return rpcErrors.toolTooLarge;
    const params = this.#paramHeaders(read);
    if (params === undefined) return rpcErrors.argumentsTooLong;
    this.#sentParamHeaders = params;
    this.#sentMirroredParams = read?.params;
    return withModernHead(changed, modernHead(call.method, bareName, params));
  }

  /** Whether the client is modern: then only the headers of its call are made here, because it answers the questions itself. */
  get #hasEnvelope(): boolean {
    return this.#plan.message.envelope !== undefined;
  }

  /** The headers that repeat arguments (N03); `undefined` if they are too long to be sent. */
  #paramHeaders(read?: ReadArguments): readonly string[] | undefined {
    const { upstream, bareName, message: call, outgoing } = this.#plan;
    return paramHeaders(upstream.mirroredParamsOf(call.method, bareName), outgoing, read);
  }

  /** Whether new headers would differ from those sent; for a large call, whose arguments are not read again yet: whether they might. */
  get #isRefreshUseful(): boolean {
    const { upstream, bareName } = this.#plan;
    const paramsToRead = mirroredParamsToRead(this.#plan);
    if (paramsToRead !== undefined) return JSON.stringify(paramsToRead) !== JSON.stringify(this.#sentMirroredParams);
    const params = this.#paramHeaders();
    // The headers cannot be sent: the next try tells the caller why.
    if (params === undefined || upstream.mirrors?.isTooLarge(bareName) === true) return true;
    return params.join('\n') !== this.#sentParamHeaders.join('\n');
  }

  /** Passes on a final answer. Any other answer has the request sent again, or ends it. @param status the HTTP status. */
  onAnswer(bytes: Buffer, message: BackendMessage, status: number): void {
    const { upstream, message: call } = this.#plan;
    if (message.isError && status === HEADERS_REFUSED && this.#tryRefresh(bytes, message)) return;
    if (message.isError || this.#hasEnvelope) return this.#owner.onFinalAnswer(bytes, message);
    const result = bytes.subarray(message.bodyStart, message.bodyEnd);
    this.#resultScan = readResultType(upstream.subject, result, (type) => {
      this.#resultScan = undefined;
      if (type === 'complete') this.#owner.onFinalAnswer(bytes, message);
      else if (type === 'input_required' && mayAskForInput(call.method)) this.#beginRound(result);
      else this.#owner.onNoInput(undefined);
    });
  }

  /** If the backend has refused the headers (N04), and so not begun: reads its tools again, then sends the request with new headers. */
  #tryRefresh(bytes: Buffer, message: BackendMessage): boolean {
    const { context, merger, upstream, bareName, metadata, message: call } = this.#plan;
    if (this.#hasTriedRefresh || call.method !== 'tools/call') return false;
    if (errorCodeIn(bytes, message.bodyStart, message.bodyEnd) !== rpcCodes.headerMismatch) return false;
    this.#hasTriedRefresh = true;
    upstream.noteMissedMirrors(bareName);
    this.#toolsReader = new ListPages(context, merger, listKinds.tools, upstream, metadata, (pages) => {
      merger.dropPages(upstream.subject, pages);
      if (this.#isOver) return;
      if (this.#isRefreshUseful) this.#owner.sendAgain();
      else this.#owner.onFinalAnswer(bytes, message);
    });
    this.#toolsReader.start();
    return true;
  }

  /** Puts the backend's questions to the client. @param result of type `input_required`; it must stay valid. */
  #beginRound(result: Buffer): void {
    this.#releaseBytes();
    if (this.#roundCount >= limits.inputRoundsMax) {
      this.#owner.onNoInput(rpcErrors.tooManyInputRounds);
      return;
    }
    this.#roundCount += 1;
    this.#inputScan = readInputRequired(this.#plan.upstream.subject, result, (input) => {
      this.#inputScan = undefined;
      if (input === undefined) this.#owner.onNoInput(undefined);
      else if (input.requests.length === 0) this.#sendAgainLater(input);
      else this.#askClient(input);
    });
  }

  /** Sends the request again after a pause: the backend asks nothing, but wants the request repeated. */
  #sendAgainLater({ requestState }: InputRequired): void {
    this.#pauseDeadline = this.#plan.context.deadlines.after(INPUT_PAUSE_MS, () => this.#sendAgain([], requestState));
  }

  #askClient({ requests, requestState }: InputRequired): void {
    const { session, upstream, metadata } = this.#plan;
    if (session.isRetired) return this.#owner.onNoInput(rpcErrors.inputCutShort);
    this.#isAsking = true;
    const answers: Buffer[] = [];
    let openCount = requests.length;
    for (const [index, request] of requests.entries()) {
      // The question before this one may have ended the call.
      if (this.#isOver) return;
      const error = session.backendRequests.askInput(
        this.#owner,
        upstream,
        metadata,
        { method: request.method, params: paramsOf(request), mode: request.mode },
        (answer) => {
          if (this.#isOver) return;
          if (!Buffer.isBuffer(answer))
            return this.#owner.onNoInput(rpcErrors.inputNotObtained(request.method, answer.message));
          this.#countBytes(answer);
          answers[index] = Buffer.concat([request.key, COLON, answer]);
          openCount -= 1;
          if (openCount === 0) this.#sendAgain(answers, requestState);
        },
      );
      if (error !== undefined) return this.#owner.onNoInput(rpcErrors.inputNotObtained(request.method, error.message));
    }
  }

  #sendAgain(answers: readonly Buffer[], requestState: Buffer | undefined): void {
    if (this.#isOver) return;
    this.#isAsking = false;
    const parts: Buffer[] = [];
    for (const [index, answer] of answers.entries()) parts.push(index === 0 ? RESPONSES : COMMA, answer);
    if (answers.length > 0) parts.push(END_BRACE);
    if (requestState !== undefined) parts.push(...(answers.length > 0 ? [COMMA] : []), STATE, requestState);
    this.#round = { id: this.#plan.context.ownIds.next(), members: Buffer.concat(parts) };
    this.#owner.sendAgain();
  }

  /** Counts a client's answer while it is kept: in its own exchange it counts only until that is over. */
  #countBytes({ length }: Buffer): void {
    if (length < limits.countedFromBytes) return;
    this.#plan.session.account.requestBytes.take(length);
    this.#countedBytes += length;
  }

  #releaseBytes(): void {
    this.#plan.session.account.requestBytes.give(this.#countedBytes);
    this.#countedBytes = 0;
  }

  /** Called when the client's answers go to another process from now on. */
  onSessionHandedOver(): void {
    if (this.#isAsking) this.#owner.onNoInput(rpcErrors.inputCutShort);
  }

  /** Ends the leg: nobody waits for the request any more. The owner withdraws the open questions. */
  end(): void {
    this.#isOver = true;
    this.#toolsReader?.abort();
    this.#resultScan?.cancel();
    this.#inputScan?.cancel();
    this.#pauseDeadline?.cancel();
    this.#releaseBytes();
  }
}

const RESPONSES = Buffer.from('"inputResponses":{');
const STATE = Buffer.from('"requestState":');
const COMMA = Buffer.from(',');
const COLON = Buffer.from(':');
const END_BRACE = Buffer.from('}');

/** Legacy clients want an `elicitationId` with each URL; modern backends give none. */
function paramsOf({ method, mode, params, hasElicitationId }: InputRequest): Buffer {
  if (method !== 'elicitation/create' || mode !== 'url' || hasElicitationId) return params;
  return Buffer.concat([Buffer.from(`{"elicitationId":"${randomUUID()}",`), params.subarray(1)]);
}

/** The envelope, with the log level that the client has set for its session. */
function envelopeIn({ logLevel }: Session, { envelope }: UpstreamSession): Buffer {
  const level = logLevel === undefined ? undefined : readStringMember(logLevel, 'level');
  if (level === undefined) return envelope;
  return Buffer.concat([envelope, Buffer.from(`,"${LOG_LEVEL_KEY}":${JSON.stringify(level)}`)]);
}
