// The dataplane's options as everything after start-up sees them: checked, defaulted, frozen, plain data that crosses
// to the workers as one IPC message. Times are milliseconds, sizes bytes, files already read.
import type { ProtectedResourceOptions } from '../shared/protected-resource.js';
import type { Role } from '../shared/roles.js';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export type RedisTls =
  | { readonly mode: 'plain-text' }
  | {
      readonly mode: 'tls' | 'mtls';
      /** PEM; `undefined` trusts the system's authorities. */
      readonly trustBundle: string | undefined;
      readonly clientCertificate: string | undefined;
      readonly clientPrivateKey: string | undefined;
    };

/** Sentinels know where the Redis is, and where it is when it is somewhere else. */
export interface RedisSentinels {
  readonly sentinels: readonly ListenAddress[];
  /** What they call the Redis. */
  readonly name: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** Some nodes of a Redis Cluster: they know the others. */
export interface RedisNodes {
  readonly nodes: readonly ListenAddress[];
}

export type RedisPlace = ListenAddress | RedisSentinels | RedisNodes;

export type StoreOptions =
  | { readonly kind: 'embedded'; readonly path: string }
  | {
      readonly kind: 'redis';
      readonly place: RedisPlace;
      readonly tls: RedisTls;
      readonly username: string | undefined;
      readonly password: string | undefined;
      /** How long the last known configs serve while Redis is lost. */
      readonly staleGraceMs: number;
    };

export interface TokenOptions {
  /** PEM text: one public key or several. */
  readonly publicKey: string | undefined;
  /** HMAC secret. */
  readonly secret: Uint8Array | undefined;
  /** JSON text of a JWK set. */
  readonly jwks: string | undefined;
  /** Where these were read, and are read again when they change. */
  readonly keyPaths: KeyPaths;
  /** PEM text, PKCS#8 or PKCS#1; only bootstrap builds and the `token` command read it. */
  readonly privateKey: string | undefined;
  /** Issuers that have keys of their own. */
  readonly issuerKeys: readonly IssuerKeySource[];
  /** How long these are used after they could last be fetched. */
  readonly issuerKeyGraceMs: number;
  /** Whether they may come over http, from a loopback address. */
  readonly isPlainTextAllowed: boolean;
  /** Of the keys in files, one at least; the first one is minted. */
  readonly issuers: readonly string[];
  readonly audience: string;
  /** Which claims say what somebody may do; `undefined`: none is looked at. */
  readonly standing?: StandingClaims | undefined;
}

/** Each claim by the steps that lead to it. */
export interface StandingClaims {
  readonly role: readonly string[];
  readonly teams: readonly string[] | undefined;
  /** The values that stand for a role. */
  readonly roleNames: Readonly<Record<Role, readonly string[]>>;
}

/** Where an issuer's JWK set is; `undefined`: where the issuer says. */
export interface IssuerKeySource {
  readonly issuer: string;
  readonly url: string | undefined;
}

export interface KeyPaths {
  readonly publicKey: string | undefined;
  readonly secret: string | undefined;
  readonly jwks: string | undefined;
}

export interface UpstreamOptions {
  readonly mode: 'tls-only' | 'plain-text-or-tls';
  readonly connectTimeoutMs: number;
  /** PEM of authorities that vouch for backends, beside those that Node.js knows. */
  readonly authorities?: string | undefined;
  readonly initializeTimeoutMs: number;
  /** How long a caller's `initialize` waits for a backend that has not answered its own. */
  readonly initializePatienceMs: number;
  readonly listTimeoutMs: number;
  /** For how long a backend's list is answered from memory; 0: never. */
  readonly listCacheMs: number;
  /** A call's deadline between two bytes of its answer. */
  readonly callIdleTimeoutMs: number;
  /** How long a client may take over a request of a backend's. */
  readonly clientAnswerTimeoutMs: number;
  /** Of secrets, one a file; `undefined`: backends that want one cannot be reached. */
  readonly secretsDirectory: string | undefined;
  /** That seal secrets of the store, in base64, the first one foremost; none: backends that want one cannot be reached. */
  readonly secretKeys: readonly string[];
  /** Where users' browsers reach the control plane; `undefined`: nobody is told where to give a consent. */
  readonly connectUrl?: string | undefined;
}

/** Which of MCP's eras clients are served in. */
export interface EraOptions {
  readonly served: 'both' | 'legacy' | 'modern';
  /** After so long without a request a session ends that only modern requests share. */
  readonly leaseIdleTimeoutMs: number;
}

/** How answers go to callers. */
export interface AnswerOptions {
  /** After so long the head of an event stream goes ahead of an answer. */
  readonly slowAnswerMs: number;
  /** Silence on an event stream before a comment is sent. */
  readonly streamKeepAliveMs: number;
  /** How long a client whose connection broke may take to come back for the rest of a stream. */
  readonly resumptionTimeMs: number;
  /** What may be kept for that, of one session. */
  readonly resumptionBytesMax: number;
}

/** How much of a process one subject may use, and all together. */
export interface ShareOptions {
  readonly sessionsMax: number;
  readonly subjectSessionsMax: number;
  readonly sessionBytesMax: number;
  readonly subjectSessionBytesMax: number;
  readonly requestsInFlightMax: number;
  readonly subjectRequestsInFlightMax: number;
  /** Of large requests, and the same again of large answers. */
  readonly bytesInFlightMax: number;
  readonly subjectBytesInFlightMax: number;
  /** Of large lists. */
  readonly listBytesMax: number;
  readonly subjectListBytesMax: number;
}

/** Connections to backends. */
export interface ConnectionOptions {
  /** Of one worker to one backend. */
  readonly connectionsMax: number;
  /** Of these, those that one subject's requests may use at once. */
  readonly connectionsPerSubjectMax: number;
  readonly names: NameOptions;
}

/** How the hosts of backends are looked up. */
export interface NameOptions {
  /** `address` or `address:port`; `undefined`: the system's. */
  readonly nameServers: readonly string[] | undefined;
  /** Under way at once. */
  readonly lookUpsMax: number;
  readonly lookUpsPerSubjectMax: number;
  /** Which networks may be connected to; `undefined`: all but what is refused to everybody. */
  readonly allowedNetworks: readonly string[] | undefined;
}

export interface TraceOptions {
  /** Of the collector: all of its URL. */
  readonly endpoint: string;
  /** Of requests that nobody has decided about before. */
  readonly sampleRatio: number;
}

export interface DataplaneOptions {
  /** What clients without a token are told. */
  readonly protectedResource: ProtectedResourceOptions;
  readonly address: ListenAddress;
  /** Of the workers' HTTP libraries; `auto`: the one that loads. */
  readonly listener: 'auto' | 'uws' | 'node';
  readonly tls:
    { readonly address: ListenAddress; readonly certificatePath: string; readonly privateKeyPath: string } | undefined;
  /** For operators; never one of the other addresses. */
  readonly adminAddress: ListenAddress | undefined;
  /** Whether figures are kept. */
  readonly metrics: boolean;
  /** Begins with `/`, does not end with one; may be empty. */
  readonly pathPrefix: string;
  readonly workerCount: number;
  /** Of each worker: all of it, not the heap alone. */
  readonly workerMemoryBytes: number;
  readonly store: StoreOptions;
  readonly token: TokenOptions;
  readonly upstream: UpstreamOptions;
  readonly answers: AnswerOptions;
  readonly eras: EraOptions;
  readonly shares: ShareOptions;
  readonly connections: ConnectionOptions;
  /** Exact origins, as in `https://app.example`. */
  readonly allowedOrigins: readonly string[];
  /** `host` or `host:port`, lower-case; empty: decided by the listen address (decisions 2.2). */
  readonly allowedHosts: readonly string[];
  readonly bodyBytesMax: number;
  /** Where sessions are written down: `process` outlives a worker, `store` the gateway as well. */
  readonly sessionDirectory: 'process' | 'store' | 'none';
  readonly sessionIdleTimeoutMs: number;
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  readonly accessLog: boolean;
  /** What a worker that was replaced may take to finish what it has. */
  readonly reloadTimeoutMs: number;
  /** How long the health check says so before a drain begins. */
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
  /** Silence of a worker's event loop after which it is replaced; 0 for never. */
  readonly workerHangTimeoutMs: number;
  /** Where the ids of HTTP requests come from. */
  readonly traces: TraceOptions | undefined;
  readonly requestIds: 'make' | 'trust' | 'off';
  /** How long a caller may take nothing of its answer. */
  readonly slowReaderTimeoutMs: number;
}
