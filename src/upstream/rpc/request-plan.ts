// What a JSON-RPC request to a backend is made of, and who hears of its answer (rpc-request.ts).
import type { BackendMessage } from '../../protocol/json-rpc.js';
import { sameId } from '../../protocol/message-id.js';
import type { Era } from '../../protocol/protocol-versions.js';
import type { MessageMemory } from '../../shared/message-memory.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';
import type { HttpUpstream, OutgoingMessage } from '../http/http-upstream.js';
import type { Endpoint } from '../reach/endpoint.js';
import type { UpstreamFault } from '../http/upstream-fault.js';

/** A JSON-RPC id where it stands in a message. */
export interface IdSpan {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

export function isAnswerTo(id: IdSpan, bytes: Buffer, { kind, idStart, idEnd }: BackendMessage): boolean {
  return kind === 'response' && idStart !== -1 && sameId(bytes, idStart, idEnd, id.bytes, id.start, id.end);
}

export interface RequestHandler {
  /**
   * The answer, a result or an error; `bytes` is the whole message, as the backend sent it, and may be kept.
   * @param sessionId the `mcp-session-id` header of the answer, `''` when absent.
   * @param isInPlace whether `bytes` is valid until this returns alone.
   */
  onAnswer(bytes: Buffer, message: BackendMessage, sessionId: string, isInPlace?: boolean): void;
  /** Copies what it keeps of an answer, or most of it anyhow: an answer that came in one piece is not copied for it. */
  readonly readsInPlace?: true;
  /**
   * A notification, or a request of the backend's own, that came before the answer on its event stream; `bytes` is
   * valid until the callback returns, and may be kept when it is longer than `limits.readAtOnceBytesMax`.
   */
  onMessage(bytes: Buffer, message: BackendMessage): void;
  onFault(fault: UpstreamFault): void;
  /** All of the ration was read that the handler has set, and the request is paused. @param spentMs what reading it has taken. */
  onRationRead?(spentMs: number): void;
  /** What an error means that came with an HTTP error, and belongs to no request: nothing more than its status, without this. */
  faultOfError?(error: Buffer): UpstreamFault | undefined;
  /**
   * Called in place of `onAnswer` where the handler reads large answers elsewhere, with bytes that nobody has looked at: whether they
   * are an answer is for the handler to find out.
   * @param pieces of the message, which may be kept. Large messages come in several calls, and a fault may come between.
   */
  onUnread?(pieces: readonly Buffer[], isLast: boolean): void;
}

export interface RequestPlan extends OutgoingMessage {
  readonly subject: string;
  readonly target: UpstreamTarget;
  /** Learns whether the target answers. */
  readonly endpoint: Endpoint;
  readonly headers: readonly string[];
  readonly id: IdSpan;
  readonly deadlineMs: number;
  /** True: the deadline counts silence, every byte puts it off. False: it counts the whole request. */
  readonly isSilenceDeadline: boolean;
  /** Whether the request carries a session id of the backend's: only then does 404 mean that it lost the session. */
  readonly carriesSession: boolean;
  /** In which the backend has spoken, so that a refusal of it is told apart; `undefined` for what finds it out. */
  readonly era?: Era | undefined;
  /** In which a large answer counts; without it the answer is known to be small. */
  readonly memory?: MessageMemory;
  /** Whether the backend has tasks, so that their ids are looked for in large messages of its. */
  readonly hasTasks?: boolean;
  /** Whether 401 is a fault even when a JSON-RPC error comes with it: other credentials may be had. */
  readonly isUnauthorizedFault?: boolean;
  /** Bytes of a JSON answer or of one event, at most. Without it the limit is that of any message. */
  readonly answerBytesMax?: number;
  /** Where the rest of an event stream is asked for that has ended before the answer; without it the request has failed. */
  readonly streams?: HttpUpstream | undefined;
}
