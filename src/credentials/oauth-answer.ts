// Reads what authorization servers answer at their token and registration endpoints, once for everybody who asks there: consents, sign-ins,
// client credentials, token exchange, refreshes and registrations. The OAuth library is as strict as the standard, and servers in use are
// not: an answer that can mean one thing only is rewritten to what the standard says before the library sees it. Cold path.
import { isObject } from '../shared/index.js';

/** `sign-in`: a token answer whose ID token is read, too. */
type OAuthAnswerKind = 'token' | 'sign-in' | 'registration';

type Body = Readonly<Record<string, unknown>>;

interface Forgiven {
  readonly why: string;
  readonly kinds: readonly OAuthAnswerKind[];
  /** The members as they are read. */
  readonly mend: (body: Body) => Body;
  /** For instance: what a server says, and how it is read. */
  readonly said: Body;
  readonly read: Body;
}

const TOKENS: readonly OAuthAnswerKind[] = ['token', 'sign-in'];
const ANY: readonly OAuthAnswerKind[] = [...TOKENS, 'registration'];
/** Beside `bearer`, which the library reads in any case. */
const BEARER_BY_OTHER_NAMES: ReadonlySet<unknown> = new Set([undefined, '', 'user', 'bot']);

/** In the order in which it is forgiven; whatever is not here is judged by the library. */
export const forgiven: readonly Forgiven[] = [
  {
    why: 'optional members are null or empty where the standard leaves them out',
    kinds: ANY,
    mend: (body) => Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== '')),
    said: { access_token: 't', client_id: 'c', token_type: 'bearer', refresh_token: null, scope: null, expires_in: '' },
    read: { access_token: 't', client_id: 'c', token_type: 'bearer' },
  },
  {
    why: 'a token of no type, or of a user or bot, is sent as a bearer token',
    kinds: TOKENS,
    mend: (body) =>
      BEARER_BY_OTHER_NAMES.has(lowerCase(body['token_type'])) ? { ...body, token_type: 'bearer' } : body,
    said: { access_token: 't', token_type: 'Bot' },
    read: { access_token: 't', token_type: 'bearer' },
  },
  {
    why: 'numbers are written as text, which the library reads in any case in token answers',
    kinds: ['registration'],
    mend: (body) => ({ ...body, ...numbered(body, 'client_secret_expires_at') }),
    said: { client_id: 'c', client_secret: 's', client_secret_expires_at: '0' },
    read: { client_id: 'c', client_secret: 's', client_secret_expires_at: 0 },
  },
  {
    why: 'a secret of which nothing else is said does not expire',
    kinds: ['registration'],
    mend: (body) => ({ client_secret_expires_at: 0, ...body }),
    said: { client_id: 'c', client_secret: 's' },
    read: { client_id: 'c', client_secret: 's', client_secret_expires_at: 0 },
  },
  {
    why: 'an ID token that nobody reads need not be valid',
    kinds: ['token'],
    mend: ({ id_token: _unread, ...others }) => others,
    said: { access_token: 't', token_type: 'bearer', id_token: 'x' },
    read: { access_token: 't', token_type: 'bearer' },
  },
];

const STATUS = { token: 200, 'sign-in': 200, registration: 201 } as const;
const GIVEN = { token: 'access_token', 'sign-in': 'access_token', registration: 'client_id' } as const;

/**
 * @returns the answer as the standard has it: any success that gives what was asked for has the one status of its kind, a success that names
 * an error is a refusal, and JSON is JSON whatever its content type says.
 */
export async function oauthAnswer(response: Response, kind: OAuthAnswerKind): Promise<Response> {
  const text = await response.text();
  const said = objectIn(text);
  const isBodiless = response.status === 204 || response.status === 205 || response.status === 304;
  if (said === undefined) return new Response(isBodiless ? null : text, response);
  const headers = { 'content-type': 'application/json' };
  if (!response.ok) return new Response(text, { status: response.status, headers });
  const read = forgiven.reduce((body, { kinds, mend }) => (kinds.includes(kind) ? mend(body) : body), said);
  const isRefusal = read[GIVEN[kind]] === undefined && typeof read['error'] === 'string';
  return new Response(JSON.stringify(read), { status: isRefusal ? 400 : STATUS[kind], headers });
}

const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  'OperationProcessingError',
  'ResponseBodyError',
  'AuthorizationResponseError',
  'WWWAuthenticateChallengeError',
  'UnsupportedOperationError',
]);

/**
 * Of what a server said, only its error code is repeated: as ` (code)`, `''` where it named none.
 * @returns `undefined` for an error that is not about what a server said.
 */
export function errorCodeText(error: unknown): string | undefined {
  const { error: code, name } = error as { readonly error?: unknown; readonly name?: string };
  if (typeof code === 'string' && /^[a-z_]{1,40}$/.test(code)) return ` (${code})`;
  return OAUTH_ERRORS.has(name ?? '') ? '' : undefined;
}

function objectIn(text: string): Body | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function lowerCase(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

function numbered(body: Body, name: string): Body {
  const value = body[name];
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? { [name]: Number(value) } : {};
}
