// Which era a message of a caller's is of: its body says so, and a header alone can only contradict it. Hot: a field of what
// has been read, and of a request outside a session one look at a header.
import type { ClientReading } from '../protocol/json-rpc.js';
import { MODERN_PROTOCOL_VERSION, type Era } from '../protocol/protocol-versions.js';

/** Which eras are served. */
export type ServedEras = 'both' | Era;

/**
 * @param version in the header, `''` for none.
 * @returns `unclaimed` for what has a modern header over a body that says nothing of it: neither era would take it for its own.
 */
export function eraOf(message: ClientReading, version: string): Era | 'unclaimed' {
  if (typeof message === 'object' && message.kind !== 'batch') {
    if (message.envelope !== undefined) return 'modern';
    // Clients say with it which version they hope for (S26), and a response is no claim of anything.
    if (message.method === 'initialize' || message.kind === 'response') return 'legacy';
  }
  return version === MODERN_PROTOCOL_VERSION ? 'unclaimed' : 'legacy';
}
