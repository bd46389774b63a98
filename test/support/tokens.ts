// Access tokens for tests, signed with jose directly, so that the gateway's own minting does not vouch for its verification.
// Every claim and the algorithm can be wrong or left out.
import { SignJWT } from 'jose/jwt/sign';
import type { KeyObject } from 'node:crypto';

export interface TokenRequest {
  /** `null` leaves a claim out. */
  readonly sub: string | null;
  readonly iss?: string | null;
  readonly aud?: string | readonly string[] | null;
  /** Seconds from now; a negative value means expired. */
  readonly expiresInSeconds?: number | null;
  readonly algorithm: string;
  readonly key: KeyObject | Uint8Array;
  /** Additional claims, or replacements for the above. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

export async function mint(request: TokenRequest): Promise<string> {
  const { sub, iss = 'mcpgateway', aud = 'mcpgateway-api', expiresInSeconds = 3600 } = request;
  const nowSeconds = Math.floor(Date.now() / 1000);
  const payload: Record<string, unknown> = { iat: nowSeconds };
  if (sub !== null) payload['sub'] = sub;
  if (iss !== null) payload['iss'] = iss;
  if (aud !== null) payload['aud'] = aud;
  if (expiresInSeconds !== null) payload['exp'] = nowSeconds + expiresInSeconds;
  return new SignJWT({ ...payload, ...request.claims })
    .setProtectedHeader({ alg: request.algorithm, typ: 'JWT' })
    .sign(request.key);
}

/** An unsigned token (`alg: none`), which no gateway may accept. */
export function mintUnsigned(claims: Readonly<Record<string, unknown>>): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`;
}
