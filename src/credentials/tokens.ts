// The access tokens that a process holds, for all backends and callers. Bounded fairly by count and by bytes: the subject that holds the
// most loses its oldest token. A session keeps the token it uses even after it is forgotten here. Cold path: once per session and
// credential.
import { createHash } from 'node:crypto';
import type { UpstreamFault } from '../http-client/index.js';
import type { OAuthMeans } from './oauth-fetch.js';
import { Token, type TokenClock } from './token.js';
import { requestToken, type IssuedToken, type OAuthTokenRequest } from './token-endpoint.js';
import { MIB } from '../shared/index.js';

/** Access tokens that a process caches. Beyond it, the subject with the most loses its oldest one; sessions keep theirs. */
export const TOKENS_KNOWN_MAX = 16_384;
/** Cached access tokens that one subject was the first to need. Beyond it, the subject loses its oldest one. */
export const TOKENS_PER_SUBJECT_MAX = 512;
/**
 * Bytes of the cached access tokens, and of the callers' tokens that they were exchanged for. Beyond it, the subject with the most loses
 * its oldest one; sessions keep theirs.
 */
export const TOKENS_BYTES_MAX = 64 * MIB;
/** Bytes of the cached access tokens that one subject was the first to need. Beyond it, the subject loses its oldest one. */
export const TOKENS_BYTES_PER_SUBJECT_MAX = 8 * MIB;

/** The fixed cost of one token: its key and its objects. */
const OWN_BYTES = 1_024;

interface KnownToken {
  readonly token: Token;
  /** The share of the subject that needed it first. */
  readonly share: TokenShare;
  /** Without the issued token. */
  readonly requestBytes: number;
  bytes: number;
}

/** The tokens that one subject was the first to need. */
interface TokenShare {
  readonly subject: string;
  /** Oldest first. */
  readonly keys: Set<string>;
  bytes: number;
}

export class Tokens {
  readonly #means: OAuthMeans;
  readonly #clock: TokenClock;
  readonly #known = new Map<string, KnownToken>();
  readonly #shares = new Map<string, TokenShare>();
  #bytes = 0;

  constructor(means: OAuthMeans, clock: TokenClock) {
    this.#means = means;
    this.#clock = clock;
  }

  /**
   * @param origin of the backend that will receive the token: a token for one backend is never sent to another.
   * @param subject whose token is exchanged, or who needs one; a token that is not the caller's own is shared by all subjects that need it.
   */
  find(subject: string, origin: string, request: OAuthTokenRequest): Token {
    const key = keyOf(request.auth.type === 'token-exchange' ? subject : '', origin, request);
    const known = this.#known.get(key);
    if (known !== undefined) return known.token;
    const token = new Token((who) => this.#fetch(who, key, request), this.#clock);
    this.#makeRoom(subject);
    this.#add(key, subject, token, OWN_BYTES + request.callerToken.length);
    return token;
  }

  get count(): number {
    return this.#known.size;
  }

  /** Approximate memory of all tokens, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  async #fetch(who: string, key: string, request: OAuthTokenRequest): Promise<IssuedToken | UpstreamFault> {
    const outcome = await requestToken(this.#means, who, request);
    const known = this.#known.get(key);
    if (known !== undefined && !('kind' in outcome)) {
      this.#weigh(known, known.requestBytes + outcome.headers.reduce((sum, { length }) => sum + length, 0));
    }
    return outcome;
  }

  #add(key: string, subject: string, token: Token, bytes: number): void {
    const share = this.#shares.get(subject) ?? { subject, keys: new Set(), bytes: 0 };
    this.#shares.set(subject, share);
    share.keys.add(key);
    const known = { token, share, requestBytes: bytes, bytes: 0 };
    this.#known.set(key, known);
    this.#weigh(known, bytes);
  }

  /** Records the token's new size and, if a limit is exceeded, forgets other tokens or this one. */
  #weigh(known: KnownToken, bytes: number): void {
    this.#count(known, bytes);
    while (known.share.bytes > TOKENS_BYTES_PER_SUBJECT_MAX) this.#forgetOldest(known.share);
    while (this.#bytes > TOKENS_BYTES_MAX) this.#forgetOldest(this.#shareWithMost(({ bytes: most }) => most));
  }

  #count(known: KnownToken, bytes: number): void {
    known.share.bytes += bytes - known.bytes;
    this.#bytes += bytes - known.bytes;
    known.bytes = bytes;
  }

  #makeRoom(subject: string): void {
    const own = this.#shares.get(subject);
    if (own !== undefined && own.keys.size >= TOKENS_PER_SUBJECT_MAX) this.#forgetOldest(own);
    else if (this.#known.size >= TOKENS_KNOWN_MAX) this.#forgetOldest(this.#shareWithMost(({ keys }) => keys.size));
  }

  #shareWithMost(measure: (share: TokenShare) => number): TokenShare | undefined {
    let most: TokenShare | undefined;
    for (const share of this.#shares.values()) if (most === undefined || measure(share) > measure(most)) most = share;
    return most;
  }

  #forgetOldest(share: TokenShare | undefined): void {
    const [oldest = ''] = share?.keys ?? [];
    const known = this.#known.get(oldest);
    if (share === undefined || known === undefined) return;
    this.#count(known, 0);
    share.keys.delete(oldest);
    if (share.keys.size === 0) this.#shares.delete(share.subject);
    this.#known.delete(oldest);
  }
}

/** A hash, so that the key reveals no secret. */
function keyOf(subject: string, origin: string, { auth, clientSecret, callerToken }: OAuthTokenRequest): string {
  const { type, token_endpoint: endpoint, client_id: client, scope, resource, audience } = auth;
  const parts = [type, endpoint, client, auth.client_authentication ?? 'basic', scope, resource, audience];
  const text = JSON.stringify([...parts.map((part) => part ?? null), clientSecret, subject, origin, callerToken]);
  return createHash('sha256').update(text).digest('base64');
}
