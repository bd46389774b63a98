// The control plane's options as all code after start-up sees them: checked, with defaults, frozen. Times are in milliseconds, sizes in
// bytes, and files have been read.
import type {
  AnswerOptions,
  ConnectionOptions,
  DataplaneOptions,
  EraOptions,
  ListenAddress,
  ShareOptions,
  StoreOptions,
  TokenOptions,
  TraceOptions,
  UpstreamOptions,
} from './dataplane-options.js';

/** Bounds for registry and compositions, in total and for one maker: the subject that last wrote a composition. */
export interface ComposerShares {
  readonly serversMax: number;
  readonly compositionsMax: number;
  readonly makerCompositionsMax: number;
  /** Size of all of the maker's compositions, as stored. */
  readonly makerComposedBytesMax: number;
  /** Size of what one maker's compositions write into user configs, counted once for each of their subjects. */
  readonly makerPublishedBytesMax: number;
  /** Size of what one maker's compositions take of one user config. */
  readonly makerConfigBytesMax: number;
}

/** How people sign in to the console by OpenID Connect. */
export interface SignInOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** `undefined`: a public client, without a secret. */
  readonly clientSecret: string | undefined;
  readonly scope: string;
  /** `undefined`: no resource indicator is sent. */
  readonly resource: string | undefined;
  /** Scheme, host and port at which browsers reach this control plane. */
  readonly consoleUrl: string;
}

export interface ControlPlaneOptions {
  /** What clients without a token are told about getting one. */
  readonly protectedResource: DataplaneOptions['protectedResource'];
  readonly address: ListenAddress;
  readonly store: StoreOptions;
  readonly token: TokenOptions;
  /** `undefined`: the console asks for a token. */
  readonly signIn: SignInOptions | undefined;
  readonly upstream: UpstreamOptions;
  readonly answers: AnswerOptions;
  readonly eras: EraOptions;
  readonly shares: ShareOptions;
  readonly composerShares: ComposerShares;
  readonly connections: ConnectionOptions;
  /** Exact origins, such as `https://app.example`. */
  readonly allowedOrigins: readonly string[];
  /** `host` or `host:port`, lower-case; empty: decided by the listen address (decisions 2.2). */
  readonly allowedHosts: readonly string[];
  readonly bodyBytesMax: number;
  /** The memory limit of the process. */
  readonly memoryBytes: number;
  readonly healthCheckIntervalMs: number;
  readonly probeTimeoutMs: number;
  /** How long the response to a change waits until all user configs concerned are written. */
  readonly publicationWaitMs: number;
  /** Per subject, or per address without a valid token; 0: unlimited. */
  readonly requestsPerMinuteMax: number;
  readonly sessionIdleTimeoutMs: number;
  readonly logLevel: DataplaneOptions['logLevel'];
  readonly accessLog: boolean;
  readonly traces: TraceOptions | undefined;
  readonly requestIds: DataplaneOptions['requestIds'];
  /** The admin listener of the dataplane whose views are shown; `undefined`: none is shown. */
  readonly dataplaneAdmin: ListenAddress | undefined;
  /** How audit log lines name subjects. */
  readonly auditSubjects: 'hash' | 'plain';
  readonly drainTimeoutMs: number;
}
