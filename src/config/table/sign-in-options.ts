// How people sign in to the console by OpenID Connect. Of the control plane.
import * as files from '../files.js';
import type { OptionTable } from '../option.js';
import { parseSignInIssuer, parseSignInScope } from '../sign-in-check.js';
import * as values from '../values.js';

export const signInOptions = {
  'sign-in-issuer': {
    placeholder: '<url>',
    meaning: 'OpenID Connect issuer at which people sign in to the console; needs --connect-url',
    fallback: undefined,
    fallbackText: 'the console asks for a token',
    parse: parseSignInIssuer,
  },
  'sign-in-client-id': {
    placeholder: '<text>',
    meaning: "the console's client at that issuer; its redirect URI is /ui/sign-in/callback behind --connect-url",
    fallback: undefined,
    parse: values.parseText,
  },
  'sign-in-client-secret-file': {
    placeholder: '<path>',
    meaning: "file that holds that client's secret",
    fallback: undefined,
    fallbackText: 'a public client, which has none',
    parse: files.readPassword,
  },
  'sign-in-scope': {
    placeholder: '<text>',
    meaning: 'what is asked for there, openid among it',
    fallback: 'openid',
    parse: parseSignInScope,
  },
  'sign-in-resource': {
    placeholder: '<url>',
    meaning: 'what the access token is to be good for (RFC 8707), at issuers that have to be told',
    fallback: undefined,
    parse: values.parseText,
  },
} as const satisfies OptionTable;
