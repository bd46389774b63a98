// Tasks as MCP 2026-07-28 has them: the extension `io.modelcontextprotocol/tasks`, relayed where client and backend both declare it. A
// call may become a task; the client asks for the task's state, answers its questions, and cancels it. Cold path.
import { TASKS_EXTENSION } from '../../protocol/capabilities.js';
import type { ModernEnvelope } from '../../protocol/modern-envelope.js';
import { isObject } from '../../shared/json-values.js';

/** What a client must declare to use the extension. */
export const TASKS_REQUIRED: Readonly<Record<string, unknown>> = Object.freeze({
  extensions: { [TASKS_EXTENSION]: {} },
});

/** Whether the request's client declares the extension. The envelope check has bounded the size of the capabilities. */
export function declaresTasks(body: Buffer, { capabilitiesStart, capabilitiesEnd }: ModernEnvelope): boolean {
  const capabilities: unknown = JSON.parse(body.toString('utf8', capabilitiesStart, capabilitiesEnd));
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}
