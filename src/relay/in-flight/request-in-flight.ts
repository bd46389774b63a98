// A caller's request that its session is working on. It is in the session's list, so that it can be found by the caller's id,
// and ended with the session.
import type { BackendMessage, ClientMessage } from '../../protocol/json-rpc.js';
import { idKey } from '../../protocol/message-id.js';
import { ListNode } from '../../shared/list-node.js';
import type { AskingStream } from '../asking/asking-stream.js';
import type { Exchange } from '../exchange/exchange.js';
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';

export abstract class RequestInFlight extends ListNode {
  /** The caller's own id. */
  abstract readonly id: IdSpan;
  #idKey: string | undefined;
  /** For `RequestsInFlight`: the turn of `SlowRequests` in which the request began. */
  begunInTurn = 0;
  /** False where no backend does any work for it that would be worth cancelling. */
  abstract readonly isCancellable: boolean;

  /** Key of the caller's id. Computed on first use, as few requests are ever looked up. */
  get idKey(): string {
    const { bytes, start, end } = this.id;
    return (this.#idKey ??= idKey(bytes, start, end));
  }

  /**
   * The caller no longer wants the answer.
   * @param exchange of the cancellation notification.
   */
  abstract cancel(exchange: Exchange, notice: ClientMessage): void;
  /** A key for what the request waits for, if its caller is gone and a later request can wait for the same; `''` otherwise. */
  get abandonedWait(): string {
    return '';
  }

  /** Nobody waits for the answer any more. */
  giveUp(): void {
    // By default the request is left to end by itself, soon.
  }

  /**
   * The request has been in flight for long: the caller may be sent a sign that the answer is still to come. Called again in
   * each turn.
   */
  onSlow(): void {
    // By default the answer comes soon in any case.
  }

  /** From now on, the client's responses to backends' requests go to another process. */
  onRetired(): void {
    // A request that waits only for its backend ends in this process.
  }

  /** @param _isExcused whether the backend waits for the client's response to a request on its own stream: then its silence is no fault. */
  excuseSilence(_upstream: UpstreamSession, _isExcused: boolean): void {
    // By default the request has a fixed timeout, whatever happens.
  }

  /** The stream on which this request's client can be asked what its backend asks on a stream of its own meanwhile. */
  askableBy(_upstream: UpstreamSession): AskingStream | undefined {
    return undefined;
  }

  /** Takes progress that arrived on the backend's own stream. @returns whether it belongs to this request. */
  hearProgress(_upstream: UpstreamSession, _bytes: Buffer, _message: BackendMessage): boolean {
    return false;
  }

  /**
   * Whether it may be notified of its session's end a few turns of the event loop later: whatever happens to it until then, its
   * caller gets exactly one answer.
   */
  get mayEndLater(): boolean {
    return false;
  }

  /** The session has ended while the request was in flight: answers the caller. */
  abstract endWithSession(): void;
}
