// Parsers of the options for signing in to the console by OpenID Connect.
import { InvalidValue } from './faults.js';
import { isKeyUrl } from './issuer-key-sources.js';

/** Returned unchanged, because tokens name the issuer with exactly these characters. */
export function parseSignInIssuer(text: string): string {
  if (isKeyUrl(text, true) && !/[?#]/.test(text)) return text;
  throw new InvalidValue(
    'is not an issuer, as in https://idp.example/realms/one: an https URL, or an http one of a loopback address, without user, query and fragment',
  );
}

export function parseSignInScope(text: string): string {
  const scopes = text.trim().split(/\s+/);
  if (scopes.includes('openid') && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))
    return scopes.join(' ');
  throw new InvalidValue('expects scopes separated by spaces, including openid, e.g. "openid profile"');
}
