// A page of a list that is sorted by name. The cursor holds the last name of the previous page, so that it stays valid
// while items are added and removed.

/** The value of the `Link` header (RFC 8288): the same request with the new cursor. */
export function nextLink(url: string, cursor: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `<${path}?${parameters.toString()}>; rel="next"`;
}

export interface PageQuery {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; `undefined` on the last page. */
  readonly cursor: string | undefined;
}

/**
 * Examines no more items than needed to fill the page.
 * @param items sorted by name without regard to case; names are unique.
 */
export function pageOf<Item extends { readonly name: string }>(
  items: readonly Item[],
  { limit = Infinity, cursor }: PageQuery,
  isWanted: (item: Item) => boolean = () => true,
): Page<Item> {
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString('utf8');
  const page: Item[] = [];
  for (let index = firstAfter(items, after); index < items.length; index++) {
    const item = items[index]!;
    if (!isWanted(item)) continue;
    const last = page.at(-1);
    if (page.length >= limit && last !== undefined) return { items: page, cursor: cursorAfter(last) };
    page.push(item);
  }
  return { items: page, cursor: undefined };
}

/** The index of the first item whose lower-case name sorts after the given one. */
function firstAfter(items: readonly { readonly name: string }[], after: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (items[middle]!.name.toLowerCase() > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The cursor of the page that begins after the item. */
export function cursorAfter({ name }: { readonly name: string }): string {
  return Buffer.from(name.toLowerCase()).toString('base64url');
}
