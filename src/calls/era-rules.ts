// What relaying a request needs (relayed-request.ts), and the rules that depend on the caller's era: an object for each modern request
// (modern/modern-rules.ts), and one for all legacy requests. So most code that serves requests need not know the era. Hot path.
import type { Edit } from '../bytes/index.js';
import type { BackendMessage, ClientMessage, Era } from '../mcp/index.js';
import type { RpcError } from '../shared/index.js';
import type { IdSpan, UpstreamContext, UpstreamSession } from '../upstream/index.js';
import type { OutgoingMessage, RequestMetadata } from '../http-client/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import { answerError, type ResultExtras, type Exchange } from '../exchange/index.js';
import type { ReadArguments } from '../messages/index.js';
import type { ListMerger } from '../lists/index.js';
import type { Session } from '../session/index.js';
import type { Gate } from './gate.js';
import type { Target } from './targets.js';

export interface EraRules {
  /**
   * Whether the client has a session: then backends' questions go on the call's stream, and a disconnect is no cancellation (S12).
   * Otherwise, questions are the answer to the request (`ask`), and a disconnect cancels (M08).
   */
  readonly hasSession: boolean;
  readonly askingObstacle: RpcError | undefined;
  /** The progress token that the backend was given instead of the caller's, as JSON; `undefined` if it has the caller's. */
  readonly sentProgressToken: Buffer | undefined;

  /** The members added to the gateway's own results. @param ttlMs how long a merged list may be cached. */
  resultExtras(ttlMs?: number): ResultExtras | undefined;
  /**
   * The message in the form for this backend, whose session is open. Without this method, the message stays as it is.
   * @param bareName what the request is about, as the backend calls it; `''` where the method has none.
   * @param read the arguments of a large call that its headers repeat.
   * @returns an error if the request cannot go there, or a large message would have to be changed within a span that was changed already.
   */
  outgoing?(
    message: OutgoingMessage,
    upstream: UpstreamSession,
    bareName: string,
    read?: ReadArguments,
  ): OutgoingMessage | RpcError;
  /** The id under which the request went to the backend. @param callers the caller's id for it. */
  sentId?(callers: IdSpan): IdSpan;
  /** Whether the caller gets a notification from its call's stream. */
  isForCaller(bytes: Buffer, message: BackendMessage): boolean;
  /** A progress report of this request, with the caller's token in it; `undefined` if the current caller wants no progress. */
  withCallersProgressToken(bytes: Buffer, message: BackendMessage): Buffer | undefined;
  /** The id of the caller's latest request, which may continue an earlier one with answers. @param first the id of its first request. */
  callersId?(first: IdSpan): IdSpan;
  /**
   * Puts a backend's question to the client, which has no session.
   * @param id the gateway's id for the question, as JSON; the message has it already.
   * @returns why the client is not asked; `undefined` if it is.
   */
  ask(plan: RelayedRequestPlan, request: SuspendableRequest, id: Buffer, message: Buffer): RpcError | undefined;
  withdraw(id: Buffer): void;
  /** Called when the backend has asked for something that the client has not declared. */
  onUndeclaredRequest(method: string, mode: string): void;
  /**
   * Adapts an answer to the caller's era.
   * @param era in which the request was sent.
   * @returns the error or the result (as JSON) that replaces the answer, or the changes to make in it; `undefined` if nothing changes.
   */
  adaptedAnswer?(
    bytes: Buffer,
    message: BackendMessage,
    plan: RelayedRequestPlan,
    era: Era,
  ): RpcError | string | AnswerChanges | undefined;
  /** One of the gateway's own errors in the form for the caller's era, and its HTTP status. */
  ownError(error: RpcError): { readonly error: RpcError; readonly status: number };
  onOver?(): void;
}

export interface ServedRequest {
  readonly virtualHost: CompiledVirtualHost;
  readonly session: Session;
  readonly exchange: Exchange;
  readonly message: ClientMessage;
  readonly rules: EraRules;
}

export interface RelayedRequestPlan
  extends Omit<ServedRequest, 'virtualHost'>, Pick<Target, 'outgoing' | 'bareName' | 'uriLocations' | 'taskLocations'> {
  readonly context: UpstreamContext;
  readonly id: IdSpan;
  readonly merger: ListMerger;
  readonly upstream: UpstreamSession;
  /** The check to make when the upstream session is open; `undefined` for tools, which need none. */
  readonly gate: Gate | undefined;
  readonly metadata: RequestMetadata;
  /** Called with `true` when the backend has answered with a result, and with `false` at the end in any case. */
  readonly onSettled?: ((isDone: boolean) => void) | undefined;
}

/** The changes that turn a backend's answer into the caller's, beside those of ids and URIs. */
export interface AnswerChanges {
  /** Where the message holds the backend's own task ids: bits of `taskLocation`. */
  readonly taskLocations: number;
  readonly edits: readonly Edit[];
  readonly status: number;
}

/** A request at its backend, as its suspended call sees it. */
export interface SuspendableRequest {
  /** Answers the caller with this message, while the request goes on. @param meanwhile the exchange that receives all later messages. */
  pauseWith(message: Buffer, meanwhile: Exchange): void;
  continueWith(exchange: Exchange): void;
  /**
   * Why the config no longer allows the request to a retry's caller; `undefined` if it does.
   * @param passedAllowList hash of its backend's allow-list of resources when it was suspended.
   */
  obstacleFor(
    virtualHost: CompiledVirtualHost,
    exchange: Exchange,
    message: ClientMessage,
    passedAllowList: string | undefined,
  ): RpcError | undefined;
  /** Cancels the request: nobody waits for the answer any more. */
  giveUp(): void;
}

export const NO_EDITS: readonly Edit[] = Object.freeze([]);

export const LEGACY_RULES: EraRules = Object.freeze({
  hasSession: true,
  askingObstacle: undefined,
  resultExtras: () => undefined,
  sentProgressToken: undefined,
  isForCaller: () => true,
  withCallersProgressToken: (bytes: Buffer) => bytes,
  ask: () => undefined,
  withdraw: () => undefined,
  onUndeclaredRequest: () => undefined,
  ownError: (error: RpcError) => ({ error, status: 200 }),
});

/** One of the gateway's own results, as JSON. @param ownMembers as JSON. */
export function ownResult(rules: EraRules, ownMembers: string): string {
  const { members = '', meta } = rules.resultExtras() ?? {};
  return `{${members}${ownMembers}${meta === undefined ? '' : `,"_meta":${JSON.stringify(meta)}`}}`;
}

export function answerOwnError(exchange: Exchange, id: IdSpan, error: RpcError, rules: EraRules): void {
  const own = rules.ownError(error);
  answerError(exchange, id, own.error, own.status);
}
