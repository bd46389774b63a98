// The rules of the transport (specification 2.1, 2.2) for every HTTP server: the checks of a request's headers before a session is looked
// up; the era of a message; and the mirror, the headers in which a caller of MCP 2026-07-28 repeats parts of its body. Hot path.
import { limits, refusals, type Refusal, REMEMBERED_HEADER_CHARS_MAX } from '../shared/index.js';
import { type ParsedClientMessage, type Era, MODERN_PROTOCOL_VERSION, LEGACY_VERSIONS } from '../mcp/index.js';
import { type AcceptedTypes, type ExchangeRequest, type MirrorHeaders, NO_MIRROR } from './exchange.js';

/** The most `accept` headers that are cached, since callers can invent any number. When there are more, all are forgotten. */
export const ACCEPT_HEADERS_MAX = 256;

export interface TransportHead {
  readonly accept: string;
  readonly contentType: string;
  readonly isAmbiguous: boolean;
  readonly isMirrorTooLarge: boolean;
}

/** Checks the headers. @returns what the caller accepts, or why the request is refused. */
export function checkTransport(
  { method, sessionId, mirror: { protocolVersion } }: Pick<ExchangeRequest, 'method' | 'sessionId' | 'mirror'>,
  head: TransportHead,
): AcceptedTypes | Refusal {
  const accepted = acceptedTypesOf(head.accept);
  if (method === 'GET' && (accepted === undefined || accepted === 'json')) return refusals.streamNotAcceptable;
  if (method === 'POST') {
    if (accepted === undefined) return refusals.notAcceptable;
    if (!isJson(head.contentType)) return refusals.contentTypeUnsupported;
  }
  if (head.isAmbiguous) return refusals.headAmbiguous;
  if (head.isMirrorTooLarge) return refusals.mirrorTooLarge;
  // The version is checked only in a session: on `initialize`, clients send the version that they hope for (S26). With the modern version,
  // the body of a POST decides whether it is modern, and if so, the session id is ignored.
  const isBodyDecisive = method === 'POST' && protocolVersion === MODERN_PROTOCOL_VERSION;
  const hasVersion = protocolVersion !== '' && sessionId !== '' && !isBodyDecisive;
  if (hasVersion && !LEGACY_VERSIONS.has(protocolVersion)) return refusals.protocolVersionUnsupported;
  return accepted ?? 'json';
}

const typesByAccept = new Map<string, AcceptedTypes | undefined>();

/** What an `accept` header accepts. The results are cached, because most callers send one of a few short values. */
function acceptedTypesOf(accept: string): AcceptedTypes | undefined {
  if (accept.length > REMEMBERED_HEADER_CHARS_MAX) return parseAccept(accept);
  if (typesByAccept.has(accept)) return typesByAccept.get(accept);
  const accepted = parseAccept(accept);
  if (typesByAccept.size >= ACCEPT_HEADERS_MAX) typesByAccept.clear();
  typesByAccept.set(accept, accepted);
  return accepted;
}

/**
 * Reads `Accept` liberally (specification 2.2): no header and wildcards mean both, and a `;` between two types counts as a comma. `q=0`
 * refuses a type or wildcard; a type counts more than a wildcard. @returns `undefined` when neither type is accepted.
 */
export function parseAccept(accept: string): AcceptedTypes | undefined {
  if (accept.trim() === '') return 'both';
  const ranges = new Map<string, 'accepted' | 'refused'>();
  let lastRange = '';
  for (const item of accept.toLowerCase().split(/[,;]/)) {
    const token = item.trim();
    if (token.includes('/')) {
      lastRange = token;
      ranges.set(token, 'accepted');
    } else if (/^q\s*=\s*0(\.0*)?$/.test(token)) {
      ranges.set(lastRange, 'refused');
    }
  }
  const isAccepted = (type: string, wildcard: string): boolean =>
    (ranges.get(type) ?? ranges.get(wildcard) ?? ranges.get('*/*')) === 'accepted';
  const json = isAccepted('application/json', 'application/*');
  const eventStream = isAccepted('text/event-stream', 'text/*');
  if (json && eventStream) return 'both';
  if (json) return 'json';
  return eventStream ? 'event-stream' : undefined;
}

function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  const [type] = contentType.split(';', 1);
  return type !== undefined && type.trim().toLowerCase() === 'application/json';
}

export type ServedEras = 'both' | Era;

/**
 * The era of a caller's message: its body decides, and a header can only contradict it.
 * @param version,method the values of `mcp-protocol-version` and `mcp-method`, or `''`.
 * @returns `unclaimed` for a modern header without an envelope in the body: the message belongs to neither era.
 */
export function eraOfMessage(message: ParsedClientMessage, version: string, method = ''): Era | 'unclaimed' {
  if (typeof message === 'object' && message.kind !== 'batch') {
    if (message.envelope !== undefined) return 'modern';
    // On `initialize`, the version is what the client hopes for (S26), unless `mcp-method` names another method: then admission has taken
    // the request for a modern one. A response claims no era.
    if (message.method === 'initialize') return isModernHead(version, method) ? 'unclaimed' : 'legacy';
    if (message.kind === 'response') return 'legacy';
  }
  return version === MODERN_PROTOCOL_VERSION ? 'unclaimed' : 'legacy';
}

/**
 * What a request wants, as far as its head tells: without a session id and modern headers, it can only be an `initialize`. (Modern headers
 * with an `initialize` in the body are refused later: `eraOfMessage` calls that `unclaimed`.)
 */
export function wantedByHead({
  sessionId,
  mirror,
}: Pick<ExchangeRequest, 'sessionId' | 'mirror'>): 'session' | 'request' {
  return sessionId !== '' || isModernHead(mirror.protocolVersion, mirror.method) ? 'request' : 'session';
}

function isModernHead(version: string, method: string): boolean {
  return version === MODERN_PROTOCOL_VERSION && method !== '' && method !== 'initialize';
}

// The mirror is read within its bounds. Legacy callers send at most a version, so requests with the same version share one mirror object.

const PARAM_HEADER_PREFIX = 'mcp-param-';
const NO_PARAMS: readonly string[] = Object.freeze([]);

/** The last result of `mirrorOfVersion`: nearly all legacy callers send the same version. */
let lastVersionMirror = NO_MIRROR;

/** The mirror of a request that has no other mirror header. @param protocolVersion `''` for none. */
export function mirrorOfVersion(protocolVersion: string): MirrorHeaders {
  if (protocolVersion === '') return NO_MIRROR;
  if (lastVersionMirror.protocolVersion !== protocolVersion)
    lastVersionMirror = Object.freeze({ protocolVersion, method: '', name: '', params: NO_PARAMS });
  return lastVersionMirror;
}

/**
 * The mirror of a request. @param headers lower-case name, value, …; HTTP libraries have removed white space around values.
 * @returns `undefined` when the `mcp-param-*` headers are too many or too long.
 */
export function mirrorIn(headers: readonly string[], protocolVersion: string): MirrorHeaders | undefined {
  let method = '';
  let name = '';
  let params: string[] | undefined;
  let bytes = 0;
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const header = headers[i]!;
    if (!header.startsWith('mcp-')) continue;
    const value = headers[i + 1]!;
    if (header === 'mcp-method') {
      method = combinedHeader(method, value);
    } else if (header === 'mcp-name') {
      name = combinedHeader(name, value);
    } else if (header.startsWith(PARAM_HEADER_PREFIX)) {
      params ??= [];
      bytes += header.length + Buffer.byteLength(value);
      addParam(params, header, value);
      if (params.length > 2 * limits.mirroredParamsMax || bytes > limits.mirroredParamBytesMax) return undefined;
    }
  }
  return { protocolVersion, method, name, params: params ?? NO_PARAMS };
}

/** The value of a header that may have come twice. Different values become `a, b`, as in HTTP, which equals no value in a body. */
export function combinedHeader(present: string, value: string): string {
  return present === '' || present === value ? value : `${present}, ${value}`;
}

function addParam(params: string[], header: string, value: string): void {
  for (let i = 0; i < params.length; i += 2) {
    if (params[i] !== header) continue;
    params[i + 1] = combinedHeader(params[i + 1]!, value);
    return;
  }
  params.push(header, value);
}
