// A server's name in the form of a path segment: lower-case letters, digits and single hyphens.

/** As in `my-server`; `server` when nothing of the name is left. */
export function slugOf(name: string): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return slug === '' ? 'server' : slug;
}

/** The slugs to try in turn while the ones before are taken: `my-server`, `my-server-2`, `my-server-3`, … */
export function* slugsFor(name: string): Generator<string, never> {
  const slug = slugOf(name);
  yield slug;
  for (let number = 2; ; number++) yield `${slug}-${number}`;
}
