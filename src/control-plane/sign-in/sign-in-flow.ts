// Sign-in to the console at an OpenID Connect issuer: authorization code with PKCE, state and nonce. The result is an access token
// for this interface. This process keeps no token, and puts none into a URL. Cold path.
import { openValue, sealValue, SecretKeys } from '../../credentials/index.js';
import { randomBytes } from 'node:crypto';
import type { AuthorizationServer } from 'oauth4webapi';
import type { RefusalReason, TokenFault, TokenVerifier } from '../../auth/index.js';
import type { SignInOptions } from '../../config/index.js';
import { Quota } from '../../fair/index.js';
import { limits, type Logger } from '../../shared/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { authorizationUrl, createVerifier, describeError, exchangeCode } from '../connect/code-flow.js';
import { ConnectFetch, type ConnectFetchDependencies } from '../connect/connect-fetch.js';

/** The issuer's metadata, fetched for each sign-in, so that people are told at once if it is down. Rejects with a `ControlPlaneFault`. */
async function fetchIssuerMetadata(fetch: ConnectFetch, issuer: string): Promise<IssuerMetadata> {
  const url = new URL(issuer);
  try {
    const metadata = await fetch.fetchObject(new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`));
    if (typeof metadata?.['issuer'] !== 'string' || new URL(metadata['issuer']).href !== url.href)
      throw new Error('it names no issuer, or another one');
    const server = metadata as unknown as IssuerMetadata;
    checkEndpoint(fetch, server.authorization_endpoint, url);
    if (server.end_session_endpoint !== undefined) checkEndpoint(fetch, server.end_session_endpoint, url);
    return server;
  } catch (error) {
    throw issuerFault(error, url);
  }
}

type IssuerMetadata = AuthorizationServer & { readonly authorization_endpoint: string };

function issuerFault(error: unknown, { host }: URL): ControlPlaneFault {
  if (!(error instanceof ControlPlaneFault))
    return signInFault(
      `The issuer ${host} does not publish what OpenID Connect requires: the operator has to check --sign-in-issuer.`,
      error,
    );
  const isUnreachable = error.code === 'party-unfit' || error.code === 'party-silent';
  return isUnreachable ? signInFault(`The issuer ${host} cannot be reached. ${error.message}`, error) : error;
}

function signInFault(words: string, cause?: unknown): ControlPlaneFault {
  return new ControlPlaneFault('sign-in-failed', words, { cause });
}

function checkEndpoint(fetch: ConnectFetch, text: unknown, { host }: URL): void {
  if (typeof text !== 'string' || !URL.canParse(text) || text.length > limits.oauthMemberCharsMax)
    throw signInFault(`The issuer ${host} names no authorization endpoint.`);
  fetch.checkUrl(new URL(text));
}

// A sign-in in progress is sealed and kept by its browser, so that abandoned ones take no memory here. Completed ones are
// remembered for as long as they could be replayed.

/** The most completed sign-ins to remember. Beyond that, the oldest is forgotten; its issuer accepts no code twice anyway. */
export const SIGN_INS_ENDED_MAX = 10_000;

export interface PendingSignIn {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** When the sign-in expires, in ms of the wall clock. */
  readonly untilMs: number;
}

const SEAL_USE = 'console sign-in';
const KEY_BYTES = 32;

export class PendingSignIns {
  readonly #keys: SecretKeys;
  /** For each completed sign-in, by its `state`: when it expires, in ms of the wall clock. The oldest is first. */
  readonly #endedSignIns = new Map<string, number>();

  /** @param keys may be empty: then only this process can open what it has sealed. */
  constructor(keys: readonly string[]) {
    this.#keys = new SecretKeys(keys.length > 0 ? keys : [randomBytes(KEY_BYTES).toString('base64')]);
  }

  seal(begun: PendingSignIn): string {
    return sealValue(this.#keys, SEAL_USE, begun);
  }

  /** Opens a sealed sign-in, each only once. Throws a `ControlPlaneFault`. @param state as the issuer sent it back. */
  take(sealed: string, state: string, nowMs: number): PendingSignIn {
    const begun = openValue<PendingSignIn>(this.#keys, SEAL_USE, sealed);
    if (begun?.state !== state) throw new ControlPlaneFault('sign-in-refused', NOT_THIS_BROWSER);
    if (nowMs >= begun.untilMs)
      throw new ControlPlaneFault('sign-in-refused', 'This sign-in has expired: sign in again.');
    if (this.#endedSignIns.has(state))
      throw new ControlPlaneFault('sign-in-refused', 'This sign-in was already completed: sign in again.');
    this.#remember(begun, nowMs);
    return begun;
  }

  #remember({ state, untilMs }: PendingSignIn, nowMs: number): void {
    for (const [old, oldUntilMs] of this.#endedSignIns) {
      if (nowMs < oldUntilMs && this.#endedSignIns.size < SIGN_INS_ENDED_MAX) break;
      this.#endedSignIns.delete(old);
    }
    this.#endedSignIns.set(state, untilMs);
  }
}

const NOT_THIS_BROWSER =
  'This sign-in was not started in this browser, was already completed, or was replaced by a newer one: sign in again.';

interface SignInDependencies extends ConnectFetchDependencies {
  readonly tokens: Pick<TokenVerifier, 'verify'>;
  readonly audience: string;
  /** Keys that seal the cookie in which a browser keeps its sign-in. */
  readonly keys: readonly string[];
  readonly logger: Logger;
}

const SIGN_IN_CALLBACK_PATH = '/ui/sign-in/callback';

const RANDOM_BYTES = 32;

export class SignInFlow {
  readonly #options: SignInOptions;
  readonly #dependencies: SignInDependencies;
  readonly #pendingSignIns: PendingSignIns;
  readonly #issuer: URL;
  /** Sign-ins under way, by the browser's IP address. */
  readonly #signInQuota = new Quota(limits.signInsAtOnceMax);

  constructor(options: SignInOptions, dependencies: SignInDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#pendingSignIns = new PendingSignIns(dependencies.keys);
    this.#issuer = new URL(options.issuer);
  }

  get issuerHost(): string {
    return this.#issuer.host;
  }

  get isTls(): boolean {
    return this.#options.consoleUrl.startsWith('https:');
  }

  /**
   * Begins a sign-in. Rejects with a `ControlPlaneFault`, as does `complete`.
   * @param address IP address of the browser. @returns the URL at the issuer, and the sealed text that the browser must keep.
   */
  async start(address: string) {
    return this.#withinQuota(address, async () => {
      const { authorization_endpoint: endpoint } = await fetchIssuerMetadata(this.#fetch(), this.#options.issuer);
      const verifier = await createVerifier();
      const begun = { state: randomText(), nonce: randomText(), verifier, untilMs: Date.now() + limits.personMsMax };
      const url = await authorizationUrl(endpoint, this.#options.scope, this.#codeRequestOf(begun));
      return { url, sealed: this.#pendingSignIns.seal(begun) };
    });
  }

  /**
   * Completes a sign-in. @param query of the callback URL. @param sealed from the browser.
   * @param onTaken called once the sign-in is known to be this browser's: it then ends, successful or not.
   * @returns the access token, and a URL that ends the session at the issuer; `undefined` if the issuer has no such endpoint.
   */
  async complete(query: string, sealed: string, address: string, onTaken: () => void) {
    if (query.length > limits.signInAnswerCharsMax)
      throw new ControlPlaneFault('sign-in-unreadable', 'The response of the issuer is too long: sign in again.');
    return this.#withinQuota(address, async () => {
      const parameters = new URLSearchParams(query);
      const begun = this.#pendingSignIns.take(sealed, parameters.get('state') ?? '', Date.now());
      onTaken();
      const fetch = this.#fetch();
      const server = await fetchIssuerMetadata(fetch, this.#options.issuer);
      const { clientSecret: secret } = this.#options;
      const methods = server.token_endpoint_auth_methods_supported ?? [];
      const isPosted = methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
      const authentication = secret === undefined ? 'none' : isPosted ? 'post' : 'basic';
      const client = { authentication, secret } as const;
      const tokens = exchangeCode(parameters, fetch, server, client, this.#codeRequestOf(begun));
      const { access_token: token } = await tokens.catch((error: unknown) => {
        throw this.#exchangeFault(error);
      });
      await this.#checkToken(token);
      this.#dependencies.logger.info('somebody has signed in to the console');
      return { token, signOutUrl: this.#signOutUrl(server) };
    });
  }

  #codeRequestOf({ state, nonce, verifier }: PendingSignIn) {
    const { clientId, consoleUrl, resource = '' } = this.#options;
    return { clientId, redirectUri: consoleUrl + SIGN_IN_CALLBACK_PATH, state, nonce, verifier, resource };
  }

  #exchangeFault(error: unknown): ControlPlaneFault {
    const { isDenied, isClientUnknown, codeText } = describeError(error);
    if (isDenied)
      return new ControlPlaneFault('sign-in-refused', `You are not signed in: it was refused at ${this.issuerHost}.`, {
        cause: error,
      });
    if (codeText === undefined) return issuerFault(error, this.#issuer);
    this.#dependencies.logger.warn(
      { err: error },
      'the issuer for signing in to the console did not respond as expected',
    );
    const advice = isClientUnknown
      ? ': the operator has to check --sign-in-client-id and --sign-in-client-secret-file'
      : '';
    return signInFault(`The issuer ${this.issuerHost} did not sign you in${codeText}${advice}.`, error);
  }

  /** Throws if this interface would refuse the token. The message tells the operator what to configure. */
  async #checkToken(token: string): Promise<void> {
    if (token.length > limits.requestHeaderBytesMax / 2)
      throw this.#badToken('is longer than a request header may be: configure the issuer to put fewer claims into it');
    const verified = await this.#dependencies.tokens.verify(`Bearer ${token}`);
    if (verified.kind === 'subject') return;
    throw this.#badToken(this.#faultWords(verified.reason, verified.cause));
  }

  #badToken(what: string): ControlPlaneFault {
    return signInFault(`You signed in at ${this.issuerHost}, but the access token that it issued ${what}.`);
  }

  #faultWords(reason: RefusalReason, cause: TokenFault | undefined): string {
    if (reason === 'expired') return 'has already expired: check the clocks of both machines';
    if (reason === 'unavailable') return 'cannot be verified, as the keys of the issuer cannot be fetched: try again';
    const { audience } = this.#dependencies;
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

  /** A URL that ends the session at the issuer, which asks the user to confirm. An ID token would avoid that, but stay in browser histories. */
  #signOutUrl({ end_session_endpoint: endpoint }: IssuerMetadata): string | undefined {
    if (endpoint === undefined) return undefined;
    const url = new URL(endpoint);
    url.searchParams.set('client_id', this.#options.clientId);
    return url.href;
  }

  #fetch(): ConnectFetch {
    return new ConnectFetch(this.#dependencies, '');
  }

  async #withinQuota<Value>(address: string, work: () => Promise<Value>): Promise<Value> {
    if (!this.#signInQuota.tryTake(address))
      throw new ControlPlaneFault('sign-ins-full', 'Too many people are signing in at the moment: try again.');
    try {
      return await work();
    } finally {
      this.#signInQuota.give(address);
    }
  }
}

function randomText(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}
