// What a backend wants to see before it answers, as configs and registered servers name it: headers whose values are secrets
// kept elsewhere. No secret is ever in it. Plain data, JSON-ready.
import { limits } from '../shared/limits.js';
import { isSecretName, SECRET_NAME_RULE } from '../shared/secret-name.js';

/** A secret, by the name of its file in `--secrets-directory`, or by its name in the store. */
export type SecretReference = { readonly file: string } | { readonly secret: string };

export interface HeadersAuth {
  readonly type: 'headers';
  /** Header name → its value. */
  readonly headers: Readonly<Record<string, SecretReference>>;
}

export type BackendAuth = HeadersAuth;

/** A field name as RFC 9110, section 5.6.2 has it; none of those that come from no letter is any server's. */
const HEADER_NAME = /^[A-Za-z][!#$%&'*+\-.^_`|~0-9A-Za-z]*$/;

/**
 * Belong to one connection or to one message of the gateway's own, so they are never copied from a caller or set by a config
 * (decisions 2.6). `expect` is among them because the gateway has the whole body when it asks.
 */
const OWN_HEADERS =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|expect|last-event-id)$|^(?:proxy-|content-|accept|mcp-)/;

export function isOwnHeader(lowerCaseName: string): boolean {
  return OWN_HEADERS.test(lowerCaseName);
}

/** What is wrong with it, in words behind the name of the member: as in `.headers must …`; `undefined` when nothing is. */
export function authFault({ headers }: BackendAuth): string | undefined {
  const names = Object.keys(headers);
  if (names.length === 0 || names.length > limits.authHeadersMax) {
    return `.headers must have 1 to ${limits.authHeadersMax} headers`;
  }
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length)
    return '.headers must have each header once';
  for (const [name, reference] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name) || isOwnHeader(name.toLowerCase())) {
      return '.headers must have names of headers, and none that is the gateway’s own';
    }
    const fault = referenceFault(reference);
    if (fault !== undefined) return `.headers: ${fault}`;
  }
  return undefined;
}

function referenceFault(reference: SecretReference): string | undefined {
  if ('secret' in reference) {
    return isSecretName(reference.secret) ? undefined : `a secret must be the name of one: ${SECRET_NAME_RULE}`;
  }
  if (isSecretName(reference.file)) return undefined;
  return `a file must be the name of a file in --secrets-directory: ${SECRET_NAME_RULE}`;
}
