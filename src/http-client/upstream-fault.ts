// The closed list of ways in which a backend can fail, with the texts for callers, which never contain a URL, host or port (specification 2.6),
// and how a result names the backends that are missing from it.
import { MODERN_PROTOCOL_VERSION, readVersionRefusal, versionRefusalOf } from '../mcp/index.js';
import { isObject, limits } from '../shared/index.js';
import type { UpstreamTarget } from '../user-config/index.js';

/** Texts for callers, in error messages and in `_meta["switchyard/unavailable"]`. */
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

/** What a backend has stated in a temporary refusal. */
export interface BackendRefusal {
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

/** A failure of one exchange with a backend. */
export interface UpstreamFault {
  readonly kind: UpstreamFaultKind;
  /** True when the backend cannot have received the whole request, so that it is safe to send it again. */
  readonly isUnsent: boolean;
  /** For some kinds: the backend's HTTP status, the redirect's destination, the versions that the backend names, the list's method. */
  readonly detail?: string;
  /** The text and delay of a temporary refusal (429, 503), for the caller only: not logged. */
  readonly refusal?: BackendRefusal;
  /** Makes a link at which the user can fix the fault: a new one each time, for that user only. @returns `undefined` for none. */
  readonly connect?: () => string | undefined;
  /** Replaces `detail` in the log: contains what callers should not see. */
  readonly logDetail?: string;
}

/** @param isUnsent true only if the backend certainly cannot have received the whole request. */
export function upstreamFault(kind: UpstreamFaultKind, isUnsent = false): UpstreamFault {
  return { kind, isUnsent };
}

/** @param method the method that requests the list. */
export function listRefusedFault(method: string): UpstreamFault {
  return { kind: 'list-refused', isUnsent: false, detail: method };
}

export function httpStatusFault(status: number): UpstreamFault {
  return { kind: 'http-status', isUnsent: false, detail: String(status) };
}

/** @param location the header, `''` when absent. @param from the requested target. */
export function redirectFault(status: number, location: string, from: UpstreamTarget): UpstreamFault {
  const detail = describeRedirect(location, from);
  const logDetail = redirectPath(location, from);
  return detail === '' ? httpStatusFault(status) : { kind: 'redirected', isUnsent: false, detail, logDetail };
}

/** The fault for an error response to `initialize`. @param error as JSON. */
export function initializeFault(error: Buffer): UpstreamFault {
  const parsed: unknown = error.length <= limits.upstreamRefusalBytesMax ? JSON.parse(error.toString()) : undefined;
  const code = isObject(parsed) && Number.isInteger(parsed['code']) ? { logDetail: String(parsed['code']) } : undefined;
  return { kind: 'initialize-refused', isUnsent: false, ...(readVersionRefusal(parsed) ?? code) };
}

/** The fault of a backend that refuses the modern version and names these. */
export function versionsFault(versions: readonly string[]): UpstreamFault {
  return { ...versionRefusalOf(versions, MODERN_PROTOCOL_VERSION), isUnsent: false };
}

/** Whether the backend has rejected the credentials that it was sent (401). */
export function isUnauthorized({ kind, detail }: UpstreamFault): boolean {
  return kind === 'http-status' && detail === '401';
}

/** HTTP statuses that say nothing about the request itself, only about who asks, how often, or the backend's state. */
const UNRELATED_STATUSES: ReadonlySet<string> = new Set(['401', '403', '407', '408', '425', '429']);

/** Whether the backend has refused a request because of its content, as one does that does not know the method. */
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

/** Whether no connection could be made: a fault of the origin, whichever caller's request it was. */
export function isReachFault({ kind }: UpstreamFault): boolean {
  return REACH_FAULTS.has(kind);
}

/** Whether this subject's own share was used up: a fault of the subject, not of the origin. */
export function isShareFault({ kind }: UpstreamFault): boolean {
  return kind === 'connections-share-used' || kind === 'backend-share-used';
}

/** The text for callers; it contains no address. */
export function faultReason({ kind, detail }: UpstreamFault): string {
  const reason = FAULT_REASONS[kind];
  if (detail === undefined) return reason;
  return kind === 'list-refused' ? `${detail} refused` : `${reason} ${detail}`;
}

/** The text for the log. */
export function loggedReason(fault: UpstreamFault): string {
  return faultReason(fault.logDetail === undefined ? fault : { ...fault, detail: fault.logDetail });
}

/** A backend that is missing from a result (specification 2.3). */
export interface UnavailableBackend {
  readonly backend: string;
  readonly reason: string;
}

/** The missing backend, with the reason, and the URL where its user can fix that, if there is one. */
export function missingBackend(backend: string, fault: UpstreamFault): UnavailableBackend {
  const url = fault.connect?.();
  const reason = faultReason(fault);
  return { backend, reason: url === undefined ? reason : `${reason}: open ${url} in your browser` };
}

/** The `_meta` member of a result, or nothing when every backend took part. Sorted by name, so that answers are reproducible. */
export function unavailableMeta(unavailable: readonly UnavailableBackend[]): { _meta?: Record<string, unknown> } {
  if (unavailable.length === 0) return {};
  const sorted = [...unavailable].sort((one, other) => (one.backend < other.backend ? -1 : 1));
  return { _meta: { 'switchyard/unavailable': sorted } };
}

/** Characters of a path that a backend redirects to, in the log and in a server's record. The rest is cut off. */
const REDIRECT_PATH_CHARS_MAX = 256;

/** Where a redirect leads, for callers: without the path, which may contain a secret, but with the usual mistake, a trailing slash. */
function describeRedirect(location: string, from: UpstreamTarget): string {
  return redirectText(location, from, (_path, slash) => ({ sameOrigin: SAME_ORIGIN_TEXTS[slash], overTls: 'https' }));
}

/** Characters by which a redirect may lengthen the configured path; each session keeps the new path. */
const MOVED_CHARS_MAX = 1_024;

/**
 * Where to send a request again that was redirected with its method and body (307, 308): another path of the same origin. With credentials,
 * only the same path with or without a trailing slash, since the credentials may be meant for this path alone.
 * @param from where it was sent. @param configured where it would be sent without redirects. @returns `undefined` for nowhere.
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

/** How the path of the redirect differs from the requested one, if only by a trailing slash. */
type SlashDifference = 'added' | 'removed' | 'other';

const SAME_ORIGIN_TEXTS: Readonly<Record<SlashDifference, string>> = {
  added: 'the same path with a trailing slash',
  removed: 'the same path without the trailing slash',
  other: 'another path of the same server',
};

/** Like `describeRedirect`, with the path: for operators, or for the user who gave the URL. */
function redirectPath(location: string, from: UpstreamTarget): string {
  return redirectText(location, from, (path) => ({ sameOrigin: `the path ${path}`, overTls: `https, path ${path}` }));
}

interface RedirectTexts {
  /** For a redirect within the same origin. */
  readonly sameOrigin: string;
  /** For a redirect to the same host over TLS. */
  readonly overTls: string;
}

/** @param location the header, as received. @param from the requested target. @returns `''` when it is absent or not a URL. */
function redirectText(
  location: string,
  from: UpstreamTarget,
  textsOf: (path: string, slash: SlashDifference) => RedirectTexts,
): string {
  const base = `${from.origin}${from.path}`;
  if (location === '' || !URL.canParse(location, base)) return '';
  const to = new URL(location, base);
  const asked = new URL(base);
  const path = to.pathname.slice(0, REDIRECT_PATH_CHARS_MAX);
  const shownPath = path.length < to.pathname.length ? `${path}…` : path;
  const texts = textsOf(shownPath, slashDifference(asked.pathname, to.pathname));
  if (to.origin === asked.origin) return texts.sameOrigin;
  if (to.protocol === 'https:' && to.hostname === asked.hostname) return texts.overTls;
  return 'another origin';
}

function slashDifference(asked: string, to: string): SlashDifference {
  if (to === `${asked}/`) return 'added';
  return asked === `${to}/` ? 'removed' : 'other';
}
