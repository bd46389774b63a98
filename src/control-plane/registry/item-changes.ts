// The differences between two readings of one of a server's lists.

/** Keys of items. */
export interface ItemChanges {
  readonly added: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
}

export const NO_CHANGES: ItemChanges = { added: [], updated: [], removed: [] };

/** Both arguments map an item's key to its digest. */
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
