// What a token says of its bearer, for the eye alone: nothing is decided by it.

export interface TokenClaims {
  readonly subject: string;
  /** Milliseconds since 1970; `undefined` when it says nothing of its end. */
  readonly expiresAtMs: number | undefined;
}

const NONE: TokenClaims = { subject: '', expiresAtMs: undefined };

/** Nothing is known of what is no JWT. */
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

/** Of what somebody has pasted: a header, quotes or spaces around a token are no part of it. */
export function tokenIn(pasted: string): string {
  return pasted
    .trim()
    .replace(/^authorization:\s*/i, '')
    .replace(/^bearer\s+/i, '')
    .replace(/^(["'])(.*)\1$/, '$2')
    .trim();
}
