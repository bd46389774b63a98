import type { AnswerOptions, EraOptions, UpstreamOptions, ShareOptions } from '../config/index.js';
import { type StoredSecrets, type UserGrants, Credentials, createCredentials } from '../credentials/index.js';
import type { SessionDirectory, SessionContext } from '../session/index.js';
import {
  withReserve,
  type Accounts,
  type ShareTable,
  type DeadlineWheel,
  type MessageMemory,
  createMessageMemories,
} from '../fair/index.js';
import type { Logger } from '../shared/index.js';
import { type HttpUpstream, OneWayRequests } from '../http-client/index.js';
import {
  BackendEndpoints,
  type BackendFaultHandler,
  BackendLog,
  OwnRequestIds,
  type UpstreamContext,
} from '../upstream/index.js';
import type { ReadHost } from '../user-config/index.js';
import type { SuspendedCallsOptions, LeaseOwners } from '../modern/index.js';
import { listsChangedBy, type ListMerger } from '../lists/index.js';

/** The bounds of a process's shares. A part of each is reserved for subjects that use little. */
export function shareTable(options: ShareOptions): ShareTable {
  return {
    sessions: withReserve({ subjectMax: options.subjectSessionsMax, totalMax: options.sessionsMax }),
    sessionBytes: withReserve({ subjectMax: options.subjectSessionBytesMax, totalMax: options.sessionBytesMax }),
    requestBytes: withReserve({ subjectMax: options.subjectBytesInFlightMax, totalMax: options.bytesInFlightMax }),
    answerBytes: withReserve({ subjectMax: options.subjectBytesInFlightMax, totalMax: options.bytesInFlightMax }),
    listBytes: {
      ...withReserve({ subjectMax: options.subjectListBytesMax, totalMax: options.listBytesMax }),
      keepsPart: true,
    },
    requests: withReserve({ subjectMax: options.subjectRequestsInFlightMax, totalMax: options.requestsInFlightMax }),
  };
}

export interface RelayOptions {
  readonly http: HttpUpstream;
  /** The HTTP client for the event streams of backends; `http` by default. */
  readonly streams?: HttpUpstream;
  /** The HTTP client for responses and notifications to backends during calls; `http` by default. */
  readonly replies?: HttpUpstream;
  readonly deadlines: DeadlineWheel;
  /** The backends' endpoints and circuits; created by default. */
  readonly endpoints?: BackendEndpoints;
  readonly upstream: UpstreamOptions;
  readonly answers: AnswerOptions;
  readonly eras: EraOptions;
  /** Reads the secrets in the store. Without it, a backend whose secret is in the store cannot be used. */
  readonly storedSecrets?: Pick<StoredSecrets, 'read'> | undefined;
  /** The users' grants. Without them, a backend that needs one cannot be used. */
  readonly userGrants?: UserGrants | undefined;
  readonly accounts: Accounts;
  /** The memory for large answers; made from the accounts by default. */
  readonly answerMemory?: MessageMemory;
  readonly sessionIdleTimeoutMs: number;
  /** The session directory. Without it, sessions end with this process. */
  readonly directory?: SessionDirectory | undefined;
  readonly sendToPredecessor?: SessionContext['sendToPredecessor'];
  mintSessionId(): string;
  /** Whether a request without a session gets one of its own, which ends with the request; otherwise it is refused. */
  readonly isSessionOptional?: boolean;
  readonly onBackendFault?: BackendFaultHandler;
  /** How a request finds the process that holds its suspended call, or owns its lease. Absent if there is no other process. */
  readonly siblings?: Omit<SuspendedCallsOptions, 'deadlines'> & LeaseOwners;
  /** Reads the current config. Without it, streams keep the config that they began with. */
  readonly readHost?: ReadHost;
  readonly logger: Logger;
}

/** Makes the context that all upstream sessions of a relay share. @param merger gets the changes of backends' lists. */
export function createUpstreamContext(options: RelayOptions, merger: ListMerger): UpstreamContext {
  const { http, deadlines, upstream } = options;
  const nowMs = (): number => deadlines.nowMs();
  const credentials = createCredentials(upstream, options);
  return {
    http,
    streams: options.streams ?? http,
    deadlines,
    options: upstream,
    oneWayRequests: new OneWayRequests(http, deadlines),
    replies: new OneWayRequests(options.replies ?? http, deadlines, http),
    ownIds: new OwnRequestIds(),
    credentialsOf: (backend, subject) => Credentials.of(backend.auth, backend, subject, credentials),
    endpoints:
      options.endpoints ??
      new BackendEndpoints({ http, deadlines, connectTimeoutMs: upstream.connectTimeoutMs, nowMs }),
    answerMemory: options.answerMemory ?? createMessageMemories(options.accounts, deadlines).answers,
    nowMs,
    onListsChanged: (backend, method) => merger.onChanged(backend, listsChangedBy(method)),
    log: new BackendLog(options.logger, undefined, options.onBackendFault),
  };
}
