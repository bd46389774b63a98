// The rules of the transport (decisions 2.1, 2.2): checks of the request's headers, made once the caller and the virtual host are
// known and before a session is looked up; and the era of a message. The same for every HTTP server. Hot path.
import { refusals, type Refusal, REMEMBERED_HEADER_CHARS_MAX } from '../shared/index.js';
import { type ParsedClientMessage, type Era, MODERN_PROTOCOL_VERSION, PROTOCOL_VERSIONS } from '../mcp/index.js';
import type { AcceptedTypes, ExchangeRequest } from './exchange.js';

/**
 * Different `accept` headers cached as parsed, per worker; callers can invent any number. Beyond that, all are forgotten and parsed again.
 */
export const ACCEPT_HEADERS_MAX = 256;

export interface TransportHead {
  readonly accept: string;
  readonly contentType: string;
  readonly isAmbiguous: boolean;
  readonly isMirrorTooLarge: boolean;
}

/** @returns the answer forms that the caller accepts, or why the request is refused. */
export function checkTransport(
  { method, sessionId, mirror: { protocolVersion } }: Pick<ExchangeRequest, 'method' | 'sessionId' | 'mirror'>,
  head: TransportHead,
): AcceptedTypes | Refusal {
  const forms = acceptedTypesOf(head.accept);
  if (method === 'GET' && (forms === undefined || forms === 'json')) return refusals.streamNotAcceptable;
  if (method === 'POST') {
    if (forms === undefined) return refusals.notAcceptable;
    if (!isJson(head.contentType)) return refusals.contentTypeUnsupported;
  }
  if (head.isAmbiguous) return refusals.headAmbiguous;
  if (head.isMirrorTooLarge) return refusals.mirrorTooLarge;
  // Clients send the version header on `initialize` too, with the version that they hope for (S26), so it is checked only in a session.
  // Where it names the modern version, the body of a POST decides whether the request is modern; a modern one ignores the session.
  const isToBeRead = method === 'POST' && protocolVersion === MODERN_PROTOCOL_VERSION;
  const hasVersion = protocolVersion !== '' && sessionId !== '' && !isToBeRead;
  if (hasVersion && !PROTOCOL_VERSIONS.has(protocolVersion)) return refusals.protocolVersionUnsupported;
  return forms ?? 'json';
}

const formsByAccept = new Map<string, AcceptedTypes | undefined>();

/** Cached by the header's text: a gateway sees the same few short values again and again. */
function acceptedTypesOf(accept: string): AcceptedTypes | undefined {
  if (accept.length > REMEMBERED_HEADER_CHARS_MAX) return readAccept(accept);
  if (formsByAccept.has(accept)) return formsByAccept.get(accept);
  const forms = readAccept(accept);
  if (formsByAccept.size >= ACCEPT_HEADERS_MAX) formsByAccept.clear();
  formsByAccept.set(accept, forms);
  return forms;
}

/**
 * Reads `Accept` liberally (decisions 2.2): absent and wildcards mean both, and a `;` between two types, which some
 * clients send, separates them like a comma. With `q=0` a type or wildcard is refused; the more specific one counts.
 */
export function readAccept(accept: string): AcceptedTypes | undefined {
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

// Which era a caller's message belongs to: its body decides, and a header alone can only contradict the body.

/** Which eras are served. */
export type ServedEras = 'both' | Era;

/**
 * @param version in the header, `''` for none. @param method in the header, `''` for none.
 * @returns `unclaimed` for a message with a modern header but no envelope in its body: it belongs to neither era.
 */
export function eraOfMessage(message: ParsedClientMessage, version: string, method = ''): Era | 'unclaimed' {
  if (typeof message === 'object' && message.kind !== 'batch') {
    if (message.envelope !== undefined) return 'modern';
    // On `initialize` the header only names the version that the client hopes for (S26), unless `mcp-method` names another method:
    // then it was admitted as a modern request. A response claims no era.
    if (message.method === 'initialize') return isModernHead(version, method) ? 'unclaimed' : 'legacy';
    if (message.kind === 'response') return 'legacy';
  }
  return version === MODERN_PROTOCOL_VERSION ? 'unclaimed' : 'legacy';
}

/**
 * What a request may need, judged before its body is read: without a session id it can only be an `initialize`, which opens a session,
 * unless its headers are modern. If the body then is an `initialize` all the same, the message is `unclaimed`.
 */
export function newSessionOrRequest({
  sessionId,
  mirror,
}: Pick<ExchangeRequest, 'sessionId' | 'mirror'>): 'session' | 'request' {
  return sessionId !== '' || isModernHead(mirror.protocolVersion, mirror.method) ? 'request' : 'session';
}

function isModernHead(version: string, method: string): boolean {
  return version === MODERN_PROTOCOL_VERSION && method !== '' && method !== 'initialize';
}
