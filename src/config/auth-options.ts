// A server's `auth` from the command line: its type, and the details of that type. Secrets are referred to by name, never given.
import { readSecretPlace, SECRET_NAME_RULE, type SecretPlace } from '../shared/secret-name.js';
import { InvalidValue } from './faults.js';
import type { OptionTable, OptionValues } from './option.js';
import * as values from './values.js';
import type { TokenOptions } from './dataplane-options.js';

/** Whether any keys are configured that verify tokens. */
export function hasKeys({ publicKey, secret, jwks, issuerKeys }: TokenOptions): boolean {
  return publicKey !== undefined || secret !== undefined || jwks !== undefined || issuerKeys.length > 0;
}

function parseSecretPlace(text: string): SecretPlace {
  const place = readSecretPlace(text);
  if (place === undefined) throw new InvalidValue(`expects secret:<name> or file:<name>, the name ${SECRET_NAME_RULE}`);
  return place;
}

function parseSecretHeaders(text: string): Readonly<Record<string, SecretPlace>> {
  const headers = new Map<string, SecretPlace>();
  for (const item of text.split(',')) {
    const [, name = '', place = ''] = /^\s*([^=\s]+)=(\S+)\s*$/.exec(item) ?? [];
    if (name === '') throw new InvalidValue('expects <header>=secret:<name>, or several, separated by commas');
    if (headers.has(name)) throw new InvalidValue(`has ${name} twice`);
    headers.set(name, parseSecretPlace(place));
  }
  return Object.fromEntries(headers);
}

const option = <Value>(placeholder: string, meaning: string, parse: (text: string) => Value) => {
  return { placeholder, meaning, fallback: undefined, parse };
};

export const authOptions = {
  auth: option(
    '<type>',
    'credentials that it needs: headers, oauth2-client-credentials, oauth2-user, or none',
    values.oneOf('none', 'headers', 'oauth2-client-credentials', 'oauth2-user'),
  ),
  'auth-headers': option(
    '<list>',
    'with headers: comma-separated header=secret:name, or header=file:name',
    parseSecretHeaders,
  ),
  'auth-token-endpoint': option(
    '<url>',
    'with oauth2-client-credentials: token endpoint of its authorization server',
    values.parseText,
  ),
  'auth-issuer': option(
    '<url>',
    'with oauth2-user: its authorization server, if it does not name one itself',
    values.parseText,
  ),
  'auth-client-id': option('<text>', "with oauth2-…: the gateway's client id there", values.parseText),
  'auth-client-secret': option(
    '<place>',
    "with oauth2-…: that client's secret, as secret:name or file:name",
    parseSecretPlace,
  ),
  'auth-client-authentication': option(
    '<way>',
    'with oauth2-…: how the client sends its secret, basic or post',
    values.oneOf('basic', 'post'),
  ),
  'auth-scope': option('<text>', 'with oauth2-…: scopes to request', values.parseText),
  'auth-resource': option('<url>', 'with oauth2-…: resource indicator (RFC 8707) to request, or none', (value) =>
    value === 'none' ? false : values.parseText(value),
  ),
  'auth-audience': option(
    '<text>',
    'with oauth2-client-credentials: audience to request, where the server wants that instead',
    values.parseText,
  ),
} as const satisfies OptionTable;

type AuthValues = OptionValues<typeof authOptions>;
type Detail = Exclude<keyof AuthValues, 'auth'>;

const CLIENT = [
  'auth-client-id',
  'auth-client-secret',
  'auth-client-authentication',
  'auth-scope',
  'auth-resource',
] as const;
const DETAILS: Readonly<Record<string, readonly Detail[]>> = {
  none: [],
  headers: ['auth-headers'],
  'oauth2-client-credentials': ['auth-token-endpoint', 'auth-audience', ...CLIENT],
  'oauth2-user': ['auth-issuer', ...CLIENT],
};

interface Reader {
  value<Name extends keyof AuthValues>(name: Name): AuthValues[Name] | undefined;
  isGiven(name: keyof AuthValues): boolean;
  fault(name: keyof AuthValues, problem: string): void;
}

/** @returns `undefined` when no option of `auth` is given, `null` for `--auth none`. Faults go to the reader. */
export function readAuth(reader: Reader): Readonly<Record<string, unknown>> | null | undefined {
  const type = reader.value('auth') ?? (reader.isGiven('auth-headers') ? 'headers' : undefined);
  const details = Object.keys(authOptions).filter((name): name is Detail => name !== 'auth');
  const meant = DETAILS[type ?? 'none'] ?? [];
  for (const name of details) {
    if (!reader.isGiven(name) || meant.includes(name)) continue;
    reader.fault(name, type === undefined ? 'needs --auth with a type' : `has no effect with --auth ${type}`);
  }
  if (type === undefined) return undefined;
  if (type === 'none') return null;
  if (type === 'headers' && !reader.isGiven('auth-headers'))
    reader.fault('auth-headers', 'is required with --auth headers');
  const members = meant.map((name) => [name.slice('auth-'.length).replaceAll('-', '_'), reader.value(name)] as const);
  return { type, ...Object.fromEntries(members.filter(([, value]) => value !== undefined)) };
}
