// The claims of a token, for display only: nothing is decided by them.

export interface TokenClaims {
  readonly subject: string;
  /** Milliseconds since 1970; `undefined` when the token has no expiry. */
  readonly expiresAtMs: number | undefined;
}

const NONE: TokenClaims = { subject: '', expiresAtMs: undefined };

/** A text that is no JWT has no claims. */
export function claimsOf(token: string): TokenClaims {
  const [, payload = ''] = token.split('.');
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    const claims = JSON.parse(new TextDecoder().decode(bytes)) as { readonly sub?: unknown; readonly exp?: unknown };
    const { sub, exp } = claims;
    return {
      subject: typeof sub === 'string' ? sub : '',
      expiresAtMs: typeof exp === 'number' ? exp * 1_000 : undefined,
    };
  } catch {
    return NONE;
  }
}

/** The token in a pasted text, without a header name, quotes or spaces around it. */
export function tokenIn(pasted: string): string {
  return pasted
    .trim()
    .replace(/^authorization:\s*/i, '')
    .replace(/^bearer\s+/i, '')
    .replace(/^(["'])(.*)\1$/, '$2')
    .trim();
}
