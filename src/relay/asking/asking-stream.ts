// Where backends' requests to the client go out (backend-requests.ts).
import type { RpcError } from '../../shared/rpc-errors.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';

/** A stream on which backends' requests reach the client: that of a call, or the session's own. */
export interface AskingStream {
  /** The error for the backend when the client cannot be asked on this stream; `undefined` when it can. */
  readonly askingObstacle: RpcError | undefined;
  /**
   * Sends a message to the client.
   * @param parts of the message, in order. Small ones are valid only until this returns.
   */
  tell(parts: readonly Buffer[]): void;
  /**
   * Sends a request to the client.
   * @param id our id, as JSON; the parts contain it already.
   * @param onLost called when the request will not reach the client though the stream goes on, with the reason where it is known.
   */
  ask(id: Buffer, parts: readonly Buffer[], onLost: (error?: RpcError) => void): void;
  /** The response to this request is no longer wanted. @param parts of the cancellation for the client. */
  withdraw(id: Buffer, parts: readonly Buffer[]): void;
  /** The backend has asked for something that the client does not declare. @param mode of an elicitation. */
  onUnoffered?(method: string, mode: string): void;
  /** `true` when the backend has asked on this stream, `false` once its last request is settled: in between, the client is waited for. */
  onAsking(isAsking: boolean, upstream: UpstreamSession): void;
}
