// The cookies of one upstream session, by which a load balancer may keep the session at one node. They are sent only in that session, to
// the same origin, and kept as the value of the `cookie` header, without lifetimes: a balancer ignores expired cookies. Cold path.
import { isHttpToken, KIB } from '../shared/index.js';
import { headersSetBy, type CompiledBackend, type UpstreamTarget } from '../user-config/index.js';

export const SESSION_COOKIES_MAX = 8;
export const SESSION_COOKIES_BYTES_MAX = 4 * KIB;

/** Whether a backend's cookies are kept: not if the config makes the `cookie` header the caller's own, or a secret. */
export function keepsCookies({ passthroughHeaders, auth }: CompiledBackend): boolean {
  return !passthroughHeaders.has('cookie') && !headersSetBy(auth).includes('cookie');
}

/** @param cookies the value of `cookie`; `''` for none. @param lines values of `set-cookie`. @returns the new value of `cookie`. */
export function withCookies(cookies: string, lines: string, target: UpstreamTarget): string {
  return lines.split('\n').reduce((kept, line) => withCookie(kept, line, target), cookies);
}

function withCookie(cookies: string, line: string, { origin, path }: UpstreamTarget): string {
  if (line.length > SESSION_COOKIES_BYTES_MAX) return cookies;
  const [pair = '', ...words] = line.split(';').map((word) => word.trim());
  const [name, value] = nameAndValue(pair);
  const attributes = new Map(words.map(nameAndValue).map(([rule, ruleValue]) => [rule.toLowerCase(), ruleValue]));
  const applies =
    isWithin(path, attributes.get('path') ?? '') && (origin.startsWith('https:') || !attributes.has('secure'));
  if (!isHttpToken(name) || !pair.includes('=') || !applies) return cookies;
  const all = cookies === '' ? [] : cookies.split('; ');
  const at = all.findIndex((known) => known.startsWith(`${name}=`));
  all.splice(at === -1 ? all.length : at, 1, ...(isExpired(attributes) ? [] : [`${name}=${value}`]));
  const text = all.join('; ');
  return all.length > SESSION_COOKIES_MAX || text.length > SESSION_COOKIES_BYTES_MAX ? cookies : text;
}

function nameAndValue(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** Whether a cookie is for the path (RFC 6265, 5.1.4). A slash at the end makes no difference: a redirect may add one. */
function isWithin(path: string, cookiePath: string): boolean {
  return !cookiePath.startsWith('/') || `${path.split('?', 1)[0]}/`.startsWith(cookiePath.replace(/\/?$/, '/'));
}

/** Whether a cookie has expired. `Max-Age` takes precedence over `Expires` (RFC 6265, 5.3). */
function isExpired(attributes: ReadonlyMap<string, string>): boolean {
  const maxAge = attributes.get('max-age') ?? '';
  return /^-?\d+$/.test(maxAge) ? Number(maxAge) <= 0 : Date.parse(attributes.get('expires') ?? '') <= Date.now();
}
