// The two tools that a virtual host with `"exposure": "search"` lists in place of its tools, except for tools with a page (MCP Apps).
import { isStringEqual } from '../bytes/index.js';
import type { ClientMessage } from '../mcp/index.js';
import { limits } from '../shared/index.js';
import { CALL_TOOL, FIND_TOOLS } from '../messages/index.js';

export const FOUND_TOOLS_DEFAULT = 10;

/** Both tools as JSON, without the brackets of the list. */
export const SEARCH_TOOLS = JSON.stringify([
  {
    name: CALL_TOOL,
    title: 'Call a tool',
    description: `Calls one of the tools that ${FIND_TOOLS} finds, and returns what it returns.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: `The tool's name, exactly as ${FIND_TOOLS} has told it.` },
        arguments: { type: 'object', description: "The tool's arguments, as its own inputSchema wants them." },
      },
      required: ['name'],
      additionalProperties: false,
    },
  },
  {
    name: FIND_TOOLS,
    title: 'Find tools',
    description: `Finds the tools for a task among all that there are here, by words of their names and descriptions, the best first. Returns them with their input schemas; call them with ${CALL_TOOL}.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          minLength: 1,
          maxLength: limits.toolQueryCharsMax,
          description: 'What the tool should do, in a few words, such as: create a pull request',
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: limits.foundToolsMax,
          default: FOUND_TOOLS_DEFAULT,
          description: 'How many tools at most.',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: { tools: { type: 'array', items: { type: 'object' } } },
      required: ['tools'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
]).slice(1, -1);

/** Whether the request calls this tool of a virtual host with exposure `search`, where no backend's tool can shadow it. */
export function isForSearchTool(
  body: Buffer,
  { kind, method, nameStart, nameEnd }: ClientMessage,
  tool: typeof FIND_TOOLS | typeof CALL_TOOL,
): boolean {
  if (method !== 'tools/call' || kind !== 'request' || nameStart === -1) return false;
  return isStringEqual(body, nameStart, nameEnd, tool);
}
