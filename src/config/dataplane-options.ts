// The dataplane's options as all code after start-up sees them: checked, with defaults, frozen; plain data that is sent to the workers in
// one IPC message. Times are in milliseconds, sizes in bytes, and files have been read.
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
      /** PEM; `undefined`: trust the system's CAs. */
      readonly trustBundle: string | undefined;
      readonly clientCertificate: string | undefined;
      readonly clientPrivateKey: string | undefined;
    };

/** Sentinels know the current address of the Redis, also after a failover. */
interface RedisSentinels {
  readonly sentinels: readonly ListenAddress[];
  /** The Redis's name at the Sentinels. */
  readonly name: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** Some nodes of a Redis Cluster, which know the others. */
interface RedisNodes {
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
      /** How long the last known configs are used while Redis cannot be reached. */
      readonly staleGraceMs: number;
    };

export interface TokenOptions {
  /** PEM text with one or more public keys. */
  readonly publicKey: string | undefined;
  /** HMAC secret. */
  readonly secret: Uint8Array | undefined;
  /** JSON text of a JWK set. */
  readonly jwks: string | undefined;
  /** The files of these keys, which are read again when they change. */
  readonly keyPaths: KeyPaths;
  /** PEM text, PKCS#8 or PKCS#1; only bootstrap builds and the `token` command read it. */
  readonly privateKey: string | undefined;
  /** Issuers with keys of their own. */
  readonly issuerKeys: readonly IssuerKeySource[];
  /** How long these issuers' keys are used after they were last fetched successfully. */
  readonly issuerKeyGraceMs: number;
  /** How long before its `nbf` a token is accepted. */
  readonly leewayMs: number;
  /** Whether these keys may be fetched over http, from a loopback address. */
  readonly isPlainTextAllowed: boolean;
  /** Issuers accepted with the keys in files, at least one; tokens are minted with the first. */
  readonly issuers: readonly string[];
  readonly audience: string;
  /** Which claims hold a caller's role and teams; `undefined`: no claim is examined. */
  readonly standing?: StandingClaims | undefined;
}

/** Each claim as the path of member names that leads to it. */
export interface StandingClaims {
  readonly role: readonly string[];
  readonly teams: readonly string[] | undefined;
  /** The claim values that stand for each role. */
  readonly roleNames: Readonly<Record<Role, readonly string[]>>;
}

/** The URL of an issuer's JWK set; `undefined`: discovered from the issuer's metadata. */
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
  /** PEM of CAs to trust for backends, in addition to those of Node.js. */
  readonly authorities?: string | undefined;
  readonly initializeTimeoutMs: number;
  /** How long a caller's `initialize` waits for a backend that has not answered its own yet. */
  readonly initializePatienceMs: number;
  readonly listTimeoutMs: number;
  /** How long a backend's list is served from memory; 0: never. */
  readonly listCacheMs: number;
  /** How long a call waits for the next byte of its answer. */
  readonly callIdleTimeoutMs: number;
  /** What happens to methods that MCP does not define. */
  readonly unknownMethods: 'relay' | 'refuse';
  /** How long a client may take to answer a backend's request. */
  readonly clientAnswerTimeoutMs: number;
  /** Directory with one file per secret; `undefined`: backends that need one are unavailable. */
  readonly secretsDirectory: string | undefined;
  /** Keys for secrets in the store, in base64; the first one also seals. If empty, backends that need such a secret are unavailable. */
  readonly secretKeys: readonly string[];
  /** Where users' browsers reach the control plane; `undefined`: no user is told where to give a consent. */
  readonly connectUrl?: string | undefined;
}

/** Which of MCP's eras clients are served in. */
export interface EraOptions {
  readonly served: 'both' | 'legacy' | 'modern';
  /** Idle time after which a lease ends. */
  readonly leaseIdleTimeoutMs: number;
}

/** How answers are sent to callers. */
export interface AnswerOptions {
  /** Time after which the head of an event stream is sent ahead of an answer. */
  readonly slowAnswerMs: number;
  /** Silence on an event stream after which a comment is sent. */
  readonly streamKeepAliveMs: number;
  /** How long a client that lost its connection may take to resume a stream. */
  readonly resumptionTimeMs: number;
  /** Memory for such streams, per session. */
  readonly resumptionBytesMax: number;
}

/** How much of a process one subject may use, and all subjects together. */
export interface ShareOptions {
  readonly sessionsMax: number;
  readonly subjectSessionsMax: number;
  readonly sessionBytesMax: number;
  readonly subjectSessionBytesMax: number;
  readonly requestsInFlightMax: number;
  readonly subjectRequestsInFlightMax: number;
  /** For large requests, and as much again for large answers. */
  readonly bytesInFlightMax: number;
  readonly subjectBytesInFlightMax: number;
  /** For large lists. */
  readonly listBytesMax: number;
  readonly subjectListBytesMax: number;
}

/** Connections to backends. */
export interface ConnectionOptions {
  /** From one worker to one backend. */
  readonly connectionsMax: number;
  /** The part of these that one subject's requests may use at once. */
  readonly connectionsPerSubjectMax: number;
  readonly names: NameOptions;
}

/** How the hosts of backends are resolved. */
interface NameOptions {
  /** `address` or `address:port`; `undefined`: the system's name servers. */
  readonly nameServers: readonly string[] | undefined;
  /** Look-ups in progress at once. */
  readonly lookUpsMax: number;
  readonly lookUpsPerSubjectMax: number;
  /** Networks that may be connected to; `undefined`: all except those that are never allowed. */
  readonly allowedNetworks: readonly string[] | undefined;
}

export interface TraceOptions {
  /** The complete URL of the collector. */
  readonly endpoint: string;
  /** Fraction of requests to trace where the client has not decided. */
  readonly sampleRatio: number;
}

export interface DataplaneOptions {
  /** What clients without a token are told about getting one. */
  readonly protectedResource: ProtectedResourceOptions;
  readonly address: ListenAddress;
  /** The workers' HTTP library; `auto`: uws if it loads, otherwise node. */
  readonly listener: 'auto' | 'uws' | 'node';
  readonly tls:
    { readonly address: ListenAddress; readonly certificatePath: string; readonly privateKeyPath: string } | undefined;
  /** The admin listener; never the same address as another listener. */
  readonly adminAddress: ListenAddress | undefined;
  /** Whether metrics are collected. */
  readonly metrics: boolean;
  /** Begins with `/` and does not end with one; may be empty. */
  readonly pathPrefix: string;
  readonly workerCount: number;
  /** The memory limit of each worker: of the whole process, not only the heap. */
  readonly workerMemoryBytes: number;
  readonly store: StoreOptions;
  readonly token: TokenOptions;
  readonly upstream: UpstreamOptions;
  readonly answers: AnswerOptions;
  readonly eras: EraOptions;
  readonly shares: ShareOptions;
  readonly connections: ConnectionOptions;
  /** Exact origins, such as `https://app.example`. */
  readonly allowedOrigins: readonly string[];
  /** `host` or `host:port`, lower-case; empty: decided by the listen address (decisions 2.2). */
  readonly allowedHosts: readonly string[];
  readonly bodyBytesMax: number;
  /** Where records of sessions are kept: `process` outlives a worker, `store` also the gateway. */
  readonly sessionDirectory: 'process' | 'store' | 'none';
  readonly sessionIdleTimeoutMs: number;
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  readonly accessLog: boolean;
  /** How long a replaced worker may take to finish its requests in flight. */
  readonly reloadTimeoutMs: number;
  /** How long the health check announces a drain before it begins. */
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
  /** Silence of a worker's event loop after which the worker is replaced; 0: never. */
  readonly workerHangTimeoutMs: number;
  readonly traces: TraceOptions | undefined;
  /** Where the ids of HTTP requests come from. */
  readonly requestIds: 'make' | 'trust' | 'off';
  /** How long a caller may read nothing of its response. */
  readonly slowReaderTimeoutMs: number;
}
