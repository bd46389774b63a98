// Options for signing in to the console by OpenID Connect. Control plane only.
import { parseText, InvalidValue } from '../values.js';
import { readPassword } from '../files.js';
import { issuerKeys, issuers, isKeyUrl } from './token-options.js';
import { option, section, type OptionReader } from '../option.js';
import { connectUrl, upstreamMode } from './backend-options.js';

/** The issuer's URL, unchanged, because tokens name the issuer with exactly these characters. */
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

const issuer = option(
  'sign-in-issuer <url>',
  'OpenID Connect issuer for signing in to the console; needs --connect-url',
  parseSignInIssuer,
  { text: 'the console asks for a token' },
);
const clientId = option(
  'sign-in-client-id <text>',
  "the console's client id at that issuer; its redirect URI is /ui/sign-in/callback at --connect-url",
  parseText,
);
const details = {
  clientId,
  clientSecret: option('sign-in-client-secret-file <path>', "file with that client's secret", readPassword, {
    text: 'a public client, without a secret',
  }),
  scope: option('sign-in-scope <text>', 'scopes to request, openid among them', parseSignInScope, 'openid'),
  resource: option(
    'sign-in-resource <url>',
    'resource indicator (RFC 8707) to request, if the issuer needs one',
    parseText,
  ),
};

/** Adds faults for options with which the program would start, but the first sign-in would fail. */
function checkSignIn(reader: OptionReader): void {
  if (!reader.isGiven(issuer))
    return reader.addFaults(Object.values(details), 'has no effect without --sign-in-issuer; give that, too');
  for (const option of [clientId, connectUrl]) {
    if (!reader.isGiven(option)) reader.addFault(issuer, `needs --${option.name}; give that, too`);
  }
  const url = reader.value(issuer);
  if (url === undefined) return;
  if (url.startsWith('http:') && reader.value(upstreamMode('plain-text-or-tls')) === 'tls-only')
    reader.addFault(issuer, 'is an http URL, which needs --upstream-connection-mode plain-text-or-tls');
  const trusted = [
    ...(reader.value(issuers) ?? []),
    ...(reader.value(issuerKeys) ?? []).map((source) => source.issuer),
  ];
  if (trusted.includes(url)) return;
  reader.addFault(
    issuer,
    'is in neither --token-jwks-url nor --token-issuer, so its tokens would be refused; add it there, with exactly the same spelling',
  );
}

/** The options of signing in to the console; `undefined` if users sign in without OpenID Connect. */
export const signInOptions = section(
  { issuer, ...details },
  {
    check: checkSignIn,
    combine: ({ issuer, clientId, ...others }, reader) => {
      const consoleUrl = reader.resolve(connectUrl);
      if (issuer === undefined || clientId === undefined || consoleUrl === undefined) return undefined;
      return { issuer, clientId, consoleUrl, ...others };
    },
  },
);
