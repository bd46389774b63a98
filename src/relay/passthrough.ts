// Which of the caller's headers go to a backend (decisions 2.6). The config's compiler has taken out what may never be
// copied; the exchange has brought what some backend of the virtual host lists; here each backend gets its own. Hot.
import type { CompiledBackend } from '../user-config/compiled-config.js';
import type { ExchangeRequest } from './exchange.js';

const NONE: readonly string[] = Object.freeze([]);

/** @returns name, value, name, value, … */
export function passthroughHeadersFor(backend: CompiledBackend, request: ExchangeRequest): readonly string[] {
  const listed = backend.passthroughHeaders;
  const offered = request.passthroughHeaders;
  if (listed.size === 0 || offered.length === 0) return NONE;
  const copied: string[] = [];
  for (let i = 0; i + 1 < offered.length; i += 2) {
    const name = offered[i];
    const value = offered[i + 1];
    if (name !== undefined && value !== undefined && listed.has(name)) copied.push(name, value);
  }
  return copied;
}
