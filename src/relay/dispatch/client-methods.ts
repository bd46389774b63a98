// The requests of clients that the gateway answers or relays: everything else is "method not found". docs/mcp.md lists
// them, and a test holds that page and the relay together. Cold.
import { listKindOf } from '../../protocol/list-kinds.js';
import { isSessionTarget } from '../request/targets.js';

/** Those that neither go to one backend nor ask for a list. */
const OTHERS: ReadonlySet<string> = new Set(['initialize', 'ping', 'logging/setLevel']);

export function isClientMethod(method: string): boolean {
  return OTHERS.has(method) || isSessionTarget(method) || listKindOf(method) !== undefined;
}
