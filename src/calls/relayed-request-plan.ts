// What a request for a single backend is made of (relayed-request.ts).
import type { ClientMessage } from '../mcp/index.js';
import type { DeadlineWheel } from '../fair/index.js';
import type { OutgoingMessage, RequestMetadata } from '../http-client/index.js';
import type { OwnIds, UpstreamSession } from '../upstream/index.js';
import type { Exchange } from '../exchange/index.js';
import type { Gate } from './gate.js';
import type { MirrorRefresh } from './mirror-refresh.js';
import type { RequestForm } from './request-form.js';
import type { Session } from '../session/index.js';

export interface RelayedRequestPlan {
  readonly session: Session;
  readonly upstream: UpstreamSession;
  readonly exchange: Exchange;
  readonly message: ClientMessage;
  /** What goes to the backend: the caller's message with the bare name. */
  readonly outgoing: OutgoingMessage;
  /** What the request is about, as the backend calls it; `''` where the method has none. */
  readonly bareName: string;
  /** What the request must pass when the upstream session is open. */
  readonly gate: Gate | undefined;
  /** Bits of `uriPlace`: where in the answer URIs are the backend's. */
  readonly uriPlaces: number;
  /** Bits of `taskPlace`: where in the answer ids of tasks are the backend's. */
  readonly taskPlaces: number;
  readonly metadata: RequestMetadata;
  readonly ids: OwnIds;
  readonly mirrorRefresh: MirrorRefresh;
  readonly deadlines: DeadlineWheel;
  /** Called with `true` when the backend has answered with a result, and with `false` at the end, in any case. */
  readonly onSettled?: ((isDone: boolean) => void) | undefined;
  /** Silence after which the backend is given up, ms. */
  readonly idleTimeoutMs: number;
  readonly form: RequestForm;
}
