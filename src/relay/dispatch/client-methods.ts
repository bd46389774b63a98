// The methods of client requests that the gateway answers or relays; any other is "method not found", unless a backend declares it.
// docs/mcp.md lists them, and a test keeps that page in line with the relay. Cold path.
import { listKindOf } from '../../protocol/list-kinds.js';
import { isSessionTarget } from '../request/targets.js';

/** The methods that neither go to one backend nor ask for a list. */
const OTHERS: ReadonlySet<string> = new Set(['initialize', 'ping', 'logging/setLevel']);

export function isClientMethod(method: string): boolean {
  return OTHERS.has(method) || isSessionTarget(method) || listKindOf(method) !== undefined;
}
