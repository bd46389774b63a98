// The claims of a token, for display only: nothing is decided by them.

export interface TokenClaims {
  readonly subject: string;
  /** Milliseconds since 1970; `undefined` when the token has no expiry. */
  readonly expiresAtMs: number | undefined;
}

type Claims = Readonly<Partial<Record<'sub' | 'exp' | 'iss' | 'aud', unknown>>>;
const REQUIRED = ['sub', 'exp', 'iss', 'aud'] as const;

/** A text that is no JWT has no claims. */
export function claimsOf(token: string): TokenClaims {
  const { sub, exp } = payloadOf(token) ?? {};
  return {
    subject: typeof sub === 'string' ? sub : '',
    expiresAtMs: typeof exp === 'number' ? exp * 1_000 : undefined,
  };
}

/** `undefined`: it is no JWT. */
function payloadOf(token: string): Claims | undefined {
  const [, payload = ''] = token.split('.');
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? claims : undefined;
  } catch {
    return undefined;
  }
}

/** Why a token was refused, and what to do. @param detail as the control plane says it, which does not say what it knows of the token. */
export function refusedWords(token: string, detail: string): string {
  if (detail === 'Token expired') return 'This token has expired: get a new one, and you continue where you were.';
  if (detail !== 'Token invalid') return detail;
  const claims = payloadOf(token);
  if (claims === undefined) {
    return 'This is not a token: it is one long text of three parts with full stops between them, and begins with “eyJ”. Copy all of it.';
  }
  const missing = REQUIRED.filter((name) => claims[name] === undefined);
  if (missing.length > 0) return `This token cannot be used: it does not have ${missing.join(', ')}. Get another one.`;
  const parties = [claims.iss, claims.aud].map((claim) => (Array.isArray(claim) ? claim.join(', ') : String(claim)));
  return `This gateway does not accept the token: it is signed with a key that is not, or no longer, this gateway’s, or is for another one (issuer “${parties[0]}”, audience “${parties[1]}”). Get a new one. The operator finds the cause in the log of the control plane.`;
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
