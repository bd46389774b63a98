// What a relay is made of.
import type { AnswerOptions, EraOptions, UpstreamOptions } from '../config/dataplane-options.js';
import type { StoredSecrets } from '../secrets/stored-secrets.js';
import type { UserGrants } from '../secrets/user-grants.js';
import type { SessionDirectory } from '../session-directory/session-directory.js';
import type { Accounts } from '../shared/accounts.js';
import type { DeadlineWheel } from '../shared/deadline-wheel.js';
import type { Logger } from '../shared/logger.js';
import type { MessageMemory } from '../shared/message-memory.js';
import type { HttpUpstream } from '../upstream/http/http-upstream.js';
import type { Endpoints } from '../upstream/reach/endpoints.js';
import type { UpstreamFaultKind } from '../upstream/http/upstream-fault.js';
import type { ReadHost } from '../user-config/current-host.js';
import type { HeldCallsOptions } from './modern/held-calls.js';
import type { SessionMeans } from './session/session-plan.js';

export interface RelayOptions {
  readonly http: HttpUpstream;
  /** For backends' streams; the same when not given. */
  readonly streams?: HttpUpstream;
  /** For answers to backends and what they are told during calls; the same when not given. */
  readonly replies?: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  /** What is known of backends already; nothing when not given. */
  readonly endpoints?: Endpoints;
  readonly upstream: UpstreamOptions;
  readonly answers: AnswerOptions;
  readonly eras: EraOptions;
  /** Of backends; those that are in the store cannot be had without it. */
  readonly storedSecrets?: Pick<StoredSecrets, 'read'> | undefined;
  /** What users have granted; without them backends that want it cannot be had. */
  readonly userGrants?: UserGrants | undefined;
  /** What each subject uses of this process. */
  readonly accounts: Accounts;
  /** Of large answers, where others count in it too; made of the accounts unless given. */
  readonly answerMemory?: MessageMemory;
  readonly sessionIdleTimeoutMs: number;
  /** Where sessions are written down and those of other processes are found; without it they end with this process. */
  readonly directory?: SessionDirectory | undefined;
  /** Given a cancellation of what is not in flight here: it may be, in the process that this one has replaced. */
  readonly passBack?: SessionMeans['passBack'];
  /** A new session id that this process owns. */
  mintSessionId(): string;
  /** Whether a request without a session is served in one of its own, which ends with it; otherwise it is refused. */
  readonly isSessionOptional?: boolean;
  /** For figures: each failure of a backend, of a request or of opening a session. */
  readonly onBackendFault?: (backend: string, kind: UpstreamFaultKind, during: 'request' | 'opening') => void;
  /** How a request that is made again finds its call in another process; without it, there is none. */
  readonly heldCalls?: Omit<HeldCallsOptions, 'deadlines'>;
  /** What is allowed now, for streams that outlive configs; without it they are held against none but their first. */
  readonly readHost?: ReadHost;
  readonly logger: Logger;
}
