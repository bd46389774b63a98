// The closed list of faults of backends, with the texts for callers, which never contain a URL, host or port (specification 2.6). Also
// names the backends that are missing from a result.
import { MODERN_PROTOCOL_VERSION, readVersionRefusal, versionRefusalOf } from '../mcp/index.js';
import { isObject, limits } from '../shared/index.js';
import type { UpstreamTarget } from '../user-config/index.js';

const FAULT_REASONS = {
  'connection-refused': 'connection refused',
  'connect-timeout': 'connecting timed out',
  'name-not-resolved': 'host name not resolved',
  'address-refused': 'link-local and cloud metadata addresses are refused',
  'address-not-allowed': 'its address is not in --upstream-allowed-networks',
  'connect-failed': 'connection failed',
  'proxy-failed': 'no connection through --upstream-proxy',
  'tls-failed': 'TLS handshake failed',
  'connection-lost': 'connection lost',
  'request-invalid': 'a forwarded header cannot be sent',
  'answer-timeout': 'no response in time',
  'not-ready': 'not ready yet',
  'answer-invalid': 'invalid response',
  'answer-encoded': 'response compressed, although that was not requested: content-encoding',
  'answer-too-large': 'response too large',
  'answer-incomplete': 'stream ended without a response',
  'stream-not-resumed': 'stream ended without a response, and resuming it was refused with HTTP status',
  'answers-share-used': 'response too large for your share of memory: wait for others to finish',
  'answers-full': 'no memory for its response: too many bytes of large responses in flight',
  'lists-share-used': 'list too large for your share of memory: wait for others to finish',
  'lists-full': 'no memory for its list: too many bytes of large lists at once',
  'answer-unread': 'its response could not be read in time: too many large responses at once',
  'http-status': 'refused with HTTP status',
  redirected: 'redirects are not followed; it redirects to',
  'session-lost': 'session lost',
  'era-refused': 'it does not support this version of MCP',
  'initialize-refused': 'initialize refused',
  'initialize-unknown': 'does not support initialize; it may only speak later versions of MCP',
  'discover-refused': 'server/discover refused',
  'version-unsupported': 'protocol version not supported',
  'version-later': 'speaks only later versions of MCP',
  'plain-text-refused': 'plain-text HTTP needs --upstream-connection-mode plain-text-or-tls',
  'transport-unsupported': 'transport not supported: use STREAMABLEHTTP or SSE',
  'endpoint-missing': 'its event stream does not start with an endpoint event, as transport SSE requires',
  'endpoint-elsewhere': 'its endpoint event names another origin, which is refused',
  'stream-lost': 'its event stream ended, and its session with it',
  'id-in-use': 'another request with the same id is in flight to it',
  'secrets-off': 'its auth needs --secrets-directory',
  'secret-keys-missing': 'its auth needs --secrets-key-file',
  'secret-unreadable': 'a secret of its auth cannot be read',
  'secret-withheld': 'a secret of its auth may not be sent to its host',
  'token-refused': 'its authorization server refused the client, scope or resource of its auth: correct its auth',
  'token-unavailable': 'no access token for it: its authorization server is not responding properly; this is retried',
  'caller-token-missing': "its auth exchanges the caller's bearer token, and there is none",
  'consent-missing': 'needs your consent first',
  'list-refused': 'list refused',
  'list-cut': 'list without an end: only its beginning was read',
  'backend-busy': 'too many requests in flight to it',
  'backend-share-used': 'too many of your requests in flight to it',
  'connections-used': 'too many connections to backends',
  'connections-share-used': 'too many of your requests in flight to backends',
  'task-unreachable': "ambiguous task id: another backend's longer name is a prefix of it; rename one backend",
  'session-ended': 'session ended',
} as const;

export type UpstreamFaultKind = keyof typeof FAULT_REASONS;

export interface BackendRefusal {
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

export interface UpstreamFault {
  readonly kind: UpstreamFaultKind;
  /** Whether it is safe to send the request again: the backend cannot have received all of it. */
  readonly isUnsent: boolean;
  /** A detail for callers that some kinds have: the HTTP status, where a redirect leads, the backend's versions, or the list's method. */
  readonly detail?: string;
  /** The text and delay of a response 429 or 503, which the caller gets, and the log does not. */
  readonly refusal?: BackendRefusal;
  /** Makes a link to a page where the user, and nobody else, can fix the fault. */
  readonly makeConnectUrl?: () => string | undefined;
  /** What the log gets instead of `detail`, because callers must not see it. */
  readonly logDetail?: string;
}

export function upstreamFault(kind: UpstreamFaultKind, isUnsent = false): UpstreamFault {
  return { kind, isUnsent };
}

export function listRefusedFault(method: string): UpstreamFault {
  return { kind: 'list-refused', isUnsent: false, detail: method };
}

export function httpStatusFault(status: number): UpstreamFault {
  return { kind: 'http-status', isUnsent: false, detail: String(status) };
}

/** The fault of a redirect. @param location the value of the header; `''` if absent. @param from the target of the request. */
export function redirectFault(status: number, location: string, from: UpstreamTarget): UpstreamFault {
  const base = `${from.origin}${from.path}`;
  if (location === '' || !URL.canParse(location, base)) return httpStatusFault(status);
  const [to, asked] = [new URL(location, base), new URL(base)];
  const shown = to.pathname.slice(0, REDIRECT_PATH_CHARS_MAX);
  const path = shown.length < to.pathname.length ? `path ${shown}…` : `path ${shown}`;
  // Callers do not learn the path, which may contain a secret, but they learn of a trailing slash, the usual mistake.
  const [detail, logDetail] =
    to.origin === asked.origin
      ? [SAME_ORIGIN_TEXTS[slashDifference(asked.pathname, to.pathname)], `the ${path}`]
      : to.protocol === 'https:' && to.hostname === asked.hostname
        ? ['https', `https, ${path}`]
        : ['another origin', 'another origin'];
  return { kind: 'redirected', isUnsent: false, detail, logDetail };
}

export function initializeFault(error: Buffer): UpstreamFault {
  const parsed: unknown = error.length <= limits.upstreamRefusalBytesMax ? JSON.parse(error.toString()) : undefined;
  const code = isObject(parsed) && Number.isInteger(parsed['code']) ? { logDetail: String(parsed['code']) } : undefined;
  return { kind: 'initialize-refused', isUnsent: false, ...(readVersionRefusal(parsed) ?? code) };
}

export function versionsFault(versions: readonly string[]): UpstreamFault {
  return { ...versionRefusalOf(versions, MODERN_PROTOCOL_VERSION), isUnsent: false };
}

export function isUnauthorized({ kind, detail }: UpstreamFault): boolean {
  return kind === 'http-status' && detail === '401';
}

const UNRELATED_STATUSES: ReadonlySet<string> = new Set(['401', '403', '407', '408', '425', '429']);

/** Whether the backend refused a request because of its content, as if it did not know the method. */
export function isNotUnderstood({ kind, detail = '' }: UpstreamFault): boolean {
  return kind === 'http-status' && detail < '500' && !UNRELATED_STATUSES.has(detail);
}

const REACH_FAULTS: ReadonlySet<UpstreamFaultKind> = new Set([
  'connection-refused',
  'connect-timeout',
  'name-not-resolved',
  'connect-failed',
  'proxy-failed',
  'tls-failed',
]);

/** Whether the origin could not be reached, so that other callers' requests would fail, too. */
export function isReachFault({ kind }: UpstreamFault): boolean {
  return REACH_FAULTS.has(kind);
}

/** Whether the subject's share is used up: the origin is not at fault. */
export function isShareFault({ kind }: UpstreamFault): boolean {
  return kind === 'connections-share-used' || kind === 'backend-share-used';
}

export function faultReason({ kind, detail }: UpstreamFault): string {
  const reason = FAULT_REASONS[kind];
  if (detail === undefined) return reason;
  return kind === 'list-refused' ? `${detail} refused` : `${reason} ${detail}`;
}

export function loggedReason(fault: UpstreamFault): string {
  return faultReason(fault.logDetail === undefined ? fault : { ...fault, detail: fault.logDetail });
}

export interface UnavailableBackend {
  readonly backend: string;
  readonly reason: string;
}

/** The backend and its fault in words, with the URL where its user can fix the fault, if there is one. */
export function missingBackend(backend: string, fault: UpstreamFault): UnavailableBackend {
  const url = fault.makeConnectUrl?.();
  const reason = faultReason(fault);
  return { backend, reason: url === undefined ? reason : `${reason}: open ${url} in your browser` };
}

/** The `_meta` member of a result, if any backend is missing. Backends are sorted, so that answers are reproducible. */
export function unavailableMeta(unavailable: readonly UnavailableBackend[]): { _meta?: Record<string, unknown> } {
  if (unavailable.length === 0) return {};
  const sorted = [...unavailable].sort((one, other) => (one.backend < other.backend ? -1 : 1));
  return { _meta: { 'switchyard/unavailable': sorted } };
}

/** Characters of a redirect's path in the log and in a server's record. */
const REDIRECT_PATH_CHARS_MAX = 256;

/** By how many characters a redirect may lengthen the configured path, since each session keeps the new path. */
const MOVED_CHARS_MAX = 1_024;

/**
 * Where to send a request again after 307 or 308: another path of the same origin; `undefined` for any other redirect. With credentials,
 * which may be meant for one path only, the new path may differ only by a trailing slash.
 * @param from where the request was sent. @param configured the target before any redirect.
 */
export function movedTarget(
  status: number,
  location: string,
  from: UpstreamTarget,
  hasCredentials: boolean,
  configured = from,
): UpstreamTarget | undefined {
  const base = `${from.origin}${from.path}`;
  if ((status !== 307 && status !== 308) || location === '' || !URL.canParse(location, base)) return undefined;
  const [to, asked] = [new URL(location, base), new URL(base)];
  if (to.origin !== asked.origin || to.username !== '' || to.password !== '') return undefined;
  if (hasCredentials && slashDifference(asked.pathname, to.pathname) === 'other') return undefined;
  const path = to.pathname + to.search;
  if (path === from.path || path.length > configured.path.length + MOVED_CHARS_MAX) return undefined;
  return { origin: from.origin, path };
}

/** How one path differs from another: by a trailing slash only, or otherwise. */
type SlashDifference = 'added' | 'removed' | 'other';

const SAME_ORIGIN_TEXTS: Readonly<Record<SlashDifference, string>> = {
  added: 'the same path with a trailing slash',
  removed: 'the same path without the trailing slash',
  other: 'another path of the same server',
};

function slashDifference(asked: string, to: string): SlashDifference {
  if (to === `${asked}/`) return 'added';
  return asked === `${to}/` ? 'removed' : 'other';
}
