// What is different between two readings of one of a server's lists.

/** What each item is known by. */
export interface ItemChanges {
  readonly added: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
}

export const NO_CHANGES: ItemChanges = { added: [], updated: [], removed: [] };

/** Both: digest by what the item is known by. */
export function compareItems(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): ItemChanges {
  const added: string[] = [];
  const updated: string[] = [];
  for (const [key, digest] of after) {
    const known = before.get(key);
    if (known === undefined) added.push(key);
    else if (known !== digest) updated.push(key);
  }
  return { added, updated, removed: [...before.keys()].filter((key) => !after.has(key)) };
}

export function areChanged({ added, updated, removed }: ItemChanges): boolean {
  return added.length + updated.length + removed.length > 0;
}
