// Which era a message of a caller's is of: its body says so, and a header alone can only contradict it. Hot: a field of what
// has been read, and of a request outside a session one look at a header.
import type { ClientReading } from '../../protocol/json-rpc.js';
import { MODERN_PROTOCOL_VERSION, type Era } from '../../protocol/protocol-versions.js';
import type { ExchangeRequest } from './exchange.js';

/** Which eras are served. */
export type ServedEras = 'both' | Era;

/**
 * @param version in the header, `''` for none. @param method the same.
 * @returns `unclaimed` for what has a modern header over a body that says nothing of it: neither era would take it for its own.
 */
export function eraOfMessage(message: ClientReading, version: string, method = ''): Era | 'unclaimed' {
  if (typeof message === 'object' && message.kind !== 'batch') {
    if (message.envelope !== undefined) return 'modern';
    // Clients say with it which version they hope for (S26), unless it was let in as something else; a response claims nothing.
    if (message.method === 'initialize') return isModernHead(version, method) ? 'unclaimed' : 'legacy';
    if (message.kind === 'response') return 'legacy';
  }
  return version === MODERN_PROTOCOL_VERSION ? 'unclaimed' : 'legacy';
}

/**
 * What may come of a request before its body is read: without a session id it can only be an `initialize`, unless its headers say
 * that it is of the era without sessions. A body that says otherwise is `unclaimed`.
 */
export function wantedBy({ sessionId, mirror }: Pick<ExchangeRequest, 'sessionId' | 'mirror'>): 'session' | 'request' {
  return sessionId !== '' || isModernHead(mirror.protocolVersion, mirror.method) ? 'request' : 'session';
}

function isModernHead(version: string, method: string): boolean {
  return version === MODERN_PROTOCOL_VERSION && method !== '' && method !== 'initialize';
}
