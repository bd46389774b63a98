// The access tokens of users' grants, read from the store and renewed before they expire. Only one process at a time renews a
// grant, because many servers treat the second use of a refresh token as theft. No request waits while a token is valid.
// Warm path: one look-up in the store's cache per request.
//
//   stored ── most of its life is over, or the backend rejects it ──> leased (one process) ── renewed ──> stored
//   leased ── the server does not respond ──> stored, retried later      leased ── invalid_grant ──> removed: consent again
import { randomUUID } from 'node:crypto';
import {
  GRANTS_CACHED_MAX,
  type FoundGrant,
  type GrantRead,
  type UserGrant,
  type UserGrants,
  type ClientAuthentication,
  type GrantClient,
  grantKeyOf,
} from './secrets/user-grants.js';
import { type UpstreamOptions, isSecretValue } from '../config/index.js';
import { Backoff, getOrMake, limits, RecentMap } from '../shared/index.js';
import type { DeadlineWheel } from '../fair/index.js';
import type { UserAuth, SecretReference, UpstreamTarget } from '../user-config/index.js';
import type { Secrets } from './secrets.js';
import { upstreamFault, type UpstreamFault } from '../http-client/index.js';
import type { ConnectLinks } from './connect-links.js';
import { type HeadersOrFault, type ClockAndRandom, tokenLife, TOKEN_RENEWAL_GAP_MS } from './token.js';
import {
  type OAuthDependencies,
  tokenUnavailable,
  fetchToken,
  issuedToken,
  tokenFaultOf,
  type TokenAnswer,
} from './token-endpoint.js';

/** Time that one process has to renew a grant. After that, another process may try. */
const GRANT_LEASE_MS = 25_000;
/** Interval at which the store is read while another process renews a grant. */
export const GRANT_POLL_MS = 100;
/** Time in which storing a renewed grant is retried. After that, the grant is lost, and the user must consent again. */
const GRANT_SAVE_MS_MAX = 10_000;

export interface UserTokensDependencies extends OAuthDependencies {
  readonly deadlines: DeadlineWheel;
  readonly secrets: Secrets;
  readonly mode: UpstreamOptions['mode'];
  readonly links: ConnectLinks;
  /** The users' grants; `undefined` if no key is configured. */
  readonly grants: UserGrants | undefined;
}

/** The grant of one subject that a backend's `auth` requires. */
export interface WantedGrant {
  /** The key of the grant's record in the store. */
  readonly key: string;
  readonly subject: string;
  readonly origin: string;
  readonly auth: UserAuth;
  /** The fault for as long as there is no grant. */
  readonly consentFault: UpstreamFault;
}

interface GrantToken {
  readonly headers: readonly string[];
  readonly goodUntilMs: number;
  readonly renewAtMs: number;
  isRejected: boolean;
}

interface RenewalState {
  readonly backoff: Backoff;
  /** The fault of the last attempt; `undefined` if it succeeded. */
  fault: UpstreamFault | undefined;
  retryAtMs: number;
  /** The time from which on a token that the backend rejects may be replaced. */
  replaceableAtMs: number;
}

export class UserTokens {
  readonly #dependencies: UserTokensDependencies;
  readonly #clock: ClockAndRandom;
  /** The name of this process in leases. */
  readonly #processName = randomUUID();
  readonly #tokenByGrant = new WeakMap<UserGrant, GrantToken>();
  readonly #tokenByHeaders = new WeakMap<readonly string[], GrantToken>();
  readonly #renewalStates = new RecentMap<RenewalState>(GRANTS_CACHED_MAX, GRANTS_CACHED_MAX, () => 1);
  /** Renewals in progress, by the grant's key. */
  readonly #renewalsUnderWay = new Map<string, Promise<HeadersOrFault>>();

  /** @param clock the wall clock, because other processes use its times. */
  constructor(dependencies: UserTokensDependencies, clock: ClockAndRandom) {
    this.#dependencies = dependencies;
    this.#clock = clock;
  }

  get links(): ConnectLinks {
    return this.#dependencies.links;
  }

  /** The headers with the user's token. Returns the same array while the token is the same. */
  read(wanted: WantedGrant): HeadersOrFault | Promise<HeadersOrFault> {
    const { grants } = this.#dependencies;
    if (grants === undefined) return upstreamFault('secret-keys-missing', true);
    const read = grants.read(wanted.key);
    return read instanceof Promise
      ? read.then((late) => this.#headersFor(grants, wanted, late))
      : this.#headersFor(grants, wanted, read);
  }

  /** Called when the backend has rejected these headers. @returns whether another attempt may have another result. */
  onRejected({ key }: WantedGrant, headers: readonly string[]): boolean {
    const token = this.#tokenByHeaders.get(headers);
    if (token === undefined) return false;
    const renewals = this.#renewalStateOf(key);
    const nowMs = this.#clock.nowMs();
    // Before `replaceableAtMs`, this token may be the one that has just replaced a rejected token.
    if (!token.isRejected && nowMs >= renewals.replaceableAtMs) {
      renewals.replaceableAtMs = nowMs + TOKEN_RENEWAL_GAP_MS;
      token.isRejected = true;
    }
    return renewals.fault === undefined;
  }

  #headersFor(grants: UserGrants, wanted: WantedGrant, read: GrantRead): HeadersOrFault | Promise<HeadersOrFault> {
    if (read.kind === 'missing') return wanted.consentFault;
    if (read.kind === 'failed') return tokenUnavailable(`(${read.reason})`);
    const token = this.#tokenOf(read.grant);
    const nowMs = this.#clock.nowMs();
    const isGood = nowMs < token.goodUntilMs;
    const isDue = !isGood || token.isRejected || nowMs >= token.renewAtMs;
    if (!isDue) return token.headers;
    const mustAwaitRenewal = !isGood || token.isRejected;
    if (read.grant.refreshToken === undefined) return mustAwaitRenewal ? wanted.consentFault : token.headers;
    const { fault, retryAtMs } = this.#renewalStateOf(wanted.key);
    if (fault !== undefined && nowMs < retryAtMs) return isGood ? token.headers : fault;
    const renewed = this.#renew(grants, wanted, read);
    return mustAwaitRenewal ? renewed : token.headers;
  }

  /** Renews a grant, or joins its renewal in progress. The lease ensures that no other process renews it at the same time. */
  #renew(grants: UserGrants, wanted: WantedGrant, seen: FoundGrant): Promise<HeadersOrFault> {
    const { key } = wanted;
    const underWay = this.#renewalsUnderWay.get(key);
    if (underWay !== undefined) return underWay;
    const renewed = this.#renewNow(grants, wanted, seen)
      .catch(() => this.#noteFault(key, tokenUnavailable('(the renewed token could not be stored)')))
      .finally(() => this.#renewalsUnderWay.delete(key));
    this.#renewalsUnderWay.set(key, renewed);
    return renewed;
  }

  async #renewNow(grants: UserGrants, wanted: WantedGrant, seen: FoundGrant): Promise<HeadersOrFault> {
    const { key, consentFault } = wanted;
    const leased = await this.#leaseGrant(grants, key, seen);
    if (leased.kind === 'missing') return consentFault;
    if (leased.kind === 'failed') return this.#noteFault(key, tokenUnavailable(`(${leased.reason})`));
    // Another process has renewed the grant, or the user has consented again.
    if (leased.grant.lease?.by !== this.#processName) return this.#tokenOf(leased.grant).headers;
    const { grant } = leased;
    const secret = await this.#secretOf(wanted, grant);
    const requestedAtMs = this.#clock.nowMs();
    const renewed =
      typeof secret === 'string' ? await refreshGrant(this.#dependencies, grant, secret, requestedAtMs) : secret;
    if (!('kind' in renewed)) return this.#saveRenewed(grants, wanted, leased, renewed, requestedAtMs);
    if (isGrantOver(renewed, wanted.auth)) {
      await grants.remove(key, leased.bytes);
      return consentFault;
    }
    await grants.replace(key, leased.bytes, { ...grant, lease: undefined });
    return this.#noteFault(key, renewed);
  }

  /** Leases a grant. @returns the grant with this process's lease, or as renewed by another process. Rejects if the store fails. */
  async #leaseGrant(grants: UserGrants, key: string, seen: FoundGrant): Promise<GrantRead> {
    const giveUpAtMs = this.#clock.nowMs() + GRANT_LEASE_MS;
    for (let found = seen; ;) {
      if (found.grant.accessToken !== seen.grant.accessToken) return found;
      const nowMs = this.#clock.nowMs();
      if ((found.grant.lease?.untilMs ?? 0) <= nowMs) {
        const lease = { by: this.#processName, untilMs: nowMs + GRANT_LEASE_MS };
        const leased = await grants.replace(key, found.bytes, { ...found.grant, lease });
        if (leased !== undefined) return this.#keepToken(seen.grant, leased);
      }
      if (nowMs > giveUpAtMs) return { kind: 'failed', reason: 'another process is renewing it and does not finish' };
      await this.#waitForNextTry();
      const read = await grants.read(key);
      if (read.kind !== 'found') return read;
      found = read;
    }
  }

  /** Stores a renewed grant. The server issues it only once, so a failing store is tried again for a while. */
  async #saveRenewed(
    grants: UserGrants,
    { key, consentFault }: WantedGrant,
    { grant, bytes }: FoundGrant,
    renewed: RenewedGrant,
    issuedAtMs: number,
  ): Promise<HeadersOrFault> {
    const next: UserGrant = { ...grant, ...renewed, issuedAtMs, lease: undefined };
    const giveUpAtMs = this.#clock.nowMs() + GRANT_SAVE_MS_MAX;
    for (;;) {
      try {
        const stored = await grants.replace(key, bytes, next);
        if (stored !== undefined) return this.#onRenewed(key, stored.grant);
        const read = await grants.read(key);
        // The user has disconnected or consented again meanwhile, or an earlier write has succeeded without a confirmation.
        if (read.kind === 'missing') return consentFault;
        if (read.kind === 'found') return this.#onRenewed(key, read.grant);
      } catch (error) {
        if (this.#clock.nowMs() > giveUpAtMs) throw error;
      }
      if (this.#clock.nowMs() > giveUpAtMs) throw new Error('the store cannot be read');
      await this.#waitForNextTry();
    }
  }

  async #secretOf(
    { auth, origin }: WantedGrant,
    { client, tokenEndpoint }: UserGrant,
  ): Promise<string | UpstreamFault> {
    if (this.#dependencies.mode === 'tls-only' && new URL(tokenEndpoint).protocol === 'http:')
      return upstreamFault('plain-text-refused', true);
    return secretOfClient(this.#dependencies.secrets, client, auth.client_secret, tokenEndpoint, origin);
  }

  #onRenewed(key: string, grant: UserGrant): readonly string[] {
    const renewals = this.#renewalStateOf(key);
    renewals.fault = undefined;
    renewals.backoff.reset();
    return this.#tokenOf(grant).headers;
  }

  #noteFault(key: string, fault: UpstreamFault): UpstreamFault {
    const renewals = this.#renewalStateOf(key);
    renewals.fault = fault;
    renewals.retryAtMs = this.#clock.nowMs() + renewals.backoff.nextDelayMsWithJitter(this.#clock.random());
    return fault;
  }

  /** Keeps the token, rejected or not, for the new record, which differs only in its lease. */
  #keepToken(before: UserGrant, leased: FoundGrant): FoundGrant {
    this.#tokenByGrant.set(leased.grant, this.#tokenOf(before));
    return leased;
  }

  #tokenOf(grant: UserGrant): GrantToken {
    const known = this.#tokenByGrant.get(grant);
    if (known !== undefined) return known;
    const { issuedAtMs, expiresAtMs, accessToken } = grant;
    const token: GrantToken = {
      headers: ['authorization', `Bearer ${accessToken}`],
      ...tokenLife(issuedAtMs, expiresAtMs - issuedAtMs, this.#clock.random()),
      isRejected: false,
    };
    this.#tokenByGrant.set(grant, token);
    this.#tokenByHeaders.set(token.headers, token);
    return token;
  }

  #renewalStateOf(key: string): RenewalState {
    return getOrMake(this.#renewalStates, key, () => ({
      backoff: new Backoff(limits.retryDelayMsMin, limits.retryDelayMsMax),
      ...{ fault: undefined, retryAtMs: 0, replaceableAtMs: 0 },
    }));
  }

  async #waitForNextTry(): Promise<void> {
    await new Promise<void>((resolve) => void this.#dependencies.deadlines.after(GRANT_POLL_MS, resolve));
  }
}

/** The error codes with which servers refuse a refresh token for good. The standard one is the first, `invalid_grant` (RFC 6749). */
const GRANT_OVER_CODES: ReadonlySet<string> = new Set(
  ['grant', 'request', 'token', 'refresh_token'].map((what) => `(invalid_${what})`).concat('(bad_refresh_token)'),
);

/** Whether the user must consent again: the server has forgotten the refresh token, or the client that the gateway registered there. */
function isGrantOver({ kind, detail = '' }: UpstreamFault, auth: UserAuth): boolean {
  if (kind !== 'token-refused') return false;
  return GRANT_OVER_CODES.has(detail) || (detail === '(invalid_client)' && auth.client_id === undefined);
}

/** The members of a grant that a renewal changes. */
interface RenewedGrant {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly expiresAtMs: number;
}

/** The key of a grant in the store. Other members of `auth` do not change it. */
export function userGrantKey(auth: UserAuth, { origin, path }: UpstreamTarget, subject: string): string {
  return grantKeyOf({ subject, origin, path, authMembers: [auth.issuer, auth.client_id, auth.scope, auth.resource] });
}

export function authenticationOf(auth: UserAuth): ClientAuthentication {
  return auth.client_secret === undefined ? 'none' : (auth.client_authentication ?? 'basic');
}

/**
 * The client's secret, `''` for none; or the fault if it cannot be obtained.
 * @param reference `undefined` for a client that the gateway registered itself.
 * @param endpoint to which the secret is sent. @param origin of the backend.
 */
export async function secretOfClient(
  secrets: Secrets,
  { secret = '' }: GrantClient,
  reference: SecretReference | undefined,
  endpoint: string,
  origin: string,
): Promise<string | UpstreamFault> {
  return reference === undefined ? secret : secrets.secretOf(reference, new URL(endpoint).origin, origin);
}

/** Requests the grant's next token (RFC 6749, section 6). @param secret `''` for none. */
export async function refreshGrant(
  dependencies: OAuthDependencies,
  { subject, issuer, tokenEndpoint: endpoint, client, resource, refreshToken = '' }: UserGrant,
  secret: string,
  nowMs: number,
): Promise<RenewedGrant | UpstreamFault> {
  const parameters = { refresh_token: refreshToken, ...(resource !== '' && { resource }) };
  const named = { ...client, secret };
  try {
    const answer = await fetchToken(dependencies, subject, { issuer, endpoint }, named, 'refresh_token', parameters);
    return renewedGrant(answer, nowMs, refreshToken);
  } catch (error) {
    return tokenFaultOf(error);
  }
}

/** The renewed grant. @param nowMs wall clock at the time of the request. @param known the refresh token, if the answer has no other. */
export function renewedGrant(answer: TokenAnswer, nowMs: number, known?: string): RenewedGrant | UpstreamFault {
  const { access_token: accessToken, refresh_token: refreshToken = known } = answer;
  const issued = issuedToken(answer, refreshToken !== undefined);
  if ('kind' in issued) return issued;
  if (refreshToken !== undefined && (!isSecretValue(refreshToken) || refreshToken.length > limits.tokenBytesMax))
    return tokenUnavailable('(its refresh token cannot be kept)');
  return { accessToken, refreshToken, expiresAtMs: nowMs + issued.lifetimeMs };
}
