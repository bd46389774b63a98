// What the era of a request changes in how it is served: one object for each modern request (modern/modern-form.ts), and one for
// all legacy ones. Whoever serves requests asks it and knows no eras. Hot.
import type { BackendMessage, ClientMessage } from '../../protocol/json-rpc.js';
import type { Era } from '../../protocol/protocol-versions.js';
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';
import type { OutgoingMessage } from '../../upstream/http/http-upstream.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';
import { answerError, type RpcError } from '../exchange/answers.js';
import type { Edit } from '../message/edits.js';
import type { Exchange } from '../exchange/exchange.js';
import type { ReadArguments } from './large-arguments.js';
import type { RelayedRequestPlan } from './relayed-request-plan.js';
import type { ListDress } from '../exchange/answer-frame.js';

export interface RequestForm {
  /** Whether whoever goes away has cancelled (M08), as against S12. */
  readonly endsWithCaller: boolean;
  /** What takes what backends ask of the client meanwhile, where that does not go to it on the call's stream. */
  readonly asking: AskedAside | undefined;
  /** Why the client cannot be asked that way, if so. */
  readonly askingObstacle: RpcError | undefined;
  /** Whether it came within a call of another tool, whose head says nothing of its arguments: what a head must say is ours to find out. */
  readonly isWrapped: boolean;
  /** In place of the caller's progress token, where the backend has been told another: JSON. */
  readonly sentToken: Buffer | undefined;

  /** What a merged list says of itself. @param ttlMs how long it may be kept. */
  listDress(ttlMs: number): ListDress | undefined;
  /** What a result of ours that may not be kept says of itself. */
  resultDress(): ListDress | undefined;
  /** Why the request is nothing for this backend, whose session is open. */
  obstacleAt(upstream: UpstreamSession, bareName: string, read?: ReadArguments): RpcError | undefined;
  /**
   * What goes to this backend, whose session is open, of what would go to any.
   * @param bareName what the request is about, as the backend calls it; `''` where the method has none.
   * @param read of a large call whose arguments its head says again, as of `obstacleAt`.
   * @returns `undefined` where a large message would have to be changed within what was changed already.
   */
  outgoing(
    message: OutgoingMessage,
    upstream: UpstreamSession,
    bareName: string,
    read?: ReadArguments,
  ): OutgoingMessage | undefined;
  /** The id under which it has gone there. */
  sentId(callers: IdSpan): IdSpan;
  /** Whether the caller is told of what its backend says on the call's stream. @param message a notification. */
  isHeard(bytes: Buffer, message: BackendMessage): boolean;
  /** Own progress, under the caller's own token; `undefined` when who waits now wants none. */
  withCallersToken(bytes: Buffer, message: BackendMessage): Buffer | undefined;
  /** The id under which the caller waits, who may have made the request more than once. */
  callersId(first: IdSpan): IdSpan;
  /** Its backend has asked what the client does not declare to be asked. */
  onUnoffered(method: string, mode: string): void;
  /** What the caller is told in place of this answer, if so: an error, or a result as JSON. @param era in which the request has gone there. */
  insteadOf(bytes: Buffer, message: BackendMessage, plan: RelayedRequestPlan, era: Era): RpcError | string | undefined;
  /**
   * Where in an answer ids of tasks are the backend's.
   * @param places bits of `taskPlace`, as the request's method has them. @param era as above, here and below.
   */
  taskPlacesIn(places: number, bytes: Buffer, message: BackendMessage, upstream: UpstreamSession, era: Era): number;
  /** What is to be changed in an answer beside ids and URIs. */
  answerEdits(bytes: Buffer, message: BackendMessage, era: Era): readonly Edit[];
  /** The HTTP status for an error of this backend's. @param message an error. */
  answerStatus(bytes: Buffer, message: BackendMessage, era: Era): number;
  /** An error of ours, as its caller is told of it, and the HTTP status for it. */
  ownError(error: RpcError): RpcError;
  statusOf(error: RpcError): number;
  /** The request has its answer. */
  onOver(): void;
}

/** For what a backend asks of a client that is asked by the answer to its request. */
export interface AskedAside {
  /**
   * @param id ours, as JSON, which the message has already.
   * @returns why the client is not asked.
   */
  ask(plan: RelayedRequestPlan, request: HoldableRequest, id: Buffer, message: Buffer): RpcError | undefined;
  withdraw(id: Buffer): void;
}

/** A request at its backend, as who holds it open knows it. */
export interface HoldableRequest {
  /** Gives its caller this for an answer; what comes next is for another. */
  pauseWith(message: Buffer, meanwhile: Exchange): void;
  /** @param exchange hears of it from now on. */
  goOn(exchange: Exchange): void;
  /**
   * Why who makes it again may not have it any more, as the config is now; nothing where it may.
   * @param passedAllowList hash of its backend's allow-list of resources when it was held.
   */
  obstacleFor(
    virtualHost: CompiledVirtualHost,
    exchange: Exchange,
    message: ClientMessage,
    passedAllowList: string | undefined,
  ): RpcError | undefined;
  /** Nobody waits for the answer any more. */
  giveUp(): void;
}

export const NO_EDITS: readonly Edit[] = Object.freeze([]);

/** Of requests in a session. */
export const LEGACY_FORM: RequestForm = Object.freeze({
  endsWithCaller: false,
  asking: undefined,
  askingObstacle: undefined,
  listDress: () => undefined,
  resultDress: () => undefined,
  isWrapped: false,
  sentToken: undefined,
  obstacleAt: () => undefined,
  outgoing: (message: OutgoingMessage) => message,
  sentId: (callers: IdSpan) => callers,
  isHeard: () => true,
  withCallersToken: (bytes: Buffer) => bytes,
  callersId: (first: IdSpan) => first,
  onUnoffered: () => undefined,
  insteadOf: () => undefined,
  taskPlacesIn: (places: number) => places,
  answerEdits: () => NO_EDITS,
  answerStatus: () => 200,
  ownError: (error: RpcError) => error,
  statusOf: () => 200,
  onOver: () => undefined,
});

/** Answers with an error of ours. */
export function answerOwnError(exchange: Exchange, id: IdSpan, error: RpcError, form: RequestForm): void {
  const own = form.ownError(error);
  answerError(exchange, id, own, form.statusOf(own));
}
