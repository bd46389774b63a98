// A server's tools in the form in which they are stored and sent: their JSON, parsed and written only where they are probed, and
// a digest of each by its name, which is all that other parts need. A list may be large, so it is not parsed elsewhere.
import { digestOfItem, type ItemDigests } from './item-digest.js';
import type { ServerTool } from './server-record.js';

export interface ToolList {
  /** A JSON array, with every member that the server gave its tools. */
  readonly json: Uint8Array;
  /** By name; tools with the same name and digest are the same. */
  readonly digests: ItemDigests;
}

export const NO_TOOLS: ToolList = Object.freeze({ json: Buffer.from('[]'), digests: new Map() });

/** @param tools names are unique. */
export function toolListOf(tools: readonly ServerTool[]): ToolList {
  return {
    json: Buffer.from(JSON.stringify(tools)),
    digests: new Map(tools.map((tool) => [tool.name, digestOfItem(tool)])),
  };
}
