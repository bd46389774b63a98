// What is different between two readings of a server's tools, by their names.

export interface ToolChanges {
  readonly added: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
}

/** Both: digest by name. */
export function compareTools(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ToolChanges {
  const added: string[] = [];
  const updated: string[] = [];
  for (const [name, digest] of after) {
    const known = before.get(name);
    if (known === undefined) added.push(name);
    else if (known !== digest) updated.push(name);
  }
  return { added, updated, removed: [...before.keys()].filter((name) => !after.has(name)) };
}
