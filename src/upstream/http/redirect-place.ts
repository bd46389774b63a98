// Where a redirect leads, in words for people that give away neither an address nor what stands behind one: credentials, a
// query, another server's paths. Cold.
import { limits } from '../../shared/limits.js';
import type { UpstreamTarget } from '../../user-config/upstream-target.js';

/** For callers; a path may have a secret in it, so that none is told them. A slash at its end, the usual mistake, is none. */
export function redirectPlace(location: string, from: UpstreamTarget): string {
  return placeOf(location, from, (_path, slash) => ({ here: HERE[slash], secure: 'https' }));
}

/** How the path that it leads to differs from the one that was asked, if only by a slash at its end. */
type SlashDifference = 'added' | 'removed' | 'other';

const HERE: Readonly<Record<SlashDifference, string>> = {
  added: 'the same path with a trailing slash',
  removed: 'the same path without the trailing slash',
  other: 'another path of the same server',
};

/** The same with its path: for who runs the gateway, or has given the URL. */
export function redirectPath(location: string, from: UpstreamTarget): string {
  return placeOf(location, from, (path) => ({ here: `the path ${path}`, secure: `https, path ${path}` }));
}

interface PlaceWords {
  /** Of the origin that was asked. */
  readonly here: string;
  /** Of the same host, over TLS. */
  readonly secure: string;
}

/** @param location the header, as it came. @param from what was asked. @returns `''` when it leads nowhere. */
function placeOf(
  location: string,
  from: UpstreamTarget,
  wordsOf: (path: string, slash: SlashDifference) => PlaceWords,
): string {
  const base = `${from.origin}${from.path}`;
  if (location === '' || !URL.canParse(location, base)) return '';
  const to = new URL(location, base);
  const asked = new URL(base);
  const path = to.pathname.slice(0, limits.redirectPathCharsMax);
  const shownPath = path.length < to.pathname.length ? `${path}…` : path;
  const words = wordsOf(shownPath, slashDifference(asked.pathname, to.pathname));
  if (to.origin === asked.origin) return words.here;
  if (to.protocol === 'https:' && to.hostname === asked.hostname) return words.secure;
  return 'another origin';
}

function slashDifference(asked: string, to: string): SlashDifference {
  if (to === `${asked}/`) return 'added';
  return asked === `${to}/` ? 'removed' : 'other';
}
