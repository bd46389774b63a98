// HTTP headers: which characters names may have (RFC 9110, 5.6.2), which headers are never copied, and look-ups.

/** A parameter of the value of `www-authenticate`; `undefined` if it is absent or empty. */
export function challengeParameter(
  challenge: string,
  name: 'resource_metadata' | 'scope' | 'error',
): string | undefined {
  const [, quoted, bare] = new RegExp(`[\\s,]${name}=(?:"([^"\\\\]*)"|([^\\s,"]+))`).exec(challenge) ?? [];
  const value = quoted ?? bare;
  return value === '' ? undefined : value;
}

/** The bearer token; `''` when there is none, or the scheme is not Bearer (RFC 6750, 2.1). */
export function bearerToken(authorization: string): string {
  return /^bearer +(.*)$/i.exec(authorization)?.[1]?.trim() ?? '';
}

/** The characters of a header's name, for use within a regular expression. */
export const HTTP_TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const WHOLE_TOKEN = new RegExp(`^${HTTP_TOKEN}$`);

export function isHttpToken(text: string): boolean {
  return WHOLE_TOKEN.test(text);
}

/**
 * Headers of one connection, or of a message that the gateway writes itself: never copied from a caller or set by a config (specification
 * 2.6).
 */
const OWN_HEADERS =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|expect|last-event-id)$|^(?:proxy-|content-|accept|mcp-)/;

export function isOwnHeader(lowerCaseName: string): boolean {
  return OWN_HEADERS.test(lowerCaseName);
}

/** The header's first value; `undefined` when absent. @param headers lower-case name, value, … */
export function headerIn(headers: readonly string[], name: string): string | undefined {
  for (let i = 0; i + 1 < headers.length; i += 2) if (headers[i] === name) return headers[i + 1];
  return undefined;
}
