// A server's tools in the form in which they are kept and told: their JSON, read and written once where they are probed,
// and a digest of each by its name, which is all that anybody else needs to look at. A list may be large: nobody parses it.
import { createHash } from 'node:crypto';
import type { ServerTool } from './server-record.js';

export interface ToolList {
  /** An array, with every member that the server gave its tools. */
  readonly json: Uint8Array;
  /** Digest by name; two of one name and digest are the same tool. */
  readonly digests: ReadonlyMap<string, string>;
}

export const NO_TOOLS: ToolList = Object.freeze({ json: Buffer.from('[]'), digests: new Map() });

/** @param tools no two with the same name. */
export function toolListOf(tools: readonly ServerTool[]): ToolList {
  return {
    json: Buffer.from(JSON.stringify(tools)),
    digests: new Map(tools.map((tool) => [tool.name, digestOf(tool)])),
  };
}

/** In whatever order its tools are. */
export function digestOfList({ digests }: ToolList): string {
  return createHash('sha256')
    .update(JSON.stringify([...digests].sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest('base64url')
    .slice(0, DIGEST_CHARS);
}

/** Some servers write a tool's members in another order each time. */
function digestOf(tool: ServerTool): string {
  return createHash('sha256')
    .update(JSON.stringify(inOrder(tool)))
    .digest('base64url')
    .slice(0, DIGEST_CHARS);
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return ['list', ...value.map(inOrder)];
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // Not an object: its members of digits would come first, and `__proto__` would not come.
  return ['object', ...members.flatMap(([name, member]) => [name, inOrder(member)])];
}

/** 132 bits. */
const DIGEST_CHARS = 22;
