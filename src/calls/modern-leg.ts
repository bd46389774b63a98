// A session's request on its way to a backend of MCP 2026-07-28: its headers, what of the session goes into its bytes, and answers that
// are not final yet. For a modern client's call that came through `call_tool`, the headers alone. Warm path: modern backends only.
import { Buffer } from 'node:buffer';
import {
  errorCodeIn,
  type BackendMessage,
  listKinds,
  LOG_LEVEL_KEY,
  type MirroredParam,
  readResultType,
} from '../mcp/index.js';
import { readMember, type Reading } from '../bytes/index.js';
import { rpcCodes, rpcErrors, type RpcError } from '../shared/index.js';
import { withHead, type OutgoingMessage } from '../http-client/index.js';
import { modernHead, type IdSpan, type UpstreamSession } from '../upstream/index.js';
import { argumentsToRead } from './large-arguments.js';
import { ListPages } from '../lists/index.js';
import { paramHeaders, type ReadArguments, modernMessage } from '../messages/index.js';
import { InputRounds, type InputOwner } from './input-rounds.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';
import type { Session } from '../session/index.js';
import { mayAskForInput } from './targets.js';

const NO_PARAMS: readonly string[] = [];

/** The HTTP status with which backends refuse requests whose headers do not agree with their body. */
const REFUSED = 400;

export interface ModernLegOwner extends InputOwner {
  /** The answer is the final one, after all. */
  onWhole(bytes: Buffer, message: BackendMessage): void;
}

export class ModernLeg {
  readonly #plan: RelayedRequestPlan;
  readonly #owner: ModernLegOwner;
  #reading: Reading | undefined;
  /** Made when the backend first asks for more. */
  #rounds: InputRounds | undefined;
  /** The parameter headers that were sent. */
  #sentParams = NO_PARAMS;
  /** Of a large call: the parameters with headers, as they were known when it was sent. */
  #sentKnown: readonly MirroredParam[] | undefined;
  /** The reading of the backend's tools after it has refused the headers. */
  #refresh: ListPages | undefined;
  #isRefreshed = false;
  #isOver = false;

  constructor(plan: RelayedRequestPlan, owner: ModernLegOwner) {
    this.#plan = plan;
    this.#owner = owner;
  }

  /** Whether the backend has begun with the request, so that it must not be begun again elsewhere. */
  get isBegun(): boolean {
    return this.#rounds?.round !== undefined;
  }

  /** The id under which the request goes out now. */
  sentId(callers: IdSpan): IdSpan {
    const id = this.#rounds?.round?.id;
    return id === undefined ? callers : { bytes: id, start: 0, end: id.length };
  }

  /**
   * @param read the arguments of a large call that its headers repeat.
   * @returns an error if the message is too large to be changed as needed, or its tool or arguments too large for the headers.
   */
  outgoing(message: OutgoingMessage, read?: ReadArguments): OutgoingMessage | RpcError {
    const { session, upstream, bareName, message: call } = this.#plan;
    const changed = this.#hasEnvelope
      ? message
      : modernMessage(message, call, { envelope: envelopeIn(session, upstream), round: this.#rounds?.round });
    if (changed === undefined) return rpcErrors.notConverted;
    if (call.method === 'tools/call' && upstream.mirrors?.isUnread(bareName) === true) return rpcErrors.toolTooLarge;
    const params = this.#paramsOf(read);
    if (params === undefined) return rpcErrors.argumentsTooLong;
    this.#sentParams = params;
    this.#sentKnown = read?.known;
    return withHead(changed, modernHead(call.method, bareName, params));
  }

  /** Whether the client is modern: the answer itself asks it for input, and only the headers of its call are made here. */
  get #hasEnvelope(): boolean {
    return this.#plan.message.envelope !== undefined;
  }

  /** The headers that repeat arguments (N03); `undefined` if they are too long to be sent. */
  #paramsOf(read?: ReadArguments): readonly string[] | undefined {
    const { upstream, bareName, message: call, outgoing } = this.#plan;
    return paramHeaders(upstream.mirroredBy(call.method, bareName), outgoing, read);
  }

  /** Whether the headers would differ now that the list was read again; for a large call, which must be read first, whether they might. */
  get #isRefreshUseful(): boolean {
    const { upstream, bareName } = this.#plan;
    const toRead = argumentsToRead(this.#plan);
    if (toRead !== undefined) return JSON.stringify(toRead) !== JSON.stringify(this.#sentKnown);
    const params = this.#paramsOf();
    // The headers cannot be sent: the next try answers the caller with the reason.
    if (params === undefined || upstream.mirrors?.isUnread(bareName) === true) return true;
    return params.join('\n') !== this.#sentParams.join('\n');
  }

  /**
   * Checks whether an answer is the final one.
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

  /** A backend that has refused the headers with this status has not begun with the request: it goes out once more, with others (N04). */
  #tryRefresh(bytes: Buffer, message: BackendMessage): boolean {
    const { context, merger, upstream, bareName, metadata, message: call } = this.#plan;
    if (this.#isRefreshed || call.method !== 'tools/call') return false;
    if (errorCodeIn(bytes, message.bodyStart, message.bodyEnd) !== rpcCodes.headerMismatch) return false;
    this.#isRefreshed = true;
    upstream.missMirrors(bareName);
    this.#refresh = new ListPages(context, merger, listKinds.tools, upstream, metadata, (pages) => {
      merger.dropPages(upstream.subject, pages);
      if (this.#isOver) return;
      if (this.#isRefreshUseful) this.#owner.onInput();
      else this.#owner.onWhole(bytes, message);
    });
    this.#refresh.start();
    return true;
  }

  /** From now on the client's answers go to another process. */
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
    return (this.#rounds ??= new InputRounds(this.#plan, this.#owner));
  }
}

/** The upstream session's envelope, with the log level that the client has set for its session. */
function envelopeIn({ logLevel }: Session, { envelope }: UpstreamSession): Buffer {
  const level = logLevel === undefined ? undefined : readMember(logLevel, 'level');
  if (level === undefined) return envelope;
  return Buffer.concat([envelope, Buffer.from(`,"${LOG_LEVEL_KEY}":${JSON.stringify(level)}`)]);
}
