// What a request for a single backend is made of (relayed-request.ts).
import type { ClientMessage } from '../../protocol/json-rpc.js';
import type { DeadlineWheel } from '../../shared/deadline-wheel.js';
import type { OutgoingMessage } from '../../upstream/http/http-upstream.js';
import type { OwnIds } from '../../upstream/upstream-context.js';
import type { RequestMetadata } from '../../upstream/http/request-metadata.js';
import type { UpstreamSession } from '../../upstream/session/upstream-session.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Gate } from './gate.js';
import type { MirrorRefresh } from './mirror-refresh.js';
import type { RequestForm } from './request-form.js';
import type { Session } from '../session/session.js';

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
