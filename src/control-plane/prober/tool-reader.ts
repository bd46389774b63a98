// Reads all of a server's tools, page by page, with every member that the server gave them.
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { limits } from '../../shared/limits.js';
import type { ServerTool } from '../records/server-record.js';
import type { ProbeClient } from './probe-client.js';
import { ProbeFault } from './probe-fault.js';

const toolPageSchema = z.looseObject({
  tools: z.array(
    z.looseObject({ name: z.string().min(1), description: z.string().optional(), inputSchema: z.unknown() }),
  ),
  nextCursor: z.string().nullish(),
});

/**
 * In the server's order; of tools with one name, the first. A list whose pages lead back to one that was read, or are too many, is cut
 * there. Throws if the response is no list, or the list is too long.
 */
export async function readTools(client: ProbeClient, signal: AbortSignal): Promise<readonly ServerTool[]> {
  if (client.capabilities['tools'] === undefined) return [];
  const tools = new Map<string, ServerTool>();
  const asked = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 0; pages < limits.listPagesMax; pages++) {
    const params = cursor === undefined ? {} : { cursor };
    // Not `listTools`, which would also compile the tools' schemas: they are not needed here.
    const page = await client.ask('tools/list', params, toolPageSchema).catch((error: unknown) => {
      if (cursor === '' && error instanceof McpError && !signal.aborted) return undefined;
      throw error;
    });
    // An empty cursor may be a cursor like any other, or an empty word for the end.
    if (page === undefined) break;
    for (const tool of page.tools) {
      if (!tools.has(tool.name)) tools.set(tool.name, tool);
      if (tools.size > limits.probeToolsMax) throw new ProbeFault('answer-too-large');
    }
    const { nextCursor } = page;
    if (typeof nextCursor !== 'string' || asked.has(nextCursor)) break;
    asked.add(nextCursor);
    cursor = nextCursor;
  }
  return [...tools.values()];
}
