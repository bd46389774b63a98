// One request of a session on its way to a backend of MCP 2026-07-28: what its head says, what of the caller's session goes into its bytes,
// and what an answer means that is none yet. The head alone of a call that came through `call_tool` without a session. Warm: of such backends alone.
import { Buffer } from 'node:buffer';
import { errorCodeIn } from '../../protocol/answer-outcome.js';
import { readMember } from '../../protocol/json-member-text.js';
import type { BackendMessage } from '../../protocol/json-rpc.js';
import { LOG_LEVEL_KEY } from '../../protocol/modern-envelope.js';
import type { MirroredParam } from '../../protocol/tool-mirrors.js';
import type { Reading } from '../../protocol/reading-queue.js';
import { readResultType } from '../../protocol/result-type.js';
import { rpcCodes } from '../../shared/refusals.js';
import { withHead, type OutgoingMessage } from '../../upstream/http/http-upstream.js';
import { modernHead } from '../../upstream/session/modern-request.js';
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { RpcError } from '../exchange/answers.js';
import { argumentsToRead, type ReadArguments } from './large-arguments.js';
import type { MirrorReading } from './mirror-refresh.js';
import { headersOf, valuesIn } from '../message/mirrored-params.js';
import { InputRounds, type InputOwner } from './input-rounds.js';
import { modernMessage } from '../message/modern-message.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';
import type { Session } from '../session/session.js';
import { mayAskForInput } from './targets.js';

export const NOT_CHANGED: RpcError = {
  code: rpcCodes.internalError,
  message: 'The request cannot be changed for its backend: put _meta first, without requestState, inputResponses',
};

const PARAMS_TOO_LONG: RpcError = {
  code: rpcCodes.invalidParams,
  message: 'Arguments too long for the headers that the tool needs them in',
};

const TOOL_TOO_LARGE: RpcError = {
  code: rpcCodes.invalidParams,
  message: 'The tool cannot be called here: its schema is too large to search for the headers of its backend',
};

export const NAME_TOO_LONG: RpcError = {
  code: rpcCodes.invalidParams,
  message: 'Name or URI too long for the header that its backend needs it in',
};

const NO_PARAMS: readonly string[] = [];

/** As requests are whose head does not agree with their body. */
const REFUSED = 400;

export interface ModernLegOwner extends InputOwner {
  /** The answer is one, after all. */
  onWhole(bytes: Buffer, message: BackendMessage): void;
}

export class ModernLeg {
  readonly #plan: RelayedRequestPlan;
  readonly #owner: ModernLegOwner;
  #reading: Reading | undefined;
  /** Made when the backend first asks for more. */
  #rounds: InputRounds | undefined;
  /** Those of the parameters that the head has said. */
  #sentParams = NO_PARAMS;
  /** The same as they are known to be, of a large call. */
  #sentKnown: readonly MirroredParam[] | undefined;
  /** The backend has refused them, and says anew what it wants. */
  #refresh: MirrorReading | undefined;
  #isRefreshed = false;
  #isOver = false;

  constructor(plan: RelayedRequestPlan, owner: ModernLegOwner) {
    this.#plan = plan;
    this.#owner = owner;
  }

  /** Whether the backend has begun with the request: it may not be begun anew elsewhere. */
  get isBegun(): boolean {
    return this.#rounds?.round !== undefined;
  }

  /** The id under which the request goes out now. */
  sentId(callers: IdSpan): IdSpan {
    const id = this.#rounds?.round?.id;
    return id === undefined ? callers : { bytes: id, start: 0, end: id.length };
  }

  /**
   * @param read of a large call whose arguments its head says again.
   * @returns an error where the message is too large for what would have to be changed in it, or for its head.
   */
  outgoing(message: OutgoingMessage, read?: ReadArguments): OutgoingMessage | RpcError {
    const { session, upstream, bareName, message: call } = this.#plan;
    const changed = this.#hasEnvelope
      ? message
      : modernMessage(message, call, { envelope: envelopeIn(session, upstream), round: this.#rounds?.round });
    if (changed === undefined) return NOT_CHANGED;
    if (call.method === 'tools/call' && upstream.hasUnreadMirrors(bareName)) return TOOL_TOO_LARGE;
    const params = this.#paramsOf(read);
    if (params === undefined) return PARAMS_TOO_LONG;
    this.#sentParams = params;
    this.#sentKnown = read?.known;
    return withHead(changed, modernHead(call.method, bareName, params));
  }

  /** Of a client that needs no session: it is asked by the answer itself, and only the head of its call is ours. */
  get #hasEnvelope(): boolean {
    return this.#plan.message.envelope !== undefined;
  }

  /** What the head says of the arguments (N03). */
  #paramsOf(read?: ReadArguments): readonly string[] | undefined {
    const { upstream, bareName, message: call, outgoing } = this.#plan;
    const known = call.method === 'tools/call' ? upstream.mirrorsOf(bareName) : undefined;
    const values = known && (read?.known === known ? read.sent : valuesIn(outgoing, known));
    return known === undefined || values === undefined ? NO_PARAMS : headersOf(known, values);
  }

  /** Since the list was read again: whether the head would say something else. Of a large call, which has to be read for it, that it might. */
  get #isRefreshUseful(): boolean {
    const { upstream, bareName } = this.#plan;
    const toRead = argumentsToRead(this.#plan);
    if (toRead !== undefined) return JSON.stringify(toRead) !== JSON.stringify(this.#sentKnown);
    const params = this.#paramsOf();
    // Who cannot be told is told why.
    if (params === undefined || upstream.hasUnreadMirrors(bareName)) return true;
    return params.join('\n') !== this.#sentParams.join('\n');
  }

  /**
   * Looks whether an answer is the answer.
   * @param status of HTTP.
   * @returns false when it is; otherwise the owner hears what becomes of it.
   */
  takes(bytes: Buffer, message: BackendMessage, status: number): boolean {
    const { upstream, message: call } = this.#plan;
    if (message.isError) return status === REFUSED && this.#tryRefresh(bytes, message);
    if (this.#hasEnvelope) return false;
    const result = bytes.subarray(message.bodyStart, message.bodyEnd);
    let isWithin = true;
    let isWhole = false;
    this.#reading = readResultType(upstream.subject, result, (type) => {
      this.#reading = undefined;
      if (type === 'complete') {
        if (isWithin) isWhole = true;
        else this.#owner.onWhole(bytes, message);
      } else if (type === 'input_required' && mayAskForInput(call.method)) this.#madeRounds.begin(result);
      else this.#owner.onNoInput(undefined);
    });
    isWithin = false;
    return !isWhole;
  }

  /** Who has refused the headers with this status has not begun with the request: it goes out once more, with others (N04). */
  #tryRefresh(bytes: Buffer, message: BackendMessage): boolean {
    const { upstream, bareName, metadata, mirrorRefresh, message: call } = this.#plan;
    if (this.#isRefreshed || call.method !== 'tools/call') return false;
    if (errorCodeIn(bytes, message.bodyStart, message.bodyEnd) !== rpcCodes.headerMismatch) return false;
    this.#isRefreshed = true;
    this.#refresh = mirrorRefresh.read(upstream, bareName, metadata, () => {
      if (this.#isOver) return;
      if (this.#isRefreshUseful) this.#owner.onInput();
      else this.#owner.onWhole(bytes, message);
    });
    return true;
  }

  /** The client's answers do not come here any more. */
  onRetired(): void {
    this.#rounds?.onRetired();
  }

  /** Nobody waits for the request any more. */
  end(): void {
    this.#isOver = true;
    this.#refresh?.abort();
    this.#reading?.cancel();
    this.#rounds?.end();
  }

  get #madeRounds(): InputRounds {
    const { ids, session, upstream, metadata, deadlines } = this.#plan;
    return (this.#rounds ??= new InputRounds({ ids, session, upstream, metadata, deadlines }, this.#owner));
  }
}

/** With the level that the client has set for its session. */
function envelopeIn({ logLevel }: Session, { envelope }: UpstreamSession): Buffer {
  const level = logLevel === undefined ? undefined : readMember(logLevel, 'level');
  if (level === undefined) return envelope;
  return Buffer.concat([envelope, Buffer.from(`,"${LOG_LEVEL_KEY}":${JSON.stringify(level)}`)]);
}
