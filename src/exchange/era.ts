// Which era a caller's message belongs to: its body decides, and a header alone can only contradict the body. Hot path: one field of
// the parsed message, and for a request outside a session one check of a header.
import { type ClientReading, MODERN_PROTOCOL_VERSION, type Era } from '../mcp/index.js';
import type { ExchangeRequest } from './exchange.js';

/** Which eras are served. */
export type ServedEras = 'both' | Era;

/**
 * @param version in the header, `''` for none. @param method in the header, `''` for none.
 * @returns `unclaimed` for a message with a modern header but no envelope in its body: it belongs to neither era.
 */
export function eraOfMessage(message: ClientReading, version: string, method = ''): Era | 'unclaimed' {
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
export function wantedBy({ sessionId, mirror }: Pick<ExchangeRequest, 'sessionId' | 'mirror'>): 'session' | 'request' {
  return sessionId !== '' || isModernHead(mirror.protocolVersion, mirror.method) ? 'request' : 'session';
}

function isModernHead(version: string, method: string): boolean {
  return version === MODERN_PROTOCOL_VERSION && method !== '' && method !== 'initialize';
}
