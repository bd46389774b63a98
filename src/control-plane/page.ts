// A page of a list that is sorted by name. The cursor holds the last name of the page before, so that it stays good
// while others are added and removed.

export interface PageQuery {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Of the next page; `undefined` on the last one. */
  readonly cursor: string | undefined;
}

/** @param items sorted by name without regard to case, in which no two are the same. */
export function pageOf<Item extends { readonly name: string }>(
  items: readonly Item[],
  { limit = Infinity, cursor }: PageQuery,
): Page<Item> {
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString('utf8');
  const rest = items.filter(({ name }) => name.toLowerCase() > after);
  const page = rest.slice(0, limit);
  const last = rest.length > limit ? page.at(-1) : undefined;
  return { items: page, cursor: last && cursorAfter(last) };
}

/** The cursor of the page that begins after the item. */
export function cursorAfter({ name }: { readonly name: string }): string {
  return Buffer.from(name.toLowerCase()).toString('base64url');
}

export function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1;
}
