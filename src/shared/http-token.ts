// The characters of header and parameter names (RFC 9110, 5.6.2).

/** For use within a regular expression. */
export const HTTP_TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const WHOLE = new RegExp(`^${HTTP_TOKEN}$`);

export function isHttpToken(text: string): boolean {
  return WHOLE.test(text);
}
