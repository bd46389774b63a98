// Checks before everything else: Host and Origin (403), repeated headers (400), rate (429), token (401), then whether path
// and method exist (404, 405), role (403), and overload (503). The token is verified before the rate is counted, because
// requests are counted by subject, or else by address. Without a valid token, nothing is revealed about paths.
import type { FastifyRequest } from 'fastify';
import type { TokenVerifier, Verified } from '../../auth/index.js';
import type { Overload } from '../../fair/index.js';
import { refusedHost, type HostPolicy, tokenRefusals, type Refusal } from '../../shared/index.js';
import { METADATA_PATH, metadataCorsHeaders, type ProtectedResource, type RequestOrigin } from '../../edge/index.js';
import { isRoleEnough, type Role } from '../../config/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';

const ROLE_MISSING = 'role-missing';

/** The refusal, with a challenge as in RFC 6750. @param has the caller's role; `undefined` for none. */
export function roleRefusal(required: Role, has: Role | undefined): Refusal<typeof ROLE_MISSING> {
  const message = `This requires the role ${required}, but the token has ${has === undefined ? 'none' : `the role ${has}`}`;
  const challenge = `error="insufficient_scope", error_description="This requires the role ${required}"`;
  return {
    ...{ code: ROLE_MISSING, status: 403, message, contentType: 'application/json' },
    body: JSON.stringify({ detail: message }),
    headers: ['www-authenticate', `Bearer realm="switchyard", ${challenge}`],
  };
}

const ALLOWED_METHODS = 'GET, POST, PUT, PATCH, DELETE, OPTIONS';

/** Headers that a request may have once: of a repeated one, two programs on the path might use different copies. */
const SINGLE_HEADERS = new Set(['host', 'content-length', 'authorization', 'mcp-session-id']);

export interface AdmissionParts {
  readonly hosts: HostPolicy;
  readonly tokens: TokenVerifier;
  readonly resource: ProtectedResource;
  readonly rates: RateLimiter;
  readonly overload: Overload;
}

export class ControlPlaneAdmission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Throws if the host or origin is not allowed, or a header must not be repeated. */
  checkOrigin(request: FastifyRequest): void {
    const { host = '', origin = '' } = request.headers;
    // Pages of any origin may read the metadata that says where to get a token.
    const refusal = this.#parts.hosts.check(host, isMetadata(request) ? '' : origin);
    if (refusal !== undefined) throw refusedBy(refusal, { host: refusedHost(refusal, host) });
    const repeated = repeatedHeader(request.raw.rawHeaders);
    if (repeated !== undefined) throw new ControlPlaneFault('head-ambiguous', `Send ${repeated} once`);
  }

  /** Throws if the request is refused. On routes that are not open, it then has a subject. */
  async checkCaller(request: FastifyRequest): Promise<void> {
    const { isOpen, isUncounted } = request.routeOptions.config;
    const verified: Verified | undefined =
      isOpen === true ? undefined : await this.#parts.tokens.verify(request.headers.authorization ?? '');
    const subject = verified?.kind === 'subject' ? verified.subject : undefined;
    const counted = subject === undefined ? `a ${request.ip}` : `s ${subject}`;
    const waitS = isUncounted === true ? 0 : this.#parts.rates.admit(counted);
    if (waitS > 0)
      throw new ControlPlaneFault('rate-limited', `Too many requests: try again in ${waitS} s`, { retryAfterS: waitS });
    if (verified?.kind === 'refused') {
      throw refusedBy(this.#withChallenge(request, tokenRefusals[verified.reason]), { why: verified.cause });
    }
    if (verified === undefined) return;
    request.subject = verified.subject;
    request.caller = verified.roleAndTeams && { subject: verified.subject, ...verified.roleAndTeams };
  }

  checkRole(request: FastifyRequest): void {
    const { caller, routeOptions } = request;
    const { role = 'any' } = routeOptions.config;
    if (caller === undefined || role === 'any' || isRoleEnough(caller.role, role)) return;
    throw refusedBy(this.#withChallenge(request, roleRefusal(role, caller.role)));
  }

  /** Adds to the refusal where clients get a token, if that is known. */
  #withChallenge<Code extends string>(request: FastifyRequest, refusal: Refusal<Code>): Refusal<Code> {
    return this.#parts.resource.challenge(refusal, resourcePath(request), this.#originOf(request));
  }

  /** The protected resource's metadata as JSON; `undefined` if none is published. */
  metadata(request: FastifyRequest): string | undefined {
    return this.#parts.resource.metadata(resourcePath(request), this.#originOf(request));
  }

  #originOf({ headers: { host = '' } }: FastifyRequest): RequestOrigin {
    return { isTls: false, host, isHostTrusted: this.#parts.hosts.isHostTrusted };
  }

  /** Throws under overload. Open routes are exempt, because they cost next to nothing. */
  checkLoad({ method, routeOptions }: FastifyRequest): void {
    const refusal = routeOptions.config.isOpen === true ? undefined : this.#parts.overload.requestRefusalOf(method);
    if (refusal !== undefined) throw refusedBy(refusal);
  }

  /** Headers that let pages of the request's origin read the response: name, value, … */
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

/** Path of the MCP endpoint in the request, without a slash at its end; `''` if the path is of the program as a whole. */
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

/** The dataplane's refusal in the form of this interface: the dataplane sends some of its refusals as JSON-RPC errors. */
function refusedBy(
  { code, status, message, headers: [name = '', value = ''] }: Refusal<Refusal['code'] | typeof ROLE_MISSING>,
  forLog: { readonly why?: string | undefined; readonly host?: string | undefined } = {},
): ControlPlaneFault {
  const headers = name === '' ? {} : { [name]: value };
  return new ControlPlaneFault(code, message, { status, outcome: 'refused', headers, ...forLog });
}

// Counts requests per minute, by subject or address. A minute begins with the first request.

/** Subjects and addresses that are counted at once. Beyond that, the oldest starts again from zero. */
const RATE_LIMIT_KEYS_MAX = 100_000;

const WINDOW_MS = 60_000;

export class RateLimiter {
  readonly #countMax: number;
  readonly #nowMs: () => number;
  readonly #keysMax: number;
  /** The windows by key, in the order in which they end. */
  readonly #windows = new Map<string, { readonly endsAtMs: number; count: number }>();

  /** @param countMax 0: unlimited. */
  constructor(countMax: number, nowMs: () => number = () => performance.now(), keysMax: number = RATE_LIMIT_KEYS_MAX) {
    this.#countMax = countMax;
    this.#nowMs = nowMs;
    this.#keysMax = keysMax;
  }

  /** @returns 0 if the request is admitted, else the seconds until one will be. */
  admit(key: string): number {
    if (this.#countMax === 0) return 0;
    const nowMs = this.#nowMs();
    const window = this.#windows.get(key);
    if (window === undefined || window.endsAtMs <= nowMs) {
      this.#begin(key, nowMs);
      return 0;
    }
    if (window.count >= this.#countMax) return Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1_000));
    window.count += 1;
    return 0;
  }

  #begin(key: string, nowMs: number): void {
    this.#windows.delete(key);
    for (const [candidate, { endsAtMs }] of this.#windows) {
      if (endsAtMs > nowMs && this.#windows.size < this.#keysMax) break;
      this.#windows.delete(candidate);
    }
    this.#windows.set(key, { endsAtMs: nowMs + WINDOW_MS, count: 1 });
  }
}
