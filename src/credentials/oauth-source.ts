// Where one upstream session gets its access token: from its backend's `auth`, its client's secret and, where that is exchanged, the
// caller's token. Synchronous while a token is valid. Warm path.
import type { UpstreamOptions } from '../config/index.js';
import { SecretKeys } from './secrets/secret-keys.js';
import type { StoredSecrets } from './secrets/stored-secrets.js';
import type { UserGrants } from './secrets/user-grants.js';
import type { DeadlineWheel } from '../fair/index.js';
import type { OAuthAuth } from '../user-config/index.js';
import { type RequestMetadata, upstreamFault } from '../http-client/index.js';
import { ConnectLinks } from './connect-links.js';
import { Secrets } from './secrets.js';
import type { CredentialRead, Token } from './token.js';
import type { OAuthMeans } from './token-endpoint.js';
import { Tokens } from './tokens.js';
import { UserTokens } from './user-tokens.js';

export interface OAuthSourceMeans {
  readonly secrets: Secrets;
  readonly tokens: Tokens;
  /** Tokens from users' grants. */
  readonly users: UserTokens;
  readonly mode: UpstreamOptions['mode'];
}

interface CredentialParts extends OAuthMeans {
  readonly deadlines: DeadlineWheel;
  readonly storedSecrets?: Pick<StoredSecrets, 'read'> | undefined;
  readonly userGrants?: UserGrants | undefined;
}

/** What gets the credentials for all backends of one process, with its options. */
export function createCredentials(
  {
    mode,
    secretsDirectory,
    connectUrl,
    secretKeys,
  }: Pick<UpstreamOptions, 'mode' | 'secretsDirectory' | 'connectUrl' | 'secretKeys'>,
  { http, deadlines, storedSecrets, userGrants: grants }: CredentialParts,
): OAuthSourceMeans {
  const nowMs = (): number => deadlines.nowMs();
  const secrets = new Secrets(secretsDirectory, nowMs, storedSecrets);
  const links = new ConnectLinks(connectUrl, new SecretKeys(secretKeys));
  const { random } = Math;
  const users = new UserTokens({ http, deadlines, secrets, mode, links, grants }, { nowMs: Date.now, random });
  return { secrets, tokens: new Tokens({ http }, { nowMs, random }), users, mode };
}

const NONE: readonly string[] = [];

export class OAuthSource {
  readonly #auth: OAuthAuth;
  readonly #origin: string;
  readonly #endpointOrigin: string;
  readonly #subject: string;
  readonly #means: OAuthSourceMeans;
  #token: Token | undefined;
  /** The secret that `#token` was obtained with. */
  #clientSecret = '';
  #callerToken = '';

  /** @param origin the backend's. */
  constructor(auth: OAuthAuth, origin: string, subject: string, means: OAuthSourceMeans) {
    this.#auth = auth;
    this.#origin = origin;
    this.#endpointOrigin = new URL(auth.token_endpoint).origin;
    this.#subject = subject;
    this.#means = means;
  }

  read({ callerToken }: RequestMetadata): CredentialRead | Promise<CredentialRead> {
    const { mode, secrets } = this.#means;
    if (mode === 'tls-only' && this.#endpointOrigin.startsWith('http:'))
      return upstreamFault('plain-text-refused', true);
    if (this.#auth.type === 'token-exchange' && callerToken === '') return upstreamFault('caller-token-missing', true);
    // The secret goes to the token endpoint, and the token obtained with it to the backend.
    const secret = secrets.textOf(this.#auth.client_secret, this.#endpointOrigin, this.#origin);
    if (secret instanceof Promise) {
      return secret.then((late) => (typeof late === 'string' ? this.#read(late, callerToken) : late));
    }
    return typeof secret === 'string' ? this.#read(secret, callerToken) : secret;
  }

  /** The headers as last known for this caller. */
  current({ callerToken }: RequestMetadata): readonly string[] {
    const isSame = callerToken === '' || callerToken === this.#callerToken;
    const token = isSame ? this.#token : this.#find(this.#clientSecret, callerToken);
    return token?.headers ?? NONE;
  }

  refuse(headers: readonly string[]): boolean {
    return this.#token?.refuse(headers) === true;
  }

  #read(clientSecret: string, callerToken: string): CredentialRead | Promise<CredentialRead> {
    if (this.#token === undefined || clientSecret !== this.#clientSecret || callerToken !== this.#callerToken) {
      this.#token = this.#find(clientSecret, callerToken);
      this.#clientSecret = clientSecret;
      this.#callerToken = callerToken;
    }
    return this.#token.read(this.#subject);
  }

  #find(clientSecret: string, callerToken: string): Token {
    return this.#means.tokens.find(this.#subject, this.#origin, { auth: this.#auth, clientSecret, callerToken });
  }
}
