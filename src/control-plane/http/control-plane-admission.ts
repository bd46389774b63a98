// The first checks of a request, which `http-app.ts` calls in this order: Host and Origin (403), repeated headers (400), rate
// (429), token (401), role (403), overload (503). An unknown path or method is refused after the token, so that nobody without
// a valid one learns about paths. Requests are counted by the token's subject; without a valid token, by address.
import type { FastifyRequest } from 'fastify';
import type { TokenVerifier, TokenOutcome } from '../../auth/index.js';
import type { Overload } from '../../fair/index.js';
import { refusedHost, type HostPolicy, tokenRefusals, type Refusal } from '../../shared/index.js';
import { METADATA_PATH, metadataCorsHeaders, type ProtectedResource, type RequestOrigin } from '../../edge/index.js';
import { isRoleEnough, type Role } from '../../config/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

const ROLE_MISSING = 'role-missing';

/** The refusal for a missing role, with a challenge (RFC 6750). @param actual the caller's role; `undefined` for none. */
export function roleRefusal(required: Role, actual: Role | undefined): Refusal<typeof ROLE_MISSING> {
  const message = `This requires the role ${required}, but the token has ${actual === undefined ? 'none' : `the role ${actual}`}`;
  const challenge = `error="insufficient_scope", error_description="This requires the role ${required}"`;
  return {
    ...{ code: ROLE_MISSING, status: 403, message, contentType: 'application/json' },
    body: JSON.stringify({ detail: message }),
    headers: ['www-authenticate', `Bearer realm="switchyard", ${challenge}`],
  };
}

const ALLOWED_METHODS = 'GET, POST, PUT, PATCH, DELETE, OPTIONS';

/** Headers that a request may have only once: two programs on the path might use different copies of a repeated header. */
const SINGLE_HEADERS = new Set(['host', 'content-length', 'authorization', 'mcp-session-id']);

export interface AdmissionParts {
  readonly hosts: HostPolicy;
  readonly tokenVerifier: TokenVerifier;
  readonly protectedResource: ProtectedResource;
  readonly rateLimiter: RateLimiter;
  readonly overload: Overload;
}

export class ControlPlaneAdmission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Throws if the host or origin is not allowed, or if one of `SINGLE_HEADERS` is repeated. */
  checkHead(request: FastifyRequest): void {
    const { host = '', origin = '' } = request.headers;
    // Pages of any origin may read the metadata that says where to get a token.
    const refusal = this.#parts.hosts.check(host, isMetadata(request) ? '' : origin);
    if (refusal !== undefined) throw faultOfRefusal(refusal, { host: refusedHost(refusal, host) });
    const repeated = repeatedHeader(request.raw.rawHeaders);
    if (repeated !== undefined) throw new ControlPlaneFault('head-ambiguous', `Send ${repeated} once`);
  }

  /** Checks rate and token. Throws to refuse the request; otherwise sets its `subject` and `caller`, unless the route is open. */
  async checkCaller(request: FastifyRequest): Promise<void> {
    const { isOpen, isUncounted } = request.routeOptions.config;
    const verified: TokenOutcome | undefined =
      isOpen === true ? undefined : await this.#parts.tokenVerifier.verify(request.headers.authorization ?? '');
    const subject = verified?.kind === 'subject' ? verified.subject : undefined;
    const rateKey = subject === undefined ? `a ${request.ip}` : `s ${subject}`;
    const waitS = isUncounted === true ? 0 : this.#parts.rateLimiter.admit(rateKey);
    if (waitS > 0)
      throw new ControlPlaneFault('rate-limited', `Too many requests: try again in ${waitS} s`, { retryAfterS: waitS });
    if (verified?.kind === 'refused') {
      throw faultOfRefusal(this.#withChallenge(request, tokenRefusals[verified.reason]), { why: verified.cause });
    }
    if (verified === undefined) return;
    request.subject = verified.subject;
    request.caller = verified.roleAndTeams && { subject: verified.subject, ...verified.roleAndTeams };
  }

  checkRole(request: FastifyRequest): void {
    const { caller, routeOptions } = request;
    const { role = 'any' } = routeOptions.config;
    if (caller === undefined || role === 'any' || isRoleEnough(caller.role, role)) return;
    throw faultOfRefusal(this.#withChallenge(request, roleRefusal(role, caller.role)));
  }

  /** Adds a challenge to the refusal: where clients get a token, if the gateway knows that. */
  #withChallenge<Code extends string>(request: FastifyRequest, refusal: Refusal<Code>): Refusal<Code> {
    return this.#parts.protectedResource.challenge(refusal, resourcePath(request), this.#originOf(request));
  }

  /** The protected resource's metadata as JSON; `undefined` if none is published. */
  metadata(request: FastifyRequest): string | undefined {
    return this.#parts.protectedResource.metadata(resourcePath(request), this.#originOf(request));
  }

  #originOf({ headers: { host = '' } }: FastifyRequest): RequestOrigin {
    return { isTls: false, host, isHostTrusted: this.#parts.hosts.isHostTrusted };
  }

  /** Throws under overload. Open routes are exempt, because they cost next to nothing. */
  checkLoad({ method, routeOptions }: FastifyRequest): void {
    const refusal = routeOptions.config.isOpen === true ? undefined : this.#parts.overload.requestRefusalOf(method);
    if (refusal !== undefined) throw faultOfRefusal(refusal);
  }

  /** Headers that let pages of the request's origin read the response: names and values in turn. */
  corsHeaders(request: FastifyRequest): readonly string[] {
    const { origin = '', 'access-control-request-headers': asked = '' } = request.headers;
    if (isMetadata(request)) return metadataCorsHeaders;
    if (origin === '') return [];
    return [
      ...this.#parts.hosts.corsHeaders(origin),
      ...(isPreflight(request) ? this.#parts.hosts.preflightHeaders(asked, ALLOWED_METHODS) : []),
    ];
  }
}

function isMetadata({ url }: FastifyRequest): boolean {
  return url.startsWith(METADATA_PATH);
}

/** The path of the requested MCP endpoint, or of the one whose metadata is requested, without a slash at its end; otherwise `''`. */
function resourcePath({ url }: FastifyRequest): string {
  const [path = ''] = url.split('?', 1);
  const resource = path.startsWith(METADATA_PATH) ? path.slice(METADATA_PATH.length) : path;
  return /^((?:\/servers\/[^/]+)?\/mcp)\/?$/.exec(resource)?.[1] ?? '';
}

export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined;
}

function repeatedHeader(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    if (!SINGLE_HEADERS.has(name)) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

/** The fault for a refusal. The refusal's own body is not sent: it may be a JSON-RPC error, for clients of MCP. */
function faultOfRefusal(
  { code, status, message, headers: [name = '', value = ''] }: Refusal<Refusal['code'] | typeof ROLE_MISSING>,
  forLog: { readonly why?: string | undefined; readonly host?: string | undefined } = {},
): ControlPlaneFault {
  const headers = name === '' ? {} : { [name]: value };
  return new ControlPlaneFault(code, message, { status, outcome: 'refused', headers, ...forLog });
}

// Counts requests per minute, by subject or address. A minute begins with the first request.

/** The most subjects and addresses that are counted at once. Beyond that, the oldest starts again from zero. */
const RATE_LIMIT_KEYS_MAX = 100_000;

const RATE_WINDOW_MS = 60_000;

export class RateLimiter {
  readonly #countMax: number;
  readonly #nowMs: () => number;
  readonly #keysMax: number;
  /** The windows by key, in the order in which they end. */
  readonly #windows = new Map<string, { readonly endsAtMs: number; count: number }>();

  /** @param countMax the most requests per minute for one key; 0 for no limit. */
  constructor(countMax: number, nowMs: () => number = () => performance.now(), keysMax: number = RATE_LIMIT_KEYS_MAX) {
    this.#countMax = countMax;
    this.#nowMs = nowMs;
    this.#keysMax = keysMax;
  }

  /** Counts a request. @returns 0 if it is admitted; otherwise after how many seconds to try again. */
  admit(key: string): number {
    if (this.#countMax === 0) return 0;
    const nowMs = this.#nowMs();
    const window = this.#windows.get(key);
    if (window === undefined || window.endsAtMs <= nowMs) {
      this.#beginWindow(key, nowMs);
      return 0;
    }
    if (window.count >= this.#countMax) return Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1_000));
    window.count += 1;
    return 0;
  }

  #beginWindow(key: string, nowMs: number): void {
    this.#windows.delete(key);
    for (const [candidate, { endsAtMs }] of this.#windows) {
      if (endsAtMs > nowMs && this.#windows.size < this.#keysMax) break;
      this.#windows.delete(candidate);
    }
    this.#windows.set(key, { endsAtMs: nowMs + RATE_WINDOW_MS, count: 1 });
  }
}
