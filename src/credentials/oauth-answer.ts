// Corrects the answers of authorization servers at their token and registration endpoints. The OAuth library is as strict as
// the standard, and many servers are not: an answer that can mean only one thing is rewritten as the standard has it, before
// the library reads it. Cold path.
import { isObject, tryParseJson } from '../shared/index.js';

/** The kinds of answers. `sign-in` is a token answer whose ID token is read. */
type OAuthAnswerKind = 'token' | 'sign-in' | 'registration';

type Body = Readonly<Record<string, unknown>>;

interface Correction {
  readonly why: string;
  readonly kinds: readonly OAuthAnswerKind[];
  readonly correct: (body: Body) => Body;
  /** An example: what a server sent, and its correction. */
  readonly sent: Body;
  readonly corrected: Body;
}

const TOKEN_KINDS: readonly OAuthAnswerKind[] = ['token', 'sign-in'];
const ALL_KINDS: readonly OAuthAnswerKind[] = [...TOKEN_KINDS, 'registration'];
/** The types of tokens that are of no use without a key, in lower case. */
const KEY_BOUND_TYPES: ReadonlySet<unknown> = new Set(['dpop', 'mac']);

/** The corrections, in the order in which they are applied. */
export const corrections: readonly Correction[] = [
  {
    why: 'optional members are null or empty where the standard leaves them out',
    kinds: ALL_KINDS,
    correct: (body) => Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== '')),
    sent: { access_token: 't', client_id: 'c', token_type: 'bearer', refresh_token: null, scope: null, expires_in: '' },
    corrected: { access_token: 't', client_id: 'c', token_type: 'bearer' },
  },
  {
    why: 'a token is sent as a bearer token whatever type is stated, as by official clients, unless it is bound to a key',
    kinds: TOKEN_KINDS,
    correct: (body) => (KEY_BOUND_TYPES.has(lowerCase(body['token_type'])) ? body : { ...body, token_type: 'bearer' }),
    sent: { access_token: 't', token_type: 'JWT' },
    corrected: { access_token: 't', token_type: 'bearer' },
  },
  {
    why: 'a lifetime of nothing, or less, is how some servers say that a token has no end',
    kinds: TOKEN_KINDS,
    correct: ({ expires_in: seconds, ...others }) =>
      seconds === undefined || Number(seconds) <= 0 ? others : { ...others, expires_in: seconds },
    sent: { access_token: 't', token_type: 'bearer', expires_in: -1 },
    corrected: { access_token: 't', token_type: 'bearer' },
  },
  {
    why: 'numbers are written as text, which the library reads in any case in token answers',
    kinds: ['registration'],
    correct: (body) => ({ ...body, ...memberAsNumber(body, 'client_secret_expires_at') }),
    sent: { client_id: 'c', client_secret: 's', client_secret_expires_at: '0' },
    corrected: { client_id: 'c', client_secret: 's', client_secret_expires_at: 0 },
  },
  {
    why: 'a secret of which nothing else is said does not expire',
    kinds: ['registration'],
    correct: (body) => ({ client_secret_expires_at: 0, ...body }),
    sent: { client_id: 'c', client_secret: 's' },
    corrected: { client_id: 'c', client_secret: 's', client_secret_expires_at: 0 },
  },
  {
    why: 'an ID token that nobody reads need not be valid',
    kinds: ['token'],
    correct: ({ id_token: _unread, ...others }) => others,
    sent: { access_token: 't', token_type: 'bearer', id_token: 'x' },
    corrected: { access_token: 't', token_type: 'bearer' },
  },
];

const SUCCESS_STATUS = { token: 200, 'sign-in': 200, registration: 201 } as const;
/** The member that a success has. */
const SUCCESS_MEMBER = { token: 'access_token', 'sign-in': 'access_token', registration: 'client_id' } as const;

/**
 * Corrects a response that breaks RFC 6749 or RFC 7591. The JSON object of a 2xx goes through `corrections`, and gets the status of its kind,
 * or 400 if it has `error` in place of the member of a success. Every JSON object gets the content type of JSON.
 */
export async function correctedAnswer(response: Response, kind: OAuthAnswerKind): Promise<Response> {
  const text = await response.text();
  const sent = objectIn(text);
  const isBodiless = response.status === 204 || response.status === 205 || response.status === 304;
  if (sent === undefined) return new Response(isBodiless ? null : text, response);
  const headers = { 'content-type': 'application/json' };
  if (!response.ok) return new Response(text, { status: response.status, headers });
  const body = corrections.reduce((each, { kinds, correct }) => (kinds.includes(kind) ? correct(each) : each), sent);
  const isRefusal = body[SUCCESS_MEMBER[kind]] === undefined && typeof body['error'] === 'string';
  return new Response(JSON.stringify(body), { status: isRefusal ? 400 : SUCCESS_STATUS[kind], headers });
}

const OAUTH_ERRORS: ReadonlySet<string> = new Set([
  'OperationProcessingError',
  'ResponseBodyError',
  'AuthorizationResponseError',
  'WWWAuthenticateChallengeError',
  'UnsupportedOperationError',
]);

/** The code of an authorization server's error, as ` (code)`; `''` if the error has no code; `undefined` for an error of another kind. */
export function errorCodeText(error: unknown): string | undefined {
  const { error: code, name } = error as { readonly error?: unknown; readonly name?: string };
  if (typeof code === 'string' && /^[a-z_]{1,40}$/.test(code)) return ` (${code})`;
  return OAUTH_ERRORS.has(name ?? '') ? '' : undefined;
}

function objectIn(text: string): Body | undefined {
  const value = tryParseJson(text);
  return isObject(value) ? value : undefined;
}

function lowerCase(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

function memberAsNumber(body: Body, name: string): Body {
  const value = body[name];
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? { [name]: Number(value) } : {};
}
