// What names of headers and their parameters are made of (RFC 9110, 5.6.2).

/** As a part of a pattern. */
export const HTTP_TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const WHOLE = new RegExp(`^${HTTP_TOKEN}$`);

export function isHttpToken(text: string): boolean {
  return WHOLE.test(text);
}
