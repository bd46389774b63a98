// Verifies the token in an `authorization` header, and returns its subject. Hot path: a remembered token costs one look-up, one look at the
// clock, and no promise. Only valid tokens are remembered.
import type { JWTPayload } from 'jose';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import * as errors from 'jose/errors';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import { type RoleClaims, type TokenOptions, roles, type Role } from '../config/index.js';
import { bearerToken, limits, KIB, MIB, type Logger, RecentMap } from '../shared/index.js';
import { TokenKeys, type KeyDependencies, type KeyObstacleListener } from './token-keys.js';

/** How many values a claim of roles or teams may have. A claim with more is ignored. */
export const CLAIM_VALUES_MAX = 256;

interface RoleAndTeams {
  /** The highest role in the token. */
  readonly role: Role | undefined;
  readonly teams: readonly string[];
}

/** Claims that are lists separated by spaces (RFC 8693 section 4.2, and the non-standard `scp`). */
const SPACE_SEPARATED = new Set(['scope', 'scp']);

/** The role and teams in a token. A claim counts only if it is a string or a list of strings within bounds. */
export function roleAndTeamsOf(payload: object, { role, teams, roleNames }: RoleClaims): RoleAndTeams {
  const named = new Set(textsAt(payload, role));
  return Object.freeze({
    role: roles.findLast((each) => roleNames[each].some((name) => named.has(name))),
    teams: Object.freeze(teams === undefined ? [] : [...new Set(textsAt(payload, teams))]),
  });
}

function textsAt(payload: object, path: readonly string[]): readonly string[] {
  const value = valueAt(payload, path);
  if (typeof value === 'string') {
    return boundedTexts(SPACE_SEPARATED.has(path.at(-1)!) ? value.split(' ').filter((text) => text !== '') : [value]);
  }
  return Array.isArray(value) ? boundedTexts(value) : [];
}

/** The value at the path in a token. Inherited properties are not claims. */
function valueAt(payload: object, path: readonly string[]): unknown {
  let value: unknown = payload;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, step)) {
      return undefined;
    }
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}

/** All values, or none if one is invalid: a part of an invalid list would be a guess. */
function boundedTexts(values: readonly unknown[]): readonly string[] {
  if (values.length > CLAIM_VALUES_MAX) return [];
  const texts = values.filter((value) => typeof value === 'string');
  const areValid = texts.every((text) => text !== '' && text.length <= limits.claimValueCharsMax);
  return areValid && texts.length === values.length ? texts : [];
}

interface Refused {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  readonly cause?: TokenFault;
}

export type TokenOutcome =
  /** The token is valid. `roleAndTeams` is present only if the options ask for it. */
  { readonly kind: 'subject'; readonly subject: string; readonly roleAndTeams?: RoleAndTeams } | Refused;

/** Why a token is refused. `unavailable`: the issuer's keys could not be fetched, so it can be neither accepted nor rejected. */
export type RefusalReason = 'missing' | 'invalid' | 'expired' | 'unavailable';

/**
 * What is wrong with an invalid token, for the log only. `key`: no key can verify it; `claims`: a claim is missing or of the wrong type.
 */
export type TokenFault = 'not-a-jwt' | 'key' | 'algorithm' | 'signature' | 'issuer' | 'audience' | 'not-yet' | 'claims';

/** Bounds of the tokens that are remembered. A token beyond them is verified anew for each request. */
export const tokenBounds = {
  entriesMax: limits.cacheEntriesMax as number,
  bytesMax: 64 * MIB,
  /** Longest `authorization` header that is remembered. */
  headerCharsMax: 8 * KIB,
  /** Verifications in progress that later requests with the same token can join. */
  joinableMax: 10_000,
};

interface TimedOutcome {
  readonly outcome: TokenOutcome;
  /** When the token expires; `0` for a refusal, which is not remembered. */
  readonly expiresAtMs: number;
}

interface RememberedToken {
  readonly verified: Extract<TokenOutcome, { readonly kind: 'subject' }>;
  readonly expiresAtMs: number;
  /** The header's value, spelled `Bearer <token>` whatever the client wrote. */
  readonly authorization: string;
}

/** Approximate memory of a remembered token besides its text. */
const ENTRY_OVERHEAD_BYTES = 300;

/** Tokens are told apart by the last characters of their signatures. Hashing a whole token would cost a twentieth of a call. */
const CACHE_KEY_CHARS = 32;

const MISSING: Refused = Object.freeze({ kind: 'refused', reason: 'missing' });
const EXPIRED: Refused = Object.freeze({ kind: 'refused', reason: 'expired' });
const UNAVAILABLE: Refused = Object.freeze({ kind: 'refused', reason: 'unavailable' });

/** Thrown by the checks that the gateway makes in addition to jose's. */
class InvalidToken extends Error {
  readonly fault: TokenFault;

  constructor(fault: TokenFault) {
    super(fault);
    this.fault = fault;
  }
}

class KeysUnavailable extends Error {}

export class TokenVerifier {
  /** Tokens checked, by result; `remembered`: verified earlier. */
  readonly counts = { remembered: 0, verified: 0, missing: 0, invalid: 0, expired: 0, unavailable: 0 };
  readonly #keys: TokenKeys;
  readonly #audience: string;
  /** By how much the clock of a token's issuer may be ahead. */
  readonly #leewaySeconds: number;
  readonly #roleClaims: RoleClaims | undefined;
  readonly #nowMs: () => number;
  readonly #bounds: typeof tokenBounds;
  /** Valid tokens, by the last characters of the header's value. */
  readonly #remembered: RecentMap<RememberedToken>;
  /** Verifications in progress, by `Bearer <token>`. */
  readonly #verifying = new Map<string, Promise<TokenOutcome>>();

  /** Grows when a key is withdrawn: the outcome of a verification that began before is not remembered. */
  #generation = 0;

  constructor(
    options: TokenOptions & KeyDependencies,
    nowMs: () => number = Date.now,
    bounds = tokenBounds,
    keys = new TokenKeys(options),
  ) {
    this.#keys = keys;
    this.#audience = options.audience;
    this.#leewaySeconds = options.leewayMs / 1_000;
    this.#roleClaims = options.roleClaims;
    this.#nowMs = nowMs;
    this.#bounds = bounds;
    this.#remembered = new RecentMap(bounds.entriesMax, bounds.bytesMax, memoryBytesOf);
    keys.onKeyLost = () => {
      this.#generation += 1;
      this.#remembered.clear();
      this.#verifying.clear();
    };
  }

  /** Follows changes of the keys from now on. Resolves once the keys match their files. */
  watchKeys(logger: Logger, onObstacle: KeyObstacleListener = () => {}): Promise<void> {
    this.#keys.onObstacle = onObstacle;
    return this.#keys.watch(logger);
  }

  close(): void {
    this.#keys.close();
  }

  /** Verifies a token. Never throws or rejects. A remembered token gives the same frozen object. @param authorization `''` if absent. */
  verify(authorization: string): TokenOutcome | Promise<TokenOutcome> {
    const known = this.#recall(authorization);
    if (known !== undefined) return known;
    const token = bearerToken(authorization);
    if (token === '') return this.#countRefusal(MISSING);
    if (this.#keys.isEmpty) return this.#countRefusal(invalidRefusal('key'));
    if (!isCanonical(token)) return this.#countRefusal(invalidRefusal('not-a-jwt'));
    // Clients may write `bearer` in any case, and any number of spaces after it.
    const canonical = `Bearer ${token}`;
    return this.#recall(canonical) ?? this.#verifying.get(canonical) ?? this.#verifyAndRemember(canonical, token);
  }

  #countRefusal(refused: Refused): Refused {
    this.counts[refused.reason] += 1;
    return refused;
  }

  #recall(authorization: string): TokenOutcome | undefined {
    const end = authorization.slice(-CACHE_KEY_CHARS);
    const known = this.#remembered.get(end);
    if (known?.authorization !== authorization) return undefined;
    if (this.#nowMs() >= known.expiresAtMs) {
      this.#remembered.delete(end);
      return this.#countRefusal(EXPIRED);
    }
    this.counts.remembered += 1;
    return known.verified;
  }

  #verifyAndRemember(authorization: string, token: string): Promise<TokenOutcome> {
    const generation = this.#generation;
    const verifying = this.#verifyToken(token).then(({ outcome, expiresAtMs }) => {
      const isCurrent = generation === this.#generation;
      if (isCurrent) this.#verifying.delete(authorization);
      this.counts[outcome.kind === 'subject' ? 'verified' : outcome.reason] += 1;
      if (outcome.kind === 'subject' && isCurrent) this.#remember({ authorization, verified: outcome, expiresAtMs });
      return outcome;
    });
    if (this.#verifying.size < this.#bounds.joinableMax) this.#verifying.set(authorization, verifying);
    return verifying;
  }

  async #verifyToken(token: string): Promise<TimedOutcome> {
    try {
      const payload = await this.#verifiedPayload(token);
      const { sub, exp } = payload;
      if (typeof sub !== 'string' || sub === '' || exp === undefined) throw new InvalidToken('claims');
      const expiresAtMs = Math.ceil(exp) * 1_000;
      // The leeway is meant for `nbf` only, but the library extends the end of the token's life by it, too: so `exp` is checked here.
      if (this.#nowMs() >= expiresAtMs) return { outcome: EXPIRED, expiresAtMs: 0 };
      const roleAndTeams = this.#roleClaims && roleAndTeamsOf(payload, this.#roleClaims);
      const verified = Object.freeze({ kind: 'subject' as const, subject: sub, ...(roleAndTeams && { roleAndTeams }) });
      return { outcome: verified, expiresAtMs };
    } catch (error) {
      // The caller must not learn which check failed (specification 2.2).
      return { outcome: refusalFor(error), expiresAtMs: 0 };
    }
  }

  /** Tries each of the issuer's keys that the token's header allows. Rejects if the token is not valid. */
  async #verifiedPayload(token: string): Promise<JWTPayload> {
    const { alg = '', kid } = decodeProtectedHeader(token);
    const { iss } = decodeJwt(token);
    const source = typeof iss === 'string' ? this.#keys.keysOfIssuer(iss) : undefined;
    if (source === undefined) throw new InvalidToken('issuer');
    const claims = {
      algorithms: [alg],
      audience: this.#audience,
      requiredClaims: ['exp', 'sub'],
      currentDate: new Date(this.#nowMs()),
      clockTolerance: this.#leewaySeconds,
    };
    for (;;) {
      const { keys } = source;
      const candidates = keys.candidatesFor(alg, kid);
      for (const { key } of candidates) {
        try {
          return (await jwtVerify(token, key, claims)).payload;
        } catch (error) {
          if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
        }
      }
      // If keys fit the token's `kid`, nothing is fetched: a newer key of the issuer would have another id.
      if (candidates.length === 0 || kid === undefined) await source.renew?.();
      if (source.keys !== keys) continue;
      if (source.areUnknown === true) throw new KeysUnavailable();
      throw new InvalidToken(candidates.length > 0 ? 'signature' : keys.hasAlgorithm(alg) ? 'key' : 'algorithm');
    }
  }

  #remember(token: RememberedToken): void {
    const { authorization } = token;
    if (authorization.length <= this.#bounds.headerCharsMax)
      this.#remembered.set(authorization.slice(-CACHE_KEY_CHARS), token);
  }
}

function invalidRefusal(cause: TokenFault): Refused {
  return { kind: 'refused', reason: 'invalid', cause };
}

function refusalFor(error: unknown): Refused {
  if (error instanceof errors.JWTExpired) return EXPIRED;
  return error instanceof KeysUnavailable ? UNAVAILABLE : invalidRefusal(faultOf(error));
}

function faultOf(error: unknown): TokenFault {
  if (error instanceof InvalidToken) return error.fault;
  if (error instanceof errors.JWTClaimValidationFailed) return FAULT_BY_CLAIM[error.claim] ?? 'claims';
  return 'not-a-jwt';
}

const FAULT_BY_CLAIM: Readonly<Record<string, TokenFault>> = { aud: 'audience', nbf: 'not-yet' };

function memoryBytesOf({ authorization, verified }: RememberedToken): number {
  const texts = [verified.subject, ...(verified.roleAndTeams?.teams ?? [])];
  const chars = texts.reduce((sum, { length }) => sum + length, authorization.length);
  return 2 * chars + ENTRY_OVERHEAD_BYTES;
}

/**
 * Whether the token's three parts are base64url as encoders write it (RFC 7515). Decoders also accept white space and stray bits at the
 * end, so that one token could be spelled in many ways.
 */
function isCanonical(token: string): boolean {
  const parts = token.split('.', 4);
  return parts.length === 3 && parts.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
}
