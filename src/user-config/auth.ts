// The schema of a backend's `auth`: the credentials that it requires, as headers or tokens. Secrets are only named, not contained.
import * as z from 'zod';
import { isHttpToken, isOwnHeader, limits } from '../shared/index.js';
import { isSecretName, SECRET_NAME_RULE } from '../config/index.js';

const textSchema = z.string('must be a string');
const secretSchema = z.union(
  [z.strictObject({ file: textSchema }), z.strictObject({ secret: textSchema })],
  'must name a secret, as {"secret": …} or {"file": …}',
);
const clientAuthenticationSchema = z.enum(['basic', 'post'], 'must be basic or post').optional();
/** The `resource` to request (RFC 8707); `false` for none, because some authorization servers refuse the parameter. */
const resourceSchema = z.union([z.literal(false), textSchema], 'must be a text, or false').optional();
const oauthClientMembers = {
  token_endpoint: textSchema,
  client_id: textSchema,
  client_secret: secretSchema,
  client_authentication: clientAuthenticationSchema,
  scope: textSchema.optional(),
  resource: resourceSchema,
  /** The `audience` to request a token for (RFC 8693). */
  audience: textSchema.optional(),
};

const headersSchema = z.strictObject({
  type: z.literal('headers'),
  headers: z.record(z.string(), secretSchema, 'must be an object'),
});
const clientCredentialsSchema = z.strictObject({ type: z.literal('oauth2-client-credentials'), ...oauthClientMembers });
/** A token for the backend, obtained in exchange for the caller's token (RFC 8693). */
const tokenExchangeSchema = z.strictObject({ type: z.literal('token-exchange'), ...oauthClientMembers });
/** A token that each user grants (authorization code with PKCE). Without `client_id`, the gateway registers itself (RFC 7591). */
const userSchema = z.strictObject({
  type: z.literal('oauth2-user'),
  issuer: textSchema.optional(),
  client_id: textSchema.optional(),
  client_secret: secretSchema.optional(),
  client_authentication: clientAuthenticationSchema,
  scope: textSchema.optional(),
  resource: resourceSchema,
});

/** The schema of `auth`. It refuses unknown members, so that a misspelt one is not ignored. */
export const authSchema = z
  .discriminatedUnion('type', [headersSchema, clientCredentialsSchema, tokenExchangeSchema, userSchema], {
    error: ({ code, input }) =>
      code === 'invalid_union' && typeof input === 'object' && input !== null
        ? 'must be headers, oauth2-client-credentials, token-exchange or oauth2-user'
        : 'must be an object',
  })
  .check(({ value, issues }) => {
    const fault = authFault(value);
    if (fault === undefined) return;
    const [, member = '', message = ''] = /^\.(\w+):? (.*)$/s.exec(fault) ?? [];
    issues.push({ code: 'custom', message, path: [member], input: value });
  });

/** The name of a file in `--secrets-directory`, or of a secret in the store. */
export type SecretReference = Readonly<z.infer<typeof secretSchema>>;
export type HeadersAuth = Readonly<z.infer<typeof headersSchema>>;
export type OAuthAuth = Readonly<z.infer<typeof clientCredentialsSchema> | z.infer<typeof tokenExchangeSchema>>;
export type UserAuth = Readonly<z.infer<typeof userSchema>>;
export type BackendAuth = HeadersAuth | OAuthAuth | UserAuth;

/** The names of the headers that credentials set, in lower case. */
export function headersSetBy(auth: BackendAuth | undefined): readonly string[] {
  if (auth === undefined) return [];
  return auth.type === 'headers' ? Object.keys(auth.headers).map((name) => name.toLowerCase()) : ['authorization'];
}

/** The first character of a header name. HTTP allows others, but no server uses them. */
const HEADER_NAME_START = /^[A-Za-z]/;

/** What is wrong with `auth`, as a text that begins with the member's name: `.headers must …`; `undefined` if nothing is. */
export function authFault(auth: BackendAuth): string | undefined {
  if (auth.type === 'headers') return headersFault(auth);
  return auth.type === 'oauth2-user' ? userFault(auth) : oauthFault(auth);
}

function userFault({ issuer, client_id: client, client_secret: secret, ...requested }: UserAuth): string | undefined {
  const { scope, resource } = requested;
  for (const [name, value] of Object.entries({ issuer, client_id: client, scope, resource })) {
    if (typeof value === 'string' && (value === '' || value.length > limits.userAuthMemberCharsMax))
      return `.${name} must be 1 to ${limits.userAuthMemberCharsMax} characters, or left out`;
  }
  if (issuer !== undefined && (!isEndpointUrl(issuer) || new URL(issuer).search !== ''))
    return '.issuer must be an http or https URL without credentials, query and fragment';
  // Client id and secret belong to one authorization server, so the backend must not choose where they are sent.
  if (client !== undefined && issuer === undefined) return '.client_id must have an issuer beside it';
  if (secret === undefined) return undefined;
  if (client === undefined) return '.client_secret must have a client_id beside it';
  const fault = referenceFault(secret);
  return fault === undefined ? undefined : `.client_secret: ${fault}`;
}

function oauthFault({ token_endpoint: endpoint, client_id: client, client_secret: secret, ...requested }: OAuthAuth) {
  if (!isEndpointUrl(endpoint)) return '.token_endpoint must be an http or https URL without credentials and fragment';
  if (client === '' || client.length > limits.oauthMemberCharsMax)
    return `.client_id must be 1 to ${limits.oauthMemberCharsMax} characters`;
  const { scope, resource, audience } = requested;
  for (const [name, value] of Object.entries({ scope, resource, audience })) {
    if (typeof value === 'string' && (value === '' || value.length > limits.oauthMemberCharsMax))
      return `.${name} must be 1 to ${limits.oauthMemberCharsMax} characters, or left out`;
  }
  const fault = referenceFault(secret);
  return fault === undefined ? undefined : `.client_secret: ${fault}`;
}

function isEndpointUrl(text: string): boolean {
  if (text.length > limits.oauthMemberCharsMax || !URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '' && hash === '';
}

function headersFault({ headers }: HeadersAuth): string | undefined {
  const names = Object.keys(headers);
  if (names.length === 0 || names.length > limits.authHeadersMax) {
    return `.headers must have 1 to ${limits.authHeadersMax} headers`;
  }
  if (new Set(names.map((name) => name.toLowerCase())).size < names.length)
    return '.headers must have each header only once';
  for (const [name, reference] of Object.entries(headers)) {
    if (!isHttpToken(name) || !HEADER_NAME_START.test(name) || isOwnHeader(name.toLowerCase())) {
      return '.headers must be valid header names, other than those that the gateway sets itself';
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
