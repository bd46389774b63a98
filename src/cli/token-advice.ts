// What to do about a token that a control plane calls invalid. It tells no caller which of its checks failed (decisions 2.2), but a token's
// claims can be read without a key, and what they do not explain is most likely its signature. Cold path.

type Claims = Readonly<Record<string, unknown>>;

/** Continues the control plane's refusal. Repeats nothing of the token. */
export function tokenAdvice(token: string, nowMs: number): string {
  const claims = claimsOf(token);
  if (claims === undefined) return 'it is not a JWT; set SWITCHYARD_TOKEN to one, as minted by `switchyard token`';
  const fault = faultOf(claims, nowMs);
  if (fault !== undefined) return `${fault}; put a new token into SWITCHYARD_TOKEN`;
  return `${SUSPICION}; ${REMEDY}`;
}

const SUSPICION =
  "most likely its signature does not fit the control plane's key, or it is for another issuer or audience (`iss`, `aud`)";
const REMEDY =
  "put a token into SWITCHYARD_TOKEN that is signed with the private key (or the secret) that the control plane's --token-verification-… options belong to; its log says what is wrong (`cause`)";

function faultOf({ sub, exp, nbf }: Claims, nowMs: number): string | undefined {
  if (typeof sub !== 'string' || sub === '') return 'it has no subject (`sub`)';
  if (typeof exp !== 'number') return 'it has no expiry (`exp`)';
  if (typeof nbf === 'number' && nbf * 1_000 > nowMs) return 'it is not valid yet (`nbf`), if the clock here is right';
  return undefined;
}

/** `undefined` when the token is not a JWT. */
function claimsOf(token: string): Claims | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  const [header, claims] = parts.map(objectIn);
  return header === undefined ? undefined : claims;
}

function objectIn(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    return typeof value === 'object' && value !== null ? (value as Claims) : undefined;
  } catch {
    return undefined;
  }
}
