// The access tokens that a process holds, for all backends and callers. Bounded fairly by count and by bytes: the subject that holds the
// most loses its oldest token. A session keeps the token it uses even after it is forgotten here. Cold path: once per session and
// credential.
import { createHash } from 'node:crypto';
import { FairCache } from '../fair/index.js';
import { Token, type ClockAndRandom } from './token.js';
import { requestToken, type OAuthMeans, type OAuthTokenRequest } from './token-endpoint.js';
import { MIB } from '../shared/index.js';

/** Access tokens that a process caches. Beyond that, the subject with the most loses its oldest one; sessions keep theirs. */
export const TOKENS_KNOWN_MAX = 16_384;
/** Cached access tokens that one subject was the first to need. Beyond that, the subject loses its oldest one. */
export const TOKENS_PER_SUBJECT_MAX = 512;
/**
 * Bytes of the cached access tokens, and of the callers' tokens that they were exchanged for. Beyond that, the subject with the most loses
 * its oldest one; sessions keep theirs.
 */
export const TOKENS_BYTES_MAX = 64 * MIB;
/** Bytes of the cached access tokens that one subject was the first to need. Beyond that, the subject loses its oldest one. */
export const TOKENS_BYTES_PER_SUBJECT_MAX = 8 * MIB;

/** The fixed cost of one token: its key and its objects. */
const OWN_BYTES = 1_024;

/** The tokens of the subjects that needed them first. */
const BOUNDS = {
  entriesMax: TOKENS_KNOWN_MAX,
  entriesPerSubjectMax: TOKENS_PER_SUBJECT_MAX,
  bytesMax: TOKENS_BYTES_MAX,
  bytesPerSubjectMax: TOKENS_BYTES_PER_SUBJECT_MAX,
};

export class Tokens {
  readonly #means: OAuthMeans;
  readonly #clock: ClockAndRandom;
  readonly #known = new FairCache<Token>(BOUNDS);

  constructor(means: OAuthMeans, clock: ClockAndRandom) {
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
    if (known !== undefined) return known;
    const bytes = OWN_BYTES + request.callerToken.length;
    const token: Token = new Token(async (who) => {
      const outcome = await requestToken(this.#means, who, request);
      const isIssued = !('kind' in outcome) && this.#known.get(key) === token;
      if (isIssued)
        this.#known.set(
          subject,
          key,
          token,
          outcome.headers.reduce((sum, { length }) => sum + length, bytes),
        );
      return outcome;
    }, this.#clock);
    this.#known.set(subject, key, token, bytes);
    return token;
  }

  get count(): number {
    return this.#known.count;
  }

  /** Approximate memory of all tokens, in bytes. */
  get bytes(): number {
    return this.#known.bytes;
  }
}

/** A hash, so that the key reveals no secret. */
function keyOf(subject: string, origin: string, { auth, clientSecret, callerToken }: OAuthTokenRequest): string {
  const { type, token_endpoint: endpoint, client_id: client, scope, resource, audience } = auth;
  const parts = [type, endpoint, client, auth.client_authentication ?? 'basic', scope, resource, audience];
  const text = JSON.stringify([...parts.map((part) => part ?? null), clientSecret, subject, origin, callerToken]);
  return createHash('sha256').update(text).digest('base64');
}
