// A request of the caller's that its session is working on: in the session's list, so that it can be found by the
// caller's id for it, and ended with the session.
import type { BackendMessage, ClientMessage } from '../../protocol/json-rpc.js';
import { idKey } from '../../protocol/message-id.js';
import { ListNode } from '../../shared/list-node.js';
import type { AskingStream } from '../asking/backend-requests.js';
import type { Exchange } from '../exchange/exchange.js';
import type { IdSpan } from '../../upstream/rpc/rpc-request.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';

export abstract class RequestInFlight extends ListNode {
  /** The caller's own. */
  abstract readonly id: IdSpan;
  #idKey: string | undefined;
  /** For `RequestsInFlight`: of the turns of `SlowRequests`. */
  begunInTurn = 0;
  /** False where there is nothing at a backend that would be worth ending. */
  abstract readonly isCancellable: boolean;

  /** Of the caller's id. Few requests are looked for, so it is made when it is first asked for; and then once. */
  get idKey(): string {
    const { bytes, start, end } = this.id;
    return (this.#idKey ??= idKey(bytes, start, end));
  }

  /**
   * The caller no longer wants the answer.
   * @param exchange that of the notice which says so.
   */
  abstract cancel(exchange: Exchange, notice: ClientMessage): void;
  /** What it waits for, in words of its own, if that can be waited for again and its caller is gone; `''` otherwise. */
  get abandonedWait(): string {
    return '';
  }

  /** Nobody waits for the answer any more. */
  giveUp(): void {
    // What is answered soon in any case.
  }

  /**
   * It has been under way for long: whoever waits for the answer may be told that it is still to come. Called again with
   * each turn.
   */
  onSlow(): void {
    // What is answered soon in any case.
  }

  /** What the client answers goes to another process from now on. */
  onRetired(): void {
    // What waits for a backend alone ends here.
  }

  /** Whether the backend waits for the client, as far as it has said so on a stream of its own: then its silence does not count. */
  excuseSilence(_upstream: UpstreamSession, _isExcused: boolean): void {
    // What has a time to be answered in whatever happens.
  }

  /** What its backend may ask on a stream of its own in the middle of it, where that can be its client's to answer. */
  askableBy(_upstream: UpstreamSession): AskingStream | undefined {
    return undefined;
  }

  /** Progress that has come on the backend's own stream. @returns whether it is that of this one. */
  hearProgress(_upstream: UpstreamSession, _bytes: Buffer, _message: BackendMessage): boolean {
    return false;
  }

  /**
   * Whether it may hear of its session's end a few turns of the event loop later: whatever comes of it until then, its caller has one
   * answer.
   */
  get mayEndLater(): boolean {
    return false;
  }

  /** The session was ended under it: it answers its caller. */
  abstract endWithSession(): void;
}
