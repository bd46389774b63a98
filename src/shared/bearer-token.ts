/** The token in an `authorization` header (RFC 6750, 2.1); `''` when there is none, or the scheme is not Bearer. */
export function bearerToken(authorization: string): string {
  return /^bearer +(.*)$/i.exec(authorization)?.[1]?.trim() ?? '';
}
