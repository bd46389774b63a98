// How people sign in to the console by OpenID Connect. Control plane only.
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import { parseSignInIssuer, parseSignInScope } from '../sign-in-values.js';
import * as values from '../values.js';

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
