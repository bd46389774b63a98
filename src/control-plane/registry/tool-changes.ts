// What is different between two readings of a server's tools, by their names.
import { isDeepStrictEqual } from 'node:util';
import type { ServerTool } from './server-record.js';

export interface ToolChanges {
  readonly added: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
}

export function compareTools(before: readonly ServerTool[], after: readonly ServerTool[]): ToolChanges {
  const known = new Map(before.map((tool) => [tool.name, tool]));
  const added: string[] = [];
  const updated: string[] = [];
  for (const tool of after) {
    const old = known.get(tool.name);
    if (old === undefined) added.push(tool.name);
    else if (!isDeepStrictEqual(old, tool)) updated.push(tool.name);
    known.delete(tool.name);
  }
  return { added, updated, removed: [...known.keys()] };
}
