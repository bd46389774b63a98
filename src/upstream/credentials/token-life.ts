// How long an access token is used, and when it is renewed. Cold path: once per token.

/** On the clock of this process, in milliseconds. */
export interface TokenLife {
  readonly goodUntilMs: number;
  readonly renewAtMs: number;
}

/** A token is renewed at a random point between these fractions of its life, so that many processes do not renew at once. */
const RENEWAL_FROM = 0.7;
const RENEWAL_UNTIL = 0.85;
/** Servers count lifetimes in whole seconds, from the moment of issue. */
const MARGIN_MS = 1_000;

/** @param random from 0 up to 1. */
export function tokenLife(issuedAtMs: number, lifetimeMs: number, random: number): TokenLife {
  const lifeMs = Math.max(lifetimeMs / 2, lifetimeMs - MARGIN_MS);
  const part = RENEWAL_FROM + (RENEWAL_UNTIL - RENEWAL_FROM) * random;
  return { goodUntilMs: issuedAtMs + lifeMs, renewAtMs: issuedAtMs + lifeMs * part };
}
