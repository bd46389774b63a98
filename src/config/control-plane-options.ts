// The control plane's options as everything after start-up sees them: checked, defaulted, frozen. Times are
// milliseconds, sizes bytes, files already read.
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

/** What the registry and the compositions may grow to, and one maker's part of it: the subject that wrote them last. */
export interface ComposerShares {
  readonly serversMax: number;
  readonly compositionsMax: number;
  readonly makerCompositionsMax: number;
  /** Of all of its compositions as stored. */
  readonly makerComposedBytesMax: number;
  /** Of what they write into user configs, once for each of their subjects. */
  readonly makerPublishedBytesMax: number;
  /** Of what they fill of one user config. */
  readonly makerConfigBytesMax: number;
}

/** How people sign in to the console by OpenID Connect. */
export interface SignInOptions {
  readonly issuer: string;
  readonly clientId: string;
  /** `undefined`: a public client. */
  readonly clientSecret: string | undefined;
  readonly scope: string;
  /** `undefined`: nothing is said of it. */
  readonly resource: string | undefined;
  /** Scheme, host and port of this control plane for browsers. */
  readonly consoleUrl: string;
}

export interface ControlPlaneOptions {
  /** What clients without a token are told. */
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
  /** Exact origins, as in `https://app.example`. */
  readonly allowedOrigins: readonly string[];
  /** `host` or `host:port`, lower-case; empty: decided by the listen address (decisions 2.2). */
  readonly allowedHosts: readonly string[];
  readonly bodyBytesMax: number;
  /** What the process may take. */
  readonly memoryBytes: number;
  readonly healthCheckIntervalMs: number;
  readonly probeTimeoutMs: number;
  /** How long a change waits until it is in all user configs that it concerns. */
  readonly publicationWaitMs: number;
  /** Of one subject, else of one address; 0: any number. */
  readonly requestsPerMinuteMax: number;
  readonly sessionIdleTimeoutMs: number;
  readonly logLevel: DataplaneOptions['logLevel'];
  readonly accessLog: boolean;
  readonly traces: TraceOptions | undefined;
  readonly requestIds: DataplaneOptions['requestIds'];
  /** Of a dataplane whose views are told; `undefined`: of none. */
  readonly dataplaneAdmin: ListenAddress | undefined;
  /** How audit lines name subjects. */
  readonly auditSubjects: 'hash' | 'plain';
  readonly drainTimeoutMs: number;
}
