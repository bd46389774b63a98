// The access tokens that a process knows, of all backends and callers. Bounded, and fairly: who has the most loses the oldest.
// A session keeps the token that it uses, whatever is forgotten here. Cold: asked once a session and credential.
import { createHash } from 'node:crypto';
import { limits } from '../../shared/limits.js';
import type { OAuthMeans } from './oauth-fetch.js';
import { Token, type TokenClock } from './token.js';
import { requestToken, type TokenRequest } from './token-endpoint.js';

interface KnownToken {
  readonly token: Token;
  /** Who needed it first. */
  readonly subject: string;
}

export class Tokens {
  readonly #means: OAuthMeans;
  readonly #clock: TokenClock;
  readonly #known = new Map<string, KnownToken>();
  /** Keys by subject, the oldest first. */
  readonly #bySubject = new Map<string, Set<string>>();

  constructor(means: OAuthMeans, clock: TokenClock) {
    this.#means = means;
    this.#clock = clock;
  }

  /**
   * @param origin of the backend that is to see it: what is meant for one is shown to no other.
   * @param subject whose token is exchanged, or who needs one; a token that is not the caller's own is shared by all who need it.
   */
  find(subject: string, origin: string, request: TokenRequest): Token {
    const key = keyOf(request.auth.type === 'token-exchange' ? subject : '', origin, request);
    const known = this.#known.get(key);
    if (known !== undefined) return known.token;
    const token = new Token((who) => requestToken(this.#means, who, request), this.#clock);
    this.#makeRoom(subject);
    this.#known.set(key, { token, subject });
    const keys = this.#bySubject.get(subject) ?? new Set();
    this.#bySubject.set(subject, keys.add(key));
    return token;
  }

  get count(): number {
    return this.#known.size;
  }

  #makeRoom(subject: string): void {
    const own = this.#bySubject.get(subject)?.size ?? 0;
    if (own >= limits.tokensPerSubjectMax) this.#forgetOldest(subject);
    else if (this.#known.size >= limits.tokensKnownMax) this.#forgetOldest(this.#subjectWithMost() ?? subject);
  }

  #subjectWithMost(): string | undefined {
    let most: readonly [subject: string, count: number] | undefined;
    for (const [subject, { size }] of this.#bySubject) if (size > (most?.[1] ?? 0)) most = [subject, size];
    return most?.[0];
  }

  #forgetOldest(subject: string): void {
    const keys = this.#bySubject.get(subject);
    const [oldest] = keys ?? [];
    if (keys === undefined || oldest === undefined) return;
    keys.delete(oldest);
    if (keys.size === 0) this.#bySubject.delete(subject);
    this.#known.delete(oldest);
  }
}

/** Of what is secret in it nothing can be told: it is a hash. */
function keyOf(subject: string, origin: string, { auth, clientSecret, callerToken }: TokenRequest): string {
  const { type, token_endpoint: endpoint, client_id: client, scope, resource, audience } = auth;
  const parts = [type, endpoint, client, auth.client_authentication ?? 'basic', scope, resource, audience];
  const text = JSON.stringify([...parts.map((part) => part ?? null), clientSecret, subject, origin, callerToken]);
  return createHash('sha256').update(text).digest('base64');
}
