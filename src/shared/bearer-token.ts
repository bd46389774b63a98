/** What an `authorization` header bears (RFC 6750, 2.1); `''` when there is no token, or the scheme is another. */
export function bearerToken(authorization: string): string {
  return /^bearer +(.*)$/i.exec(authorization)?.[1]?.trim() ?? '';
}
