// Describes where a redirect leads, in words that reveal neither an address nor what may be in one: credentials, a query, paths of another
// server. Cold path.
import type { UpstreamTarget } from '../user-config/index.js';

/** Characters of a path that a backend redirects to, in the log and in a server's record. The rest is cut off. */
const REDIRECT_PATH_CHARS_MAX = 256;

/** For callers. Names no path, which may contain a secret; but a difference of only a trailing slash, the usual mistake, is named. */
export function describeRedirect(location: string, from: UpstreamTarget): string {
  return placeOf(location, from, (_path, slash) => ({ here: HERE[slash], secure: 'https' }));
}

/**
 * Where a request is sent instead that was redirected with its method and body (307, 308): to another path of the same origin. A request
 * with credentials follows only to the path with or without a trailing slash, since they may be meant for this path alone.
 */
export function movedTarget(
  status: number,
  location: string,
  from: UpstreamTarget,
  hasCredentials: boolean,
): UpstreamTarget | undefined {
  const base = `${from.origin}${from.path}`;
  if ((status !== 307 && status !== 308) || location === '' || !URL.canParse(location, base)) return undefined;
  const [to, asked] = [new URL(location, base), new URL(base)];
  if (to.origin !== asked.origin || to.username !== '' || to.password !== '') return undefined;
  if (hasCredentials && slashDifference(asked.pathname, to.pathname) === 'other') return undefined;
  const path = to.pathname + to.search;
  return path === from.path ? undefined : { origin: from.origin, path };
}

/** How the path of the redirect differs from the requested one, if only by a trailing slash. */
type SlashDifference = 'added' | 'removed' | 'other';

const HERE: Readonly<Record<SlashDifference, string>> = {
  added: 'the same path with a trailing slash',
  removed: 'the same path without the trailing slash',
  other: 'another path of the same server',
};

/** Like `describeRedirect`, with the path: for operators, or for the user who gave the URL. */
export function redirectPath(location: string, from: UpstreamTarget): string {
  return placeOf(location, from, (path) => ({ here: `the path ${path}`, secure: `https, path ${path}` }));
}

interface PlaceWords {
  /** For a redirect within the same origin. */
  readonly here: string;
  /** For a redirect to the same host over TLS. */
  readonly secure: string;
}

/** @param location the header, as received. @param from the requested target. @returns `''` when it is absent or not a URL. */
function placeOf(
  location: string,
  from: UpstreamTarget,
  wordsOf: (path: string, slash: SlashDifference) => PlaceWords,
): string {
  const base = `${from.origin}${from.path}`;
  if (location === '' || !URL.canParse(location, base)) return '';
  const to = new URL(location, base);
  const asked = new URL(base);
  const path = to.pathname.slice(0, REDIRECT_PATH_CHARS_MAX);
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
