// How a user connects a backend: from the link, by way of the backend's authorization server, to the grant in the store
// (RFC 6749 with PKCE, RFC 8707, RFC 9207). The link's ticket names the user, and allows one start. The authorization server's
// response is accepted once, from the browser that started, until the consent expires. Cold path.
import { createHash, randomBytes } from 'node:crypto';
import {
  openTicket,
  type ConnectTicket,
  type SecretKeys,
  openValue,
  sealValue,
  grantKeyPrefixOf,
  type GrantClient,
  type UserGrant,
  type UserGrants,
  ConnectLinks,
  clientAuth,
  authenticationOf,
  renewedGrant,
  secretOfClient,
  userGrantKey,
  type Secrets,
} from '../../credentials/index.js';
import { limits, type Logger } from '../../shared/index.js';
import { type RecordStore, retrySwap } from '../../store/index.js';
import { ControlPlaneFault } from '../common/control-plane-fault.js';
import { authorizationUrl, createVerifier, describeError, exchangeCode } from './code-flow.js';
import { ConnectFetch, unusableResponse, type ConnectFetchDependencies } from './connect-fetch.js';
import { ConsentRecords, type PendingConsent } from './consent-records.js';
import { discoverAuthorization, type DiscoveredAuthorization } from './discovery.js';
import { RegisteredClients } from './registered-clients.js';

/** Time to revoke a grant at its authorization server. The gateway's own copy is removed in any case. */
const REVOCATION_MS_MAX = 5_000;

/** How a revocation ended. `unoffered`: the server has no revocation endpoint. */
export type Revocation = 'revoked' | 'unoffered' | 'failed';

/** Revokes the refresh token (RFC 7009): most authorization servers then revoke all tokens of the consent. */
async function revokeGrant(
  dependencies: ConsentOptions,
  { subject, issuer, revocationEndpoint, client, backendUrl, refreshToken, accessToken }: UserGrant,
): Promise<Revocation> {
  if (revocationEndpoint === undefined) return 'unoffered';
  const { fetch } = new ConnectFetch(dependencies, subject, REVOCATION_MS_MAX);
  try {
    const oauth = await import('oauth4webapi');
    const { origin } = new URL(backendUrl);
    const secret = await secretOfClient(dependencies.secrets, client, client.reference, revocationEndpoint, origin);
    if (typeof secret !== 'string') return 'failed';
    const hint = refreshToken === undefined ? 'access_token' : 'refresh_token';
    const answer = await oauth.revocationRequest(
      { issuer, revocation_endpoint: revocationEndpoint },
      { client_id: client.id },
      await clientAuth(client.authentication, secret),
      refreshToken ?? accessToken,
      {
        additionalParameters: { token_type_hint: hint },
        [oauth.customFetch]: fetch,
        [oauth.allowInsecureRequests]: true,
      },
    );
    await oauth.processRevocationResponse(answer);
    return 'revoked';
  } catch {
    return 'failed';
  }
}

/** The most grants of one subject. Beyond that, the oldest is removed. */
export const GRANTS_PER_SUBJECT_MAX = 64;
/** The most grants of the control plane itself, for probes. Beyond that, the oldest is removed. */
const GRANTS_OF_PROBES_MAX = 1_024;

interface ConsentOptions extends ConnectFetchDependencies {
  /** Scheme, host and port of this control plane for browsers. */
  readonly connectUrl: string;
  readonly keys: SecretKeys;
  readonly records: RecordStore;
  readonly grants: UserGrants;
  readonly secrets: Secrets;
  readonly logger: Logger;
}

export interface ConsentPreview extends DiscoveredAuthorization {
  readonly ticket: ConnectTicket;
}

export const CALLBACK_PATH = '/connect/callback';

const STATE_SEAL_USE = 'connect state';
const NONCE_BYTES = 32;
const STATE_CHARS_MAX = 1_024;

export class ConsentFlow {
  readonly #options: ConsentOptions;
  readonly #consents: ConsentRecords;
  readonly #clients: RegisteredClients;
  readonly links: ConnectLinks;

  constructor(options: ConsentOptions) {
    const { records, keys, connectUrl } = options;
    this.#options = options;
    this.#consents = new ConsentRecords(records, keys);
    this.#clients = new RegisteredClients(records, keys);
    this.links = new ConnectLinks(connectUrl, keys);
  }

  get isTls(): boolean {
    return this.#options.connectUrl.startsWith('https:');
  }

  /**
   * What the user is asked to consent to. Rejects with a `ControlPlaneFault`, as do `start` and `complete`.
   * @param server the name in the link's path.
   */
  async preview(server: string, ticketText: string): Promise<ConsentPreview> {
    const ticket = this.#openTicketFor(server, ticketText);
    return { ticket, ...(await this.#discover(ticket)) };
  }

  /** Begins a consent. @param browser a secret that only this browser has. @returns the URL at the authorization server. */
  async start(server: string, ticketText: string, browser: string): Promise<string> {
    const ticket = this.#openTicketFor(server, ticketText);
    const fetch = this.#fetchFor(ticket);
    const found = await this.#discover(ticket);
    const client = await this.#clientFor(fetch, ticket, found);
    const verifier = await createVerifier();
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const grantKey = userGrantKey(ticket.auth, ticket, ticket.subject);
    const nowMs = Date.now();
    const untilMs = nowMs + limits.personMsMax;
    const begun = { ...ticket, ...found, nonce, browser: hashOf(browser), grantKey, client, verifier, untilMs };
    await this.#consents.start(begun, nowMs);
    const state = sealValue(this.#options.keys, STATE_SEAL_USE, [grantKey, nonce]);
    return authorizationUrl(found.server.authorization_endpoint, found.scope, this.#codeRequestOf(state, begun));
  }

  /** Completes a consent. @param query of the callback URL. @returns the backend's name. */
  async complete(query: URLSearchParams, browser: string): Promise<string> {
    const state = query.get('state') ?? '';
    const begun = await this.#takePendingConsent(state, browser);
    const fetch = this.#fetchFor(begun);
    const { authentication } = begun.client;
    const secret = await this.#secretOf(begun);
    const issuedAtMs = Date.now();
    try {
      const request = this.#codeRequestOf(state, begun);
      const answer = await exchangeCode(query, fetch, begun.server, { authentication, secret }, request);
      const issued = renewedGrant(answer, issuedAtMs);
      if ('kind' in issued) throw unusableResponse('The authorization server issued no usable token.');
      await this.#save(begun, { ...issued, issuedAtMs });
    } catch (error) {
      throw await this.#handleExchangeError(error, begun);
    }
    this.#options.logger.info({ backend: begun.backendName }, 'a user has connected a backend');
    return begun.backendName;
  }

  async list(subject: string) {
    return (await this.#grantsOf(subject)).map(({ grant }) => ({
      server: grant.backendName,
      url: grant.backendUrl,
      issuer: grant.issuer,
      scope: grant.scope,
      connectedAt: new Date(grant.grantedAtMs).toISOString(),
    }));
  }

  /**
   * Deletes the subject's grants for the server, whatever their authorization servers respond to the revocation.
   * @returns the result of the revocation; `missing` if there was no grant.
   */
  async disconnect(subject: string, server: string): Promise<Revocation | 'missing'> {
    const grants = (await this.#grantsOf(subject)).filter(({ grant }) => grant.backendName === server);
    for (const { key } of grants) {
      await retrySwap(async () => {
        const seen = await this.#options.records.read({ space: 'records', key });
        return seen === undefined || (await this.#options.grants.remove(key, seen)) || undefined;
      });
    }
    const revocations = await Promise.all(grants.map(({ grant }) => revokeGrant(this.#options, grant)));
    if (revocations.length === 0) return 'missing';
    const outcome = (['failed', 'unoffered'] as const).find((each) => revocations.includes(each)) ?? 'revoked';
    this.#options.logger.info({ backend: server, revocation: outcome }, 'a user has disconnected a backend');
    return outcome;
  }

  #openTicketFor(server: string, text: string): ConnectTicket {
    const opened = openTicket(this.#options.keys, text, Date.now());
    if (opened.kind !== 'failed' && opened.ticket.backendName === server) return opened.ticket;
    if (opened.kind === 'failed' && opened.reason === 'expired')
      throw new ControlPlaneFault('consent-over', 'This link has expired.');
    throw new ControlPlaneFault('consent-unknown', 'This link is not valid.');
  }

  /** If the backend misses a scope, that is asked for together with what the user has consented to. */
  async #discover(ticket: ConnectTicket): Promise<DiscoveredAuthorization> {
    const { auth, subject, missingScope } = ticket;
    if (missingScope === undefined) return discoverAuthorization(this.#fetchFor(ticket), ticket, auth);
    const known = await this.#options.grants.read(userGrantKey(auth, ticket, subject));
    const had = known.kind === 'found' ? known.grant.scope : '';
    return discoverAuthorization(this.#fetchFor(ticket), ticket, auth, [had, missingScope]);
  }

  #fetchFor({ subject }: ConnectTicket): ConnectFetch {
    return new ConnectFetch(this.#options, subject);
  }

  #codeRequestOf(state: string, { client, verifier, resource }: PendingConsent) {
    return { clientId: client.id, redirectUri: this.#redirectUri, state, verifier, resource };
  }

  get #redirectUri(): string {
    return this.#options.connectUrl + CALLBACK_PATH;
  }

  async #clientFor(
    fetch: ConnectFetch,
    { auth, ...target }: ConnectTicket,
    found: DiscoveredAuthorization,
  ): Promise<GrantClient> {
    const { client_id: id, client_secret: reference } = auth;
    if (id !== undefined) return { id, reference, authentication: authenticationOf(auth) };
    return this.#clients.findOrRegister(fetch, target, found, this.#redirectUri);
  }

  async #secretOf({ auth, client, server, origin }: PendingConsent): Promise<string> {
    const { secrets } = this.#options;
    const text = await secretOfClient(secrets, client, auth.client_secret, server.token_endpoint, origin);
    if (typeof text === 'string') return text;
    throw new ControlPlaneFault(
      'consent-unready',
      'The gateway’s secret for the authorization server cannot be used: tell the operator of the gateway.',
    );
  }

  async #takePendingConsent(state: string, browser: string): Promise<PendingConsent> {
    const isShort = state.length <= STATE_CHARS_MAX;
    const opened = isShort ? openValue<[string, string]>(this.#options.keys, STATE_SEAL_USE, state) : undefined;
    if (opened === undefined) throw new ControlPlaneFault('consent-unknown', 'There is no consent in progress.');
    const [grantKey, nonce] = opened;
    const begun = await this.#consents.take(grantKey, nonce, Date.now());
    if (begun === undefined)
      throw new ControlPlaneFault(
        'consent-over',
        'This consent was already completed or has expired: ask for a new link.',
      );
    if (hashOf(browser) !== begun.browser)
      throw new ControlPlaneFault(
        'consent-refused',
        'This consent was started in another browser: nothing was connected.',
      );
    return begun;
  }

  async #save(
    begun: PendingConsent,
    issued: Pick<UserGrant, 'accessToken' | 'refreshToken' | 'expiresAtMs' | 'issuedAtMs'>,
  ) {
    const { grantKey: key, subject, backendName, origin, path, server, client, resource, scope } = begun;
    const { grants, records } = this.#options;
    const grant: UserGrant = {
      ...{ subject, backendName, backendUrl: origin + path, client, resource, scope },
      ...{ issuer: server.issuer, tokenEndpoint: server.token_endpoint, grantedAtMs: issued.issuedAtMs },
      revocationEndpoint: server.revocation_endpoint,
      ...issued,
    };
    await retrySwap(async () => grants.replace(key, await records.read({ space: 'records', key }), grant));
    const all = await this.#grantsOf(subject);
    const oldest = all.sort((one, other) => one.grant.grantedAtMs - other.grant.grantedAtMs);
    for (const { key: old, bytes } of oldest.slice(0, -grantsMax(subject))) await grants.remove(old, bytes);
  }

  async #grantsOf(subject: string) {
    const { records, grants } = this.#options;
    // Concurrent consents may exceed the maximum for a moment.
    const keys = await records.listKeys(grantKeyPrefixOf(subject), '', 2 * grantsMax(subject));
    const values = await records.readMany(keys);
    return keys.flatMap((key, index) => {
      const bytes = values[index];
      const read = bytes && grants.open(key, bytes);
      return read?.kind === 'found' ? [{ key, bytes: read.bytes, grant: read.grant }] : [];
    });
  }

  /** The error to throw for an error of `exchangeCode`. Forgets the registered client if the authorization server does not know it. */
  async #handleExchangeError(error: unknown, { auth, origin, path, client }: PendingConsent): Promise<unknown> {
    const { isDenied, isClientUnknown, codeText } = describeError(error);
    if (isDenied)
      return new ControlPlaneFault('consent-refused', 'You did not give your consent: nothing was connected.');
    if (isClientUnknown && auth.client_id === undefined) await this.#clients.forget({ origin, path }, client);
    if (codeText === undefined) return error;
    return unusableResponse(`The authorization server did not respond as expected${codeText}: nothing was connected.`);
  }
}

/** How many grants the subject may have. The empty subject is the control plane itself. */
function grantsMax(subject: string): number {
  return subject === '' ? GRANTS_OF_PROBES_MAX : GRANTS_PER_SUBJECT_MAX;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
