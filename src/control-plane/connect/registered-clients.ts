// The gateway's own clients at authorization servers (RFC 7591), for backends whose `auth` names no client: one for each
// backend, registered when first needed, and sealed in the store. Cold path.
import { SealedRecords } from './consent-records.js';
import {
  type SecretKeys,
  CLIENT_PREFIX,
  keyHashOf,
  type ClientAuthentication,
  type GrantClient,
  correctedAnswer,
  errorCodeText,
} from '../../credentials/index.js';
import { limits } from '../../shared/index.js';
import { isSecretValue } from '../../config/index.js';
import type { RecordStore } from '../../store/index.js';
import type { UpstreamTarget } from '../../user-config/index.js';
import type { ControlPlaneFault } from '../common/control-plane-fault.js';
import { type ConnectFetch, unusableResponse } from './connect-fetch.js';
import type { AuthorizationServer, DiscoveredAuthorization } from './discovery.js';

interface RegisteredClient {
  readonly issuer: string;
  readonly redirectUri: string;
  /** The scope that the client was registered for: many servers grant the client no other. Absent if version 0.1.0 registered it. */
  readonly scope?: string;
  readonly client: GrantClient;
  /** When the client expires, in ms of the wall clock; 0: never. */
  readonly untilMs: number;
}

const AUTHENTICATION_BY_METHOD: Readonly<Record<string, ClientAuthentication>> = {
  none: 'none',
  client_secret_basic: 'basic',
  client_secret_post: 'post',
};

const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'];

export class RegisteredClients {
  readonly #sealed: SealedRecords<RegisteredClient>;

  constructor(records: RecordStore, keys: SecretKeys) {
    this.#sealed = new SealedRecords(records, keys);
  }

  /** The gateway's client for the backend. Rejects with a `ControlPlaneFault`. */
  async findOrRegister(
    fetch: ConnectFetch,
    target: UpstreamTarget,
    { server, scope }: DiscoveredAuthorization,
    redirectUri: string,
  ): Promise<GrantClient> {
    const { bytes, value: known } = await this.#sealed.read(keyOf(target));
    const isUsable =
      known?.issuer === server.issuer && known.redirectUri === redirectUri && isRegisteredFor(known.scope, scope);
    if (known !== undefined && isUsable && (known.untilMs === 0 || Date.now() < known.untilMs)) return known.client;
    const registered = await registerClient(fetch, server, scope, redirectUri);
    // If the swap fails, another process has registered a client, too: both are valid.
    await this.#sealed.replace(keyOf(target), bytes, registered);
    return registered.client;
  }

  /** Removes a client that the authorization server no longer knows. */
  async forget(target: UpstreamTarget, client: GrantClient): Promise<void> {
    const { bytes, value: known } = await this.#sealed.read(keyOf(target));
    if (known?.client.id === client.id) await this.#sealed.replace(keyOf(target), bytes, undefined);
  }
}

/** @param registered the client's scope; `undefined` if version 0.1.0 registered it, which never asked for `offline_access`. */
function isRegisteredFor(registered: string | undefined, asked: string): boolean {
  const scopes = registered?.split(' ');
  const each = asked.split(' ').filter((scope) => scope !== '');
  return each.every((scope) => scopes?.includes(scope) ?? scope !== 'offline_access');
}

function keyOf({ origin, path }: UpstreamTarget): string {
  return CLIENT_PREFIX + keyHashOf([origin, path]);
}

async function registerClient(
  fetch: ConnectFetch,
  server: AuthorizationServer,
  scope: string,
  redirectUri: string,
): Promise<RegisteredClient> {
  if (server.registration_endpoint === undefined)
    throw unusableResponse(
      'The authorization server does not allow the gateway to register itself: the operator has to name a client in the backend’s auth.',
    );
  const oauth = await import('oauth4webapi');
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  // The method `none` is preferred: with PKCE, a secret adds nothing. Servers that do not name it may register such a client, too.
  const method = Object.keys(AUTHENTICATION_BY_METHOD).find((each) => supported.includes(each)) ?? 'none';
  const { issuer, registration_endpoint: endpoint } = server;
  const requestClient = async (asked: string): ReturnType<typeof oauth.processDynamicClientRegistrationResponse> => {
    const answer = await oauth.dynamicClientRegistrationRequest(
      { issuer, registration_endpoint: endpoint },
      {
        client_name: 'Switchyard',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: method,
        ...(asked !== '' && { scope: asked }),
      },
      { [oauth.customFetch]: fetch.fetch, [oauth.allowInsecureRequests]: true },
    );
    return oauth
      .processDynamicClientRegistrationResponse(await correctedAnswer(answer, 'registration'))
      .catch((error: unknown) => {
        const code = errorCodeText(error) ?? '';
        // Some servers refuse to register a client for the scopes of the resources behind them, but grant these scopes anyway: so the
        // client is registered without a scope.
        if (code === ' (invalid_client_metadata)' && asked !== '') return requestClient('');
        throw registrationFault(
          code === '' ? `answered with status ${answer.status}, and without a client` : `refused${code}`,
        );
      });
  };
  const registration = await requestClient(scope);
  const { client_id: id, client_secret: secret, client_secret_expires_at: expiresAt } = registration;
  // Many servers issue a secret without naming a method, and require the secret. A client without a secret is a public one.
  const { token_endpoint_auth_method: agreed = SECRET_METHODS.find((each) => supported.includes(each)) } = registration;
  const agreedAuthentication = AUTHENTICATION_BY_METHOD[typeof agreed === 'string' ? agreed : ''] ?? 'basic';
  const authentication = secret === undefined ? 'none' : agreedAuthentication;
  if (id.length > limits.oauthMemberCharsMax) throw registrationFault('answered with a client id that is too long');
  const client = { id, authentication, ...(authentication !== 'none' && { secret: usableSecret(secret) }) };
  const untilMs = typeof expiresAt === 'number' && authentication !== 'none' ? expiresAt * 1_000 : 0;
  return { issuer, redirectUri, scope, client, untilMs };
}

function usableSecret(secret: unknown): string {
  if (typeof secret === 'string' && isSecretValue(secret) && secret.length <= limits.oauthMemberCharsMax) return secret;
  throw registrationFault('answered with a client whose secret cannot be used');
}

function registrationFault(what: string): ControlPlaneFault {
  return unusableResponse(
    `The gateway asked the authorization server to register it, which ${what}: the operator can name a client in the backend’s auth.`,
  );
}
