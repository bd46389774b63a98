// How people sign in to the console by OpenID Connect. Control plane only.
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';
import { InvalidValue } from '../faults.js';
import { isKeyUrl } from '../issuer-key-sources.js';

// Parsers of the options for signing in to the console by OpenID Connect.

/** Returned unchanged, because tokens name the issuer with exactly these characters. */
function parseSignInIssuer(text: string): string {
  if (isKeyUrl(text, true) && !/[?#]/.test(text)) return text;
  throw new InvalidValue(
    'is not an issuer, as in https://idp.example/realms/one: an https URL, or an http one of a loopback address, without user, query and fragment',
  );
}

function parseSignInScope(text: string): string {
  const scopes = text.trim().split(/\s+/);
  if (scopes.includes('openid') && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)))
    return scopes.join(' ');
  throw new InvalidValue('expects scopes separated by spaces, including openid, e.g. "openid profile"');
}

export const signInOptions = {
  'sign-in-issuer': {
    placeholder: '<url>',
    meaning: 'OpenID Connect issuer for signing in to the console; needs --connect-url',
    fallback: undefined,
    fallbackText: 'the console asks for a token',
    parse: parseSignInIssuer,
  },
  'sign-in-client-id': {
    placeholder: '<text>',
    meaning: "the console's client id at that issuer; its redirect URI is /ui/sign-in/callback at --connect-url",
    fallback: undefined,
    parse: values.parseText,
  },
  'sign-in-client-secret-file': {
    placeholder: '<path>',
    meaning: "file with that client's secret",
    fallback: undefined,
    fallbackText: 'a public client, without a secret',
    parse: files.readPassword,
  },
  'sign-in-scope': {
    placeholder: '<text>',
    meaning: 'scopes to request, openid among them',
    fallback: 'openid',
    parse: parseSignInScope,
  },
  'sign-in-resource': {
    placeholder: '<url>',
    meaning: 'resource indicator (RFC 8707) to request, if the issuer needs one',
    fallback: undefined,
    parse: values.parseText,
  },
} as const satisfies OptionTable;
