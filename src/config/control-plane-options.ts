// The control plane's options as everything after start-up sees them: checked, defaulted, frozen. Times are
// milliseconds, sizes bytes, files already read.
import type {
  ConnectionOptions,
  DataplaneOptions,
  ListenAddress,
  ShareOptions,
  StoreOptions,
  TokenOptions,
  UpstreamOptions,
} from './dataplane-options.js';

export interface ControlPlaneOptions {
  readonly address: ListenAddress;
  readonly store: StoreOptions;
  readonly token: TokenOptions;
  readonly upstream: UpstreamOptions;
  readonly shares: ShareOptions;
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
  readonly drainTimeoutMs: number;
}
