// Fetches an issuer's JWK set, and finds its URL in the issuer's metadata when none is configured, under one deadline
// and byte limits. Cold path: once every few minutes per issuer.
import type { IssuerKeySource } from '../config/dataplane-options.js';
import { InvalidValue } from '../config/faults.js';
import { isKeyUrl } from '../config/issuer-key-sources.js';
import { keysOfJwks, type VerificationKey } from '../config/verification-keys.js';
import { bodyText } from '../shared/body-text.js';
import { limits } from '../shared/limits.js';

/** Time to fetch an issuer's keys, including the discovery of their address. After it, the fetch failed and is retried. */
const KEY_FETCH_MS_MAX = 5_000;

/** Rejects with a message for the operator that does not contain the URL. */
export async function fetchKeys(
  source: IssuerKeySource,
  isPlainTextAllowed: boolean,
  timeoutMs: number = KEY_FETCH_MS_MAX,
): Promise<readonly VerificationKey[]> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const url = source.url ?? (await discoverKeyUrl(source.issuer, isPlainTextAllowed, signal));
    return keysOfJwks(await fetchText(url, signal), 'left-out');
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error });
  }
}

/** OpenID Connect Discovery 1.0 section 4, then RFC 8414 section 3, which puts the issuer's path after the well-known path. */
async function discoverKeyUrl(issuer: string, isPlainTextAllowed: boolean, signal: AbortSignal): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  let failure: unknown;
  for (const place of places) {
    try {
      return keyUrlOf(await fetchText(place, signal), issuer, isPlainTextAllowed);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

function keyUrlOf(text: string, issuer: string, isPlainTextAllowed: boolean): string {
  const document = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
  const { issuer: named, jwks_uri: url } = document ?? {};
  // Otherwise the author of one issuer's metadata could impersonate another issuer.
  if (named !== issuer) throw new Error('its metadata names another issuer');
  if (typeof url === 'string' && isKeyUrl(url, isPlainTextAllowed)) return url;
  throw new Error('its metadata has no https address of its keys');
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const accept = 'application/jwk-set+json, application/json';
  const response = await fetch(url, { headers: { accept }, redirect: 'error', signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`it answered ${response.status}`);
  }
  const words = `its response has more than ${limits.keySetBytesMax} bytes`;
  return bodyText(response, signal, limits.keySetBytesMax, () => new Error(words));
}

/** The message of `fetch` is only `fetch failed`; the reason is in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown reason';
  if (error.name === 'TimeoutError') return 'it took too long';
  if (error instanceof InvalidValue) return `its answer ${error.message}`;
  if (error instanceof SyntaxError) return 'its response is not JSON';
  const { cause } = error;
  if (!(error instanceof TypeError)) return error.message;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return code ?? (cause instanceof Error ? cause.message : 'it cannot be reached');
}
