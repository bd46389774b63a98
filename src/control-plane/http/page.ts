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
  return {
    items: page,
    cursor: last === undefined ? undefined : Buffer.from(last.name.toLowerCase()).toString('base64url'),
  };
}

/** The `Link` header's value, RFC 8288: the same request with the other cursor. */
export function nextLink(url: string, cursor: string): string {
  const [path = '', query = ''] = url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.set('cursor', cursor);
  return `<${path}?${parameters.toString()}>; rel="next"`;
}
