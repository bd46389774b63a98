// What every upstream session of a relay shares.
import type { CompiledBackend } from '../user-config/compiled-config.js';
import type { UpstreamOptions } from '../config/dataplane-options.js';
import type { DeadlineWheel } from '../shared/deadline-wheel.js';
import type { MessageMemory } from '../shared/message-memory.js';
import type { HttpUpstream } from './http/http-upstream.js';
import type { Notices } from './http/notices.js';
import type { OwnIds } from './own-ids.js';
import type { Endpoints } from './reach/endpoints.js';
import type { OAuthSourceMeans } from './credentials/oauth-source.js';
import type { UpstreamFault } from './http/upstream-fault.js';

export interface UpstreamContext {
  readonly http: HttpUpstream;
  /** For streams that stay open: apart from the calls, which would wait for their connections. */
  readonly streams: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  readonly options: UpstreamOptions;
  readonly notices: Notices;
  /** Those that a call may wait for: apart from the calls, whose connections would have to be free first. */
  readonly replies: Notices;
  /** What is known of reaching backends. */
  readonly endpoints: Endpoints;
  /** Of every request that the gateway makes by itself. */
  readonly ids: OwnIds;
  /** What backends want to see before they answer, and where it comes from. */
  readonly credentials: OAuthSourceMeans;
  /** What large answers take. */
  readonly answerMemory: MessageMemory;
  /** Milliseconds of a clock that never goes back. */
  nowMs(): number;
  /** A backend has said that a list of its is another now, or has forgotten a session: then `method` is `''`. */
  readonly onChanged?: ((backend: CompiledBackend, method: string) => void) | undefined;
  /** For the log: tools of a backend are not listed, each with the reason. */
  readonly onToolsLeftOut?: (backend: CompiledBackend, tools: readonly string[]) => void;
  /** For the log: a backend could be opened, or could not. */
  onAvailable(backend: CompiledBackend): void;
  onUnavailable(backend: CompiledBackend, fault: UpstreamFault): void;
  /** For figures: a try to open a session has failed, as against one that was not even made. */
  onOpenFault(backend: CompiledBackend, fault: UpstreamFault): void;
  /** For the log: a request to an open session has failed. */
  onFailure(backend: CompiledBackend, fault: UpstreamFault): void;
}
