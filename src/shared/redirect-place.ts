// Where a redirect leads, in words for people that give away neither an address nor what stands behind one: credentials, a
// query, another server's paths. Cold.
import { limits } from './limits.js';
import type { UpstreamTarget } from './upstream-target.js';

/** @param location the header, as it came. @param from what was asked. @returns `''` when it leads nowhere. */
export function redirectPlace(location: string, from: UpstreamTarget): string {
  const base = `${from.origin}${from.path}`;
  if (location === '' || !URL.canParse(location, base)) return '';
  const to = new URL(location, base);
  const asked = new URL(base);
  const path = to.pathname.slice(0, limits.redirectPathCharsMax);
  const shownPath = path.length < to.pathname.length ? `${path}…` : path;
  if (to.origin === asked.origin) return `the path ${shownPath}`;
  if (to.protocol === 'https:' && to.hostname === asked.hostname) return `https, path ${shownPath}`;
  return 'another origin';
}
