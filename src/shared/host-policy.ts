// Which `Host` and `Origin` headers are accepted (S02, X01; specification 2.2): the protection against DNS rebinding. The verdict for a host is
// cached, because nearly all requests carry the same one.
import { HTTP_TOKEN, isHttpToken, isOwnHeader } from './http-token.js';
import { refusals, type Refusal } from './refusals.js';
import { limits } from './limits.js';

/** Characters of a header value whose parsed form is cached: real clients send short values. */
export const REMEMBERED_HEADER_CHARS_MAX = 256;

/** Different `host` headers whose verdict is cached, per worker; callers can invent any number. Beyond that, all verdicts are forgotten. */
export const HOST_VERDICTS_MAX = 1_024;

export interface HostPolicyOptions {
  /** The listener's host: callers of a loopback listener must name a loopback host. */
  readonly listenHost: string;
  /** `host` or `host:port`, lower-case. If there are any, no other host is accepted. */
  readonly allowedHosts: readonly string[];
  /** Exact origins. */
  readonly allowedOrigins: readonly string[];
  /** Whether pages from the requested host itself are allowed: for a listener that serves pages. */
  readonly areOwnPagesAllowed?: boolean;
}

const CORS_ALLOW_HEADERS = [
  ...['authorization', 'content-type', 'accept', 'mcp-session-id'],
  ...['mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'],
];
/** The headers of mirrored parameters (MCP 2026-07-28); each tool chooses the rest of the name. */
const PARAM_HEADER = new RegExp(`^mcp-param-${HTTP_TOKEN}$`);
/** The session id, and the challenge that names where a page gets a token. */
const EXPOSED_HEADERS = 'mcp-session-id, www-authenticate';
const PREFLIGHT_AGE_S = 86_400;

export class HostPolicy {
  readonly #isLoopbackOnly: boolean;
  readonly #allowedHosts: ReadonlySet<string>;
  readonly #allowedOrigins: ReadonlySet<string>;
  readonly #areOwnPagesAllowed: boolean;
  readonly #verdicts = new Map<string, boolean>();

  constructor(options: HostPolicyOptions) {
    this.#isLoopbackOnly = isLoopbackName(options.listenHost);
    this.#allowedHosts = new Set(options.allowedHosts);
    this.#allowedOrigins = new Set(options.allowedOrigins);
    this.#areOwnPagesAllowed = options.areOwnPagesAllowed === true;
  }

  /** Whether accepted requests can name only a loopback or an allowed host, so that their callers cannot choose it. */
  get isHostTrusted(): boolean {
    return this.#isLoopbackOnly || this.#allowedHosts.size > 0;
  }

  /** @returns why the request is refused, or `undefined`. */
  check(host: string, origin: string): Refusal | undefined {
    if (!(this.#verdicts.get(host) ?? this.#judgeHost(host))) return refusals.hostRefused;
    if (origin !== '' && !this.#isOriginAllowed(origin, host)) return refusals.originRefused;
    return undefined;
  }

  /** Headers of a response to a page of an allowed origin: name, value, … */
  corsHeaders(origin: string): readonly string[] {
    return ['access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED_HEADERS, 'vary', 'origin'];
  }

  /**
   * Headers of the response to a preflight request: name, value, …
   * @param requested the `access-control-request-headers`: those that could reach a backend are allowed. Which of them do is up to the
   *   config of the caller, who is not known yet.
   * @param methods the methods that pages may use.
   */
  preflightHeaders(requested: string, methods = 'GET, POST, DELETE, OPTIONS'): readonly string[] {
    return [
      'access-control-allow-methods',
      methods,
      'access-control-allow-headers',
      [...new Set([...CORS_ALLOW_HEADERS, ...forwardableIn(requested)])].join(', '),
      'access-control-max-age',
      String(PREFLIGHT_AGE_S),
    ];
  }

  #judgeHost(asWritten: string): boolean {
    const host = asWritten.toLowerCase();
    const name = withoutPort(host);
    const isListed = this.#allowedHosts.has(host) || this.#allowedHosts.has(name);
    const isAllowed = this.#allowedHosts.size > 0 ? isListed : !this.#isLoopbackOnly || isLoopbackName(name);
    if (asWritten.length > REMEMBERED_HEADER_CHARS_MAX) return isAllowed;
    if (this.#verdicts.size >= HOST_VERDICTS_MAX) this.#verdicts.clear();
    this.#verdicts.set(asWritten, isAllowed);
    return isAllowed;
  }

  #isOriginAllowed(origin: string, host: string): boolean {
    if (this.#allowedOrigins.has(origin)) return true;
    const authority = /^https?:\/\/([^/]+)$/.exec(origin)?.[1];
    if (authority === undefined) return false;
    // After DNS rebinding, a page's own host equals the requested host, so that proves nothing unless the host is trusted.
    if (this.#areOwnPagesAllowed && this.isHostTrusted && authority.toLowerCase() === host.toLowerCase()) return true;
    return isLoopbackName(withoutPort(authority.toLowerCase())) && isLoopbackName(withoutPort(host.toLowerCase()));
  }
}

/** The host, for the log, if it is why the request is refused. */
export function refusedHost(refusal: Refusal, host: string): string | undefined {
  return refusal === refusals.hostRefused ? host : undefined;
}

/** The requested headers that could reach a backend; at most as many as one request may have. */
function forwardableIn(requested: string): readonly string[] {
  const names = requested.split(',').map((name) => name.trim().toLowerCase());
  const forwardable = names.filter((name) => PARAM_HEADER.test(name) || (isHttpToken(name) && !isOwnHeader(name)));
  return forwardable.slice(0, limits.mirroredParamsMax);
}

function withoutPort(authority: string): string {
  return authority.replace(/:\d*$/, '');
}

function isLoopbackName(name: string): boolean {
  const bare = name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name;
  return bare === 'localhost' || bare === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(bare);
}
