// Which `Host` and `Origin` headers are accepted (S02, X01; specification 2.2), against DNS rebinding. Verdicts are cached, because
// nearly all requests have the same host.
import { HTTP_TOKEN, isHttpToken, isOwnHeader } from './http-token.js';
import { refusals, type Refusal } from './refusals.js';
import { limits } from './limits.js';

/** The most characters of a header value that is cached; real clients send short ones. */
export const REMEMBERED_HEADER_CHARS_MAX = 256;

/** The most hosts whose verdicts are cached, because callers can invent any number. Then all verdicts are forgotten. */
export const HOST_VERDICTS_MAX = 1_024;

export interface HostPolicyOptions {
  /** The host that the listener is bound to. If it is loopback, callers must name a loopback host. */
  readonly listenHost: string;
  /** Hosts that are accepted: `host` or `host:port`, in lower case. If there are any, no other is accepted. */
  readonly allowedHosts: readonly string[];
  /** Exact origins that are accepted. */
  readonly allowedOrigins: readonly string[];
  /** Whether the listener serves pages itself, which are then accepted as origins. */
  readonly areOwnPagesAllowed?: boolean;
}

const CORS_ALLOW_HEADERS = [
  ...['authorization', 'content-type', 'accept', 'mcp-session-id'],
  ...['mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'],
];
/** The headers of mirrored parameters (MCP 2026-07-28). */
const PARAM_HEADER = new RegExp(`^mcp-param-${HTTP_TOKEN}$`);
/** Headers that pages may read. The challenge names where a page gets a token. */
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

  /** Whether callers cannot choose the host: only loopback or allowed hosts are accepted. */
  get isHostTrusted(): boolean {
    return this.#isLoopbackOnly || this.#allowedHosts.size > 0;
  }

  /** Why a request is refused; `undefined` if host and origin are both accepted. */
  check(host: string, origin: string): Refusal | undefined {
    if (!(this.#verdicts.get(host) ?? this.#judgeHost(host))) return refusals.hostRefused;
    if (origin !== '' && !this.#isOriginAllowed(origin, host)) return refusals.originRefused;
    return undefined;
  }

  /** The headers for a page of an allowed origin: name, value, … */
  corsHeaders(origin: string): readonly string[] {
    return ['access-control-allow-origin', origin, 'access-control-expose-headers', EXPOSED_HEADERS, 'vary', 'origin'];
  }

  /**
   * The headers of the response to a preflight request: name, value, …
   * @param requested the `access-control-request-headers`. All that a config may have forwarded are allowed, because a preflight does not
   *   tell whose config applies.
   * @param methods that pages may use.
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
    // After DNS rebinding, a page's own host is the requested one, which proves nothing unless the host is trusted.
    if (this.#areOwnPagesAllowed && this.isHostTrusted && authority.toLowerCase() === host.toLowerCase()) return true;
    return isLoopbackName(withoutPort(authority.toLowerCase())) && isLoopbackName(withoutPort(host.toLowerCase()));
  }
}

/** The host, if the request is refused because of its host; otherwise `undefined`. */
export function refusedHost(refusal: Refusal, host: string): string | undefined {
  return refusal === refusals.hostRefused ? host : undefined;
}

/** The requested headers that may be forwarded to a backend, up to `mirroredParamsMax`. */
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
