// Gets an upstream session's access token, with the secret of the gateway's client and, for a token exchange, with the caller's token.
// Synchronous while a token is valid. Warm path.
import type { UpstreamOptions } from '../config/index.js';
import { SecretKeys } from './secrets/secret-keys.js';
import { Secrets, type StoredSecrets } from './secrets.js';
import type { UserGrants } from './secrets/user-grants.js';
import { type DeadlineWheel, FairCache } from '../fair/index.js';
import type { OAuthAuth } from '../user-config/index.js';
import { type RequestMetadata, upstreamFault } from '../http-client/index.js';
import { ConnectLinks } from './connect-links.js';
import { type HeadersOrFault, Token, type ClockAndRandom } from './token.js';
import { type OAuthDependencies, requestToken, type OAuthTokenRequest } from './token-endpoint.js';
import { UserTokens } from './user-tokens.js';
import { createHash } from 'node:crypto';
import { MIB } from '../shared/index.js';

export interface OAuthSourceDependencies {
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  readonly users: UserTokens;
  readonly mode: UpstreamOptions['mode'];
}

interface CredentialDependencies extends OAuthDependencies {
  readonly deadlines: DeadlineWheel;
  readonly storedSecrets?: Pick<StoredSecrets, 'read'> | undefined;
  readonly userGrants?: UserGrants | undefined;
}

export function createCredentials(
  {
    mode,
    secretsDirectory,
    connectUrl,
    secretKeys,
  }: Pick<UpstreamOptions, 'mode' | 'secretsDirectory' | 'connectUrl' | 'secretKeys'>,
  { http, deadlines, storedSecrets, userGrants: grants }: CredentialDependencies,
): OAuthSourceDependencies {
  const nowMs = (): number => deadlines.nowMs();
  const secrets = new Secrets(secretsDirectory, nowMs, storedSecrets);
  const links = new ConnectLinks(connectUrl, new SecretKeys(secretKeys));
  const { random } = Math;
  const users = new UserTokens({ http, deadlines, secrets, mode, links, grants }, { nowMs: Date.now, random });
  return { secrets, tokens: new Tokens({ http }, { nowMs, random }), users, mode };
}

const NO_HEADERS: readonly string[] = [];

export class OAuthSource {
  readonly #auth: OAuthAuth;
  readonly #origin: string;
  readonly #endpointOrigin: string;
  readonly #subject: string;
  readonly #dependencies: OAuthSourceDependencies;
  #token: Token | undefined;
  /** The client's secret with which `#token` was obtained. */
  #clientSecret = '';
  #callerToken = '';

  /** @param origin of the backend. */
  constructor(auth: OAuthAuth, origin: string, subject: string, dependencies: OAuthSourceDependencies) {
    this.#auth = auth;
    this.#origin = origin;
    this.#endpointOrigin = new URL(auth.token_endpoint).origin;
    this.#subject = subject;
    this.#dependencies = dependencies;
  }

  read({ callerToken }: RequestMetadata): HeadersOrFault | Promise<HeadersOrFault> {
    const { mode, secrets } = this.#dependencies;
    if (mode === 'tls-only' && this.#endpointOrigin.startsWith('http:'))
      return upstreamFault('plain-text-refused', true);
    if (this.#auth.type === 'token-exchange' && callerToken === '') return upstreamFault('caller-token-missing', true);
    // The secret goes to the token endpoint, and the token that it yields to the backend: both must be allowed.
    const secret = secrets.secretOf(this.#auth.client_secret, this.#endpointOrigin, this.#origin);
    if (secret instanceof Promise) {
      return secret.then((late) => (typeof late === 'string' ? this.#read(late, callerToken) : late));
    }
    return typeof secret === 'string' ? this.#read(secret, callerToken) : secret;
  }

  currentHeaders({ callerToken }: RequestMetadata): readonly string[] {
    const isSame = callerToken === '' || callerToken === this.#callerToken;
    const token = isSame ? this.#token : this.#findToken(this.#clientSecret, callerToken);
    return token?.headers ?? NO_HEADERS;
  }

  onRejected(headers: readonly string[]): boolean {
    return this.#token?.onRejected(headers) === true;
  }

  #read(clientSecret: string, callerToken: string): HeadersOrFault | Promise<HeadersOrFault> {
    if (this.#token === undefined || clientSecret !== this.#clientSecret || callerToken !== this.#callerToken) {
      this.#token = this.#findToken(clientSecret, callerToken);
      this.#clientSecret = clientSecret;
      this.#callerToken = callerToken;
    }
    return this.#token.read(this.#subject);
  }

  #findToken(clientSecret: string, callerToken: string): Token {
    return this.#dependencies.tokens.find(this.#subject, this.#origin, { auth: this.#auth, clientSecret, callerToken });
  }
}

/** The most access tokens that a process caches. Beyond that, the subject with the most loses its oldest; sessions keep those that they use. */
export const TOKENS_CACHED_MAX = 16_384;
/** The most cached tokens that one subject was the first to need. Beyond that, the subject loses its oldest. */
export const TOKENS_PER_SUBJECT_MAX = 512;
/** The most bytes of cached tokens, and of callers' tokens exchanged for them. Beyond that, the subject with the most loses its oldest. */
export const TOKENS_BYTES_MAX = 64 * MIB;
/** The most bytes of cached tokens that one subject was the first to need. Beyond that, the subject loses its oldest. */
export const TOKENS_BYTES_PER_SUBJECT_MAX = 8 * MIB;

/** Estimated bytes of a token's key and objects. */
const OWN_BYTES = 1_024;

const BOUNDS = {
  entriesMax: TOKENS_CACHED_MAX,
  entriesPerSubjectMax: TOKENS_PER_SUBJECT_MAX,
  bytesMax: TOKENS_BYTES_MAX,
  bytesPerSubjectMax: TOKENS_BYTES_PER_SUBJECT_MAX,
};

/** Caches the tokens for all backends and callers of a process. Cold path: used once per session and credential. */
export class Tokens {
  readonly #dependencies: OAuthDependencies;
  readonly #clock: ClockAndRandom;
  readonly #known = new FairCache<Token>(BOUNDS);

  constructor(dependencies: OAuthDependencies, clock: ClockAndRandom) {
    this.#dependencies = dependencies;
    this.#clock = clock;
  }

  /**
   * Finds a token, or makes it.
   * @param origin that of the backend: no other origin gets the same token.
   * @param subject the one in whose share the token counts. Only a token from an exchange belongs to one subject.
   */
  find(subject: string, origin: string, request: OAuthTokenRequest): Token {
    const key = keyOf(request.auth.type === 'token-exchange' ? subject : '', origin, request);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const bytes = OWN_BYTES + request.callerToken.length;
    const token: Token = new Token(async (fetchSubject) => {
      const outcome = await requestToken(this.#dependencies, fetchSubject, request);
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

  /** Approximate memory of all tokens. */
  get bytes(): number {
    return this.#known.bytes;
  }
}

/** The key of a token in the cache: a hash, which reveals no secret. */
function keyOf(subject: string, origin: string, { auth, clientSecret, callerToken }: OAuthTokenRequest): string {
  const { type, token_endpoint: endpoint, client_id: client, scope, resource, audience } = auth;
  const parts = [type, endpoint, client, auth.client_authentication ?? 'basic', scope, resource, audience];
  const text = JSON.stringify([...parts.map((part) => part ?? null), clientSecret, subject, origin, callerToken]);
  return createHash('sha256').update(text).digest('base64');
}
