// Tasks as MCP 2026-07-28 has them: the extension `io.modelcontextprotocol/tasks`, which passes where client and backend declare it. A
// call may become a task; the client asks for its state, answers what it wants to know, and cancels it. Cold.
import { TASKS_EXTENSION } from '../../protocol/capabilities.js';
import type { ModernEnvelope } from '../../protocol/modern-envelope.js';
import { isObject } from '../../shared/json-values.js';

/** What a client must declare that asks for any of it. */
export const TASKS_REQUIRED: Readonly<Record<string, unknown>> = Object.freeze({
  extensions: { [TASKS_EXTENSION]: {} },
});

/** Whether the request's client does. Its capabilities are bounded by the check of the envelope. */
export function declaresTasks(body: Buffer, { capabilitiesStart, capabilitiesEnd }: ModernEnvelope): boolean {
  const capabilities: unknown = JSON.parse(body.toString('utf8', capabilitiesStart, capabilitiesEnd));
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}
