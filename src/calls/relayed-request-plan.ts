// What a request for a single backend is made of (relayed-request.ts).
import type { ClientMessage } from '../mcp/index.js';
import type { RequestMetadata } from '../http-client/index.js';
import type { ListMerger } from '../lists/index.js';
import type { UpstreamContext, UpstreamSession } from '../upstream/index.js';
import type { Exchange } from '../exchange/index.js';
import type { Gate } from './gate.js';
import type { RequestForm } from './request-form.js';
import type { Session } from '../session/index.js';
import type { CompiledVirtualHost } from '../user-config/index.js';
import type { Target } from './targets.js';

/** A request that is being served. */
export interface Incoming {
  /** As the session obeys it. */
  readonly virtualHost: CompiledVirtualHost;
  /** The client's, or its lease. */
  readonly session: Session;
  readonly exchange: Exchange;
  readonly message: ClientMessage;
  readonly form: RequestForm;
}

export interface RelayedRequestPlan
  extends Omit<Incoming, 'virtualHost'>, Pick<Target, 'outgoing' | 'bareName' | 'uriPlaces' | 'taskPlaces'> {
  readonly context: UpstreamContext;
  readonly merger: ListMerger;
  readonly upstream: UpstreamSession;
  /** What the request must pass when the upstream session is open. */
  readonly gate: Gate | undefined;
  readonly metadata: RequestMetadata;
  /** Called with `true` when the backend has answered with a result, and with `false` at the end, in any case. */
  readonly onSettled?: ((isDone: boolean) => void) | undefined;
}
