// What a request for a single backend is made of (relayed-request.ts), and what its era changes in how it is served: one object for each
// modern request (modern/modern-rules.ts), and one for all legacy requests. The code that serves requests asks this object and knows no
// eras. Hot path.
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
   * Whether the client has a session: then it is asked on the call's stream, and has not cancelled if it disconnects (S12). Any other
   * client is asked by the answer to its request (`ask`), and has cancelled if it disconnects (M08).
   */
  readonly hasSession: boolean;
  /** Why the client cannot be asked during this request, if it cannot. */
  readonly askingObstacle: RpcError | undefined;
  /** The progress token that the backend was given in place of the caller's, as JSON; `undefined` if it has the caller's. */
  readonly sentToken: Buffer | undefined;

  /** What is added to a result that the gateway makes itself. @param ttlMs how long it may be cached; only given for a merged list. */
  resultExtras(ttlMs?: number): ResultExtras | undefined;
  /**
   * The message in the form for this backend, whose session is open. Where this member, or one below, is absent, nothing changes.
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
  /** The id under which the request went to the backend. */
  sentId?(callers: IdSpan): IdSpan;
  /** Whether the caller gets a message that its backend sent on the call's stream. @param message a notification. */
  isForCaller(bytes: Buffer, message: BackendMessage): boolean;
  /** The request's own progress, under the caller's token; `undefined` if the caller that waits now wants none. */
  withCallersToken(bytes: Buffer, message: BackendMessage): Buffer | undefined;
  /** The id under which the caller waits now: it may have made the request more than once. */
  callersId?(first: IdSpan): IdSpan;
  /**
   * Takes what the backend asks a client without a session.
   * @param id the gateway's, as JSON; the message has it already.
   * @returns why the client is not asked.
   */
  ask(plan: RelayedRequestPlan, request: HoldableRequest, id: Buffer, message: Buffer): RpcError | undefined;
  withdraw(id: Buffer): void;
  /** The backend has asked something that the client has not declared. */
  onUnoffered(method: string, mode: string): void;
  /**
   * An answer in the form for the caller's era; `undefined` if it needs no change.
   * @param era in which the request was sent.
   * @returns what the caller gets in its place: an error, a result as JSON, or the changes to make.
   */
  adaptedAnswer?(
    bytes: Buffer,
    message: BackendMessage,
    plan: RelayedRequestPlan,
    era: Era,
  ): RpcError | string | AnswerChanges | undefined;
  /** An error of the gateway's in the form for the caller's era, with the HTTP status for it. */
  ownError(error: RpcError): { readonly error: RpcError; readonly status: number };
  onOver?(): void;
}

/** A request that is being served. */
export interface ServedRequest {
  /** The virtual host by the config that the session has applied. */
  readonly virtualHost: CompiledVirtualHost;
  /** The client's session, or its lease. */
  readonly session: Session;
  readonly exchange: Exchange;
  readonly message: ClientMessage;
  readonly rules: EraRules;
}

export interface RelayedRequestPlan
  extends Omit<ServedRequest, 'virtualHost'>, Pick<Target, 'outgoing' | 'bareName' | 'uriPlaces' | 'taskPlaces'> {
  readonly context: UpstreamContext;
  /** The caller's own id. */
  readonly id: IdSpan;
  readonly merger: ListMerger;
  readonly upstream: UpstreamSession;
  /** What the request must pass when the upstream session is open. */
  readonly gate: Gate | undefined;
  readonly metadata: RequestMetadata;
  /** Called with `true` when the backend has answered with a result, and with `false` at the end, in any case. */
  readonly onSettled?: ((isDone: boolean) => void) | undefined;
}

/** How the caller's answer differs from its backend's, beside ids and URIs. */
export interface AnswerChanges {
  /** Bits of `taskPlace`: the places in the message that hold the backend's own task ids. */
  readonly taskPlaces: number;
  readonly edits: readonly Edit[];
  /** HTTP status. */
  readonly status: number;
}

/** A request at its backend, as seen by the held call that keeps it open. */
export interface HoldableRequest {
  /** Answers the caller with this message. @param meanwhile the exchange that receives what comes next. */
  pauseWith(message: Buffer, meanwhile: Exchange): void;
  /** @param exchange receives everything from now on. */
  goOn(exchange: Exchange): void;
  /**
   * Why the config no longer allows the request to the caller of a retry; `undefined` if it does.
   * @param passedAllowList hash of its backend's allow-list of resources when it was held.
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
  sentToken: undefined,
  isForCaller: () => true,
  withCallersToken: (bytes: Buffer) => bytes,
  ask: () => undefined,
  withdraw: () => undefined,
  onUnoffered: () => undefined,
  ownError: (error: RpcError) => ({ error, status: 200 }),
});

/** A result of the gateway's own, as JSON. @param ownMembers as JSON. */
export function ownResult(rules: EraRules, ownMembers: string): string {
  const { members = '', meta } = rules.resultExtras() ?? {};
  return `{${members}${ownMembers}${meta === undefined ? '' : `,"_meta":${JSON.stringify(meta)}`}}`;
}

export function answerOwnError(exchange: Exchange, id: IdSpan, error: RpcError, rules: EraRules): void {
  const own = rules.ownError(error);
  answerError(exchange, id, own.error, own.status);
}
