// A server's tools in the form in which they are kept and told: their JSON, read and written once where they are probed,
// and a digest of each by its name, which is all that anybody else needs to look at. A list may be large: nobody parses it.
import { digestOfItem, type ItemDigests } from './item-digest.js';
import type { ServerTool } from './server-record.js';

export interface ToolList {
  /** An array, with every member that the server gave its tools. */
  readonly json: Uint8Array;
  /** By name; two of one name and digest are the same tool. */
  readonly digests: ItemDigests;
}

export const NO_TOOLS: ToolList = Object.freeze({ json: Buffer.from('[]'), digests: new Map() });

/** @param tools no two with the same name. */
export function toolListOf(tools: readonly ServerTool[]): ToolList {
  return {
    json: Buffer.from(JSON.stringify(tools)),
    digests: new Map(tools.map((tool) => [tool.name, digestOfItem(tool)])),
  };
}
