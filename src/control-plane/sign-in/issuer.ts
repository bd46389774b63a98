// The metadata of an OpenID Connect issuer, as far as signing in needs it. It is fetched each time, so that a user who
// begins to sign in is told when the issuer is down. Cold path.
import type { AuthorizationServer } from 'oauth4webapi';
import { limits } from '../../shared/limits.js';
import type { ConnectFetch } from '../connect/connect-fetch.js';
import { ControlPlaneFault, type FaultCode } from '../common/control-plane-fault.js';

export interface Issuer {
  /** In the OAuth library's form. */
  readonly server: AuthorizationServer;
  readonly authorizationEndpoint: string;
  /** Where to end a session at the issuer; `undefined` when it names no such endpoint. */
  readonly endSessionEndpoint: string | undefined;
}

/** Rejects with a `ControlPlaneFault`. */
export async function askIssuer(fetch: ConnectFetch, issuer: string): Promise<Issuer> {
  const oauth = await import('oauth4webapi');
  const url = new URL(issuer);
  try {
    fetch.check(url);
    const answer = await oauth.discoveryRequest(url, {
      algorithm: 'oidc',
      [oauth.customFetch]: fetch.fetch,
      [oauth.allowInsecureRequests]: true,
    });
    const server = await oauth.processDiscoveryResponse(url, answer);
    return {
      server,
      authorizationEndpoint: endpointOf(fetch, server.authorization_endpoint, url),
      endSessionEndpoint:
        server.end_session_endpoint === undefined ? undefined : endpointOf(fetch, server.end_session_endpoint, url),
    };
  } catch (error) {
    throw issuerFault(error, url);
  }
}

/** Faults that any request to another party can have. */
const OF_ASKING: ReadonlySet<FaultCode> = new Set(['party-unfit', 'party-silent']);

/** Turns an error from the issuer into a fault with words for people. */
export function issuerFault(error: unknown, { host }: URL): ControlPlaneFault {
  if (error instanceof ControlPlaneFault && !OF_ASKING.has(error.code)) return error;
  if (error instanceof ControlPlaneFault)
    return new ControlPlaneFault('sign-in-failed', `The issuer ${host} cannot be reached. ${error.message}`, {
      cause: error,
    });
  return new ControlPlaneFault(
    'sign-in-failed',
    `The issuer ${host} does not publish what OpenID Connect requires: the operator has to check --sign-in-issuer.`,
    { cause: error },
  );
}

function endpointOf(fetch: ConnectFetch, text: string | undefined, { host }: URL): string {
  if (text === undefined || !URL.canParse(text) || text.length > limits.oauthMemberCharsMax)
    throw new ControlPlaneFault('sign-in-failed', `The issuer ${host} names no authorization endpoint.`);
  fetch.check(new URL(text));
  return text;
}
