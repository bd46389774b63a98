// Signing in to the console at an OpenID Connect issuer: authorization code with PKCE, state and nonce. The result is an access token that
// this interface accepts like any other. Neither it nor a refresh token is kept here, and no token is ever in a URL. Cold path.
import { randomBytes } from 'node:crypto';
import type { TokenEndpointResponse } from 'oauth4webapi';
import type { RefusalReason, TokenFault, TokenVerifier } from '../../auth/token-verifier.js';
import type { SignInOptions } from '../../config/control-plane-options.js';
import { limits } from '../../shared/limits.js';
import type { Logger } from '../../shared/logger.js';
import { oauthAnswer, toldBy } from '../../upstream/credentials/oauth-answer.js';
import { clientAuth } from '../../upstream/credentials/user-refresh.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { ConnectFetch, type ConnectFetchMeans } from '../connect/connect-fetch.js';
import { BegunSignIns, type BegunSignIn } from './begun-sign-ins.js';
import { askIssuer, issuerFault, type Issuer } from './issuer.js';

/** Seconds by which the issuer's clock may differ from this one when a sign-in's id token is checked. Beyond it, the sign-in fails. */
const SIGN_IN_CLOCK_TOLERANCE_S = 30;

export interface SignInMeans extends ConnectFetchMeans {
  readonly tokens: Pick<TokenVerifier, 'verify'>;
  /** The audience of accepted tokens. */
  readonly audience: string;
  /** Keys that seal what browsers keep. */
  readonly keys: readonly string[];
  readonly logger: Logger;
}

/** A sign-in that has begun. */
export interface Beginning {
  /** The URL at the issuer to continue at. */
  readonly url: string;
  /** What the browser has to keep. */
  readonly kept: string;
}

/** A completed sign-in. */
export interface SignedIn {
  readonly token: string;
  /** Where to end the session at the issuer; `undefined` when it names no such endpoint. */
  readonly signOutUrl: string | undefined;
}

export const SIGN_IN_CALLBACK_PATH = '/ui/sign-in/callback';

const RANDOM_BYTES = 32;

export class SignIn {
  readonly #options: SignInOptions;
  readonly #means: SignInMeans;
  readonly #begun: BegunSignIns;
  readonly #issuer: URL;
  /** IP address → number of its requests under way. */
  readonly #underWay = new Map<string, number>();
  #underWayCount = 0;

  constructor(options: SignInOptions, means: SignInMeans) {
    this.#options = options;
    this.#means = means;
    this.#begun = new BegunSignIns(means.keys);
    this.#issuer = new URL(options.issuer);
  }

  get issuerHost(): string {
    return this.#issuer.host;
  }

  get isTls(): boolean {
    return this.#options.consoleUrl.startsWith('https:');
  }

  /** Rejects with a `ControlPlaneFault`, as does `end`. @param address IP address of the browser. */
  async begin(address: string): Promise<Beginning> {
    return this.#withRoom(address, async () => {
      const oauth = await import('oauth4webapi');
      const { clientId, scope, resource } = this.#options;
      const { authorizationEndpoint } = await askIssuer(this.#fetch(), this.#options.issuer);
      const verifier = oauth.generateRandomCodeVerifier();
      const begun = { state: random(), nonce: random(), verifier, untilMs: Date.now() + limits.signInMs };
      const url = new URL(authorizationEndpoint);
      const parameters = {
        ...{ response_type: 'code', client_id: clientId, redirect_uri: this.#redirectUri, scope },
        ...{ code_challenge: await oauth.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
        ...{ state: begun.state, nonce: begun.nonce },
        ...(resource !== undefined && { resource }),
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return { url: url.href, kept: this.#begun.seal(begun) };
    });
  }

  /**
   * @param query of the callback URL that the issuer redirected the browser to.
   * @param kept by the browser.
   * @param onTaken called once the sign-in is known to be this browser's own: it ends here, successful or not.
   */
  async end(query: string, kept: string, address: string, onTaken: () => void): Promise<SignedIn> {
    if (query.length > limits.signInAnswerCharsMax)
      throw new ControlPlaneFault('sign-in-unreadable', 'The response of the issuer is too long: sign in again.');
    return this.#withRoom(address, async () => {
      const parameters = new URLSearchParams(query);
      const begun = this.#begun.take(kept, parameters.get('state') ?? '', Date.now());
      onTaken();
      const fetch = this.#fetch();
      const issuer = await askIssuer(fetch, this.#options.issuer);
      const { access_token: token } = await this.#exchange(fetch, issuer, parameters, begun);
      await this.#check(token);
      this.#means.logger.info('somebody has signed in to the console');
      return { token, signOutUrl: this.#signOutUrl(issuer) };
    });
  }

  /** Also checks the ID token: issuer, audience, times and nonce. Its signature is not needed, as it comes from the issuer over TLS. */
  async #exchange(
    fetch: ConnectFetch,
    { server }: Issuer,
    query: URLSearchParams,
    { state, nonce, verifier }: BegunSignIn,
  ): Promise<TokenEndpointResponse> {
    const oauth = await import('oauth4webapi');
    const { clientId, clientSecret, resource } = this.#options;
    const client = { client_id: clientId, [oauth.clockTolerance]: SIGN_IN_CLOCK_TOLERANCE_S };
    const methods = server.token_endpoint_auth_methods_supported ?? [];
    const isPosted = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
    const authentication = clientSecret === undefined ? 'none' : isPosted ? 'post' : 'basic';
    try {
      const parameters = oauth.validateAuthResponse(server, client, query, state);
      const answer = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        await clientAuth(authentication, clientSecret),
        parameters,
        this.#redirectUri,
        verifier,
        {
          ...(resource !== undefined && { additionalParameters: { resource } }),
          [oauth.customFetch]: fetch.fetch,
          [oauth.allowInsecureRequests]: true,
        },
      );
      return await oauth.processAuthorizationCodeResponse(server, client, await oauthAnswer(answer, 'sign-in'), {
        expectedNonce: nonce,
        requireIdToken: true,
      });
    } catch (error) {
      throw this.#exchangeFault(error);
    }
  }

  /** Of an issuer's response, only its error code is repeated. */
  #exchangeFault(error: unknown): ControlPlaneFault {
    const { error: code } = error as { readonly error?: unknown };
    if (code === 'access_denied')
      return new ControlPlaneFault('sign-in-refused', `You are not signed in: it was refused at ${this.issuerHost}.`, {
        cause: error,
      });
    const told = toldBy(error);
    if (told === undefined) return issuerFault(error, this.#issuer);
    this.#means.logger.warn({ err: error }, 'the issuer for signing in to the console did not respond as expected');
    const advice =
      code === 'invalid_client'
        ? ': the operator has to check --sign-in-client-id and --sign-in-client-secret-file'
        : '';
    return new ControlPlaneFault(
      'sign-in-failed',
      `The issuer ${this.issuerHost} did not sign you in${told}${advice}.`,
      { cause: error },
    );
  }

  /** Throws if this interface would refuse the token, and says why: only the operator of the issuer or the gateway can fix it. */
  async #check(token: string): Promise<void> {
    if (token.length > limits.requestHeaderBytesMax / 2)
      throw this.#refusal('is longer than a request header may be: configure the issuer to put fewer claims into it');
    const verified = await this.#means.tokens.verify(`Bearer ${token}`);
    if (verified.kind === 'subject') return;
    throw this.#refusal(this.#wordsOf(verified.reason, verified.cause));
  }

  #refusal(what: string): ControlPlaneFault {
    return new ControlPlaneFault(
      'sign-in-failed',
      `You signed in at ${this.issuerHost}, but the access token that it issued ${what}.`,
    );
  }

  #wordsOf(reason: RefusalReason, cause: TokenFault | undefined): string {
    if (reason === 'expired') return 'has already expired: check the clocks of both machines';
    if (reason === 'unavailable') return 'cannot be verified, as the keys of the issuer cannot be fetched: try again';
    const { audience } = this.#means;
    switch (cause) {
      case 'audience':
        return `is not for the audience ${audience}: configure the issuer to put it into aud, or the gateway with --token-audience`;
      case 'issuer':
        return 'is from another issuer: add that to --token-jwks-url';
      case 'not-yet':
        return 'is not valid yet: check the clocks of both machines';
      case 'claims':
        return 'has no subject (sub) or no expiry (exp), or a claim of a wrong type: configure the issuer to put them in';
      case 'key':
      case 'algorithm':
      case 'signature':
        return 'is signed with a key that the gateway does not have for this issuer: check --token-jwks-url';
      default:
        return 'is not a JWT: configure the issuer to issue JWTs to this client, which may need --sign-in-resource';
    }
  }

  /** Without the ID token, which would end up in browser histories: the issuer asks the user instead. */
  #signOutUrl({ endSessionEndpoint }: Issuer): string | undefined {
    if (endSessionEndpoint === undefined) return undefined;
    const url = new URL(endSessionEndpoint);
    url.searchParams.set('client_id', this.#options.clientId);
    return url.href;
  }

  #fetch(): ConnectFetch {
    return new ConnectFetch(this.#means, '');
  }

  get #redirectUri(): string {
    return this.#options.consoleUrl + SIGN_IN_CALLBACK_PATH;
  }

  async #withRoom<Value>(address: string, work: () => Promise<Value>): Promise<Value> {
    const own = this.#underWay.get(address) ?? 0;
    if (own >= limits.signInsAtOncePerAddressMax || this.#underWayCount >= limits.signInsAtOnceMax)
      throw new ControlPlaneFault('sign-ins-full', 'Too many people are signing in at the moment: try again.');
    this.#underWay.set(address, own + 1);
    this.#underWayCount += 1;
    try {
      return await work();
    } finally {
      this.#underWayCount -= 1;
      const left = (this.#underWay.get(address) ?? 1) - 1;
      if (left > 0) this.#underWay.set(address, left);
      else this.#underWay.delete(address);
    }
  }
}

function random(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}
