// Where the connections to one origin lead, and how to open a socket. Cold path.
import { connect as connectPlain, isIP, type OnReadOpts, type Socket } from 'node:net';
import {
  connect as connectTls,
  type ConnectionOptions,
  type SecureContext,
  createSecureContext,
  rootCertificates,
} from 'node:tls';
import type { Names } from './names/names.js';
import type { OutboundProxy } from './names/outbound-proxy.js';
import type { ReadScheduler } from './read-scheduler.js';
import { dropOldest, KIB } from '../shared/index.js';

/** TLS sessions kept per worker, one per origin. Beyond that, the oldest is dropped. */
export const TLS_SESSIONS_MAX = 4_096;
/** A larger TLS session is not kept. */
export const TLS_SESSION_BYTES_MAX = 16 * KIB;
/** How long a TLS session may be resumed, without another check of the certificate. */
export const TLS_SESSION_MS_MAX = 3_600_000;

interface KeptTlsSession {
  readonly session: Buffer;
  readonly keptAtMs: number;
}

/** Keeps the last TLS session with each origin, so that the next connection needs no full handshake. */
export class TlsSessions {
  readonly #kept = new Map<string, KeptTlsSession>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#kept.size;
  }

  find(origin: string): Buffer | undefined {
    const kept = this.#kept.get(origin);
    if (kept === undefined) return undefined;
    if (this.#nowMs() - kept.keptAtMs < TLS_SESSION_MS_MAX) return kept.session;
    this.#kept.delete(origin);
    return undefined;
  }

  keep(origin: string, session: Buffer): void {
    if (session.length > TLS_SESSION_BYTES_MAX) return;
    this.#kept.delete(origin);
    dropOldest(this.#kept, TLS_SESSIONS_MAX);
    this.#kept.set(origin, { session, keptAtMs: this.#nowMs() });
  }

  drop(origin: string): void {
    this.#kept.delete(origin);
  }
}

let lastContext: { readonly pem: string; readonly context: SecureContext } | undefined;

/** The TLS settings, made once, because parsing takes long. @param pem certificate authorities to trust besides those of Node.js. */
export function secureContextFor(pem: string | undefined): SecureContext | undefined {
  if (pem === undefined) return undefined;
  if (lastContext?.pem !== pem) lastContext = { pem, context: createSecureContext({ ca: [...rootCertificates, pem] }) };
  return lastContext.context;
}

export interface ConnectionDependencies {
  /** The time for look-up, all addresses and TLS together. */
  readonly connectTimeoutMs: number;
  readonly names: Names;
  readonly tlsSessions: TlsSessions;
  /** The certificate authorities to trust; by default, those of Node.js. */
  readonly secureContext?: SecureContext | undefined;
  readonly readScheduler: ReadScheduler;
}

export class ConnectionTarget {
  readonly origin: string;
  readonly dependencies: ConnectionDependencies;
  readonly isTls: boolean;
  /** The host to connect to, the origin's or the proxy's: a name, or an address without brackets. */
  readonly host: string;
  readonly proxy: OutboundProxy | undefined;
  readonly #port: number;
  readonly #originHost: string;
  /** The origin's `host:port`, for the proxy. */
  readonly authority: string;

  constructor(origin: string, dependencies: ConnectionDependencies) {
    const { hostname, protocol, port } = new URL(origin);
    this.origin = origin;
    this.dependencies = dependencies;
    this.isTls = protocol === 'https:';
    this.#originHost = hostname.replace(/^\[(.*)\]$/, '$1');
    const originPort = Number(port) || (this.isTls ? 443 : 80);
    this.authority = `${hostname}:${originPort}`;
    const { proxy } = dependencies.names;
    this.proxy = this.isTls && proxy?.appliesTo(this.#originHost, originPort) === true ? proxy : undefined;
    this.host = this.proxy?.host ?? this.#originHost;
    this.#port = this.proxy?.port ?? originPort;
  }

  get isHostName(): boolean {
    return isIP(this.host) === 0;
  }

  open(address: string, onread: OnReadOpts): Socket {
    const common = { host: address, port: this.#port, noDelay: true };
    if (this.proxy !== undefined) return connectPlain(common);
    return this.isTls ? this.#openTls({ ...common, onread }) : connectPlain({ ...common, onread });
  }

  /** Begins TLS with the origin through the proxy's tunnel. @param onRead returns false to stop the reads. */
  startTls(proxied: Socket, onRead: (read: Buffer) => boolean): Socket {
    const socket = this.#openTls({ socket: proxied, host: this.#originHost });
    socket.on('data', (read: Buffer) => {
      if (!onRead(read)) socket.pause();
    });
    return socket;
  }

  #openTls(connection: ConnectionOptions & { onread?: OnReadOpts }): Socket {
    const options: ConnectionOptions = { ...connection, ALPNProtocols: ['http/1.1'] };
    const { tlsSessions, secureContext } = this.dependencies;
    if (secureContext !== undefined) options.secureContext = secureContext;
    const session = tlsSessions.find(this.origin);
    if (session !== undefined) options.session = session;
    if (isIP(this.#originHost) === 0) options.servername = this.#originHost.replace(/\.$/, '');
    const socket = connectTls(options);
    socket.on('session', (next: Buffer) => tlsSessions.keep(this.origin, next));
    return socket;
  }
}
