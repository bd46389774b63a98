// Limits: secrets, access tokens and consents: what backends ask for before they answer.
import { KIB } from './units.js';

export const credentialLimits = {
  /** headers that one backend's `auth` may set → the config, or the server, is refused */
  authHeadersMax: 8,
  /** the name of a secret → the config, or the server, is refused */
  secretNameCharsMax: 128,
  /** a secret, or the list of hosts it may be sent to → the backend is unavailable: fault `secret-unreadable` */
  secretBytesMax: 8 * KIB,
  /** secret files, and secrets of the store, that a process caches → the others are read again when needed */
  secretsKnownMax: 1_024,
  /** keys in `--secrets-key-file` → fault of the option */
  secretKeysMax: 16,
  /** origins that one secret of the store may be sent to → the command is refused */
  secretOriginsMax: 64,
  /** one member of an `auth` that obtains access tokens → the config, or the server, is refused */
  oauthMemberCharsMax: 2_048,
  /** a response of an authorization server → no token: fault `token-unavailable` */
  tokenAnswerBytesMax: 64 * KIB,
  /** an access token, which is sent with each request → no token: fault `token-unavailable` */
  tokenBytesMax: 16 * KIB,
  /** time to obtain a token from an authorization server, all requests included → no token: fault `token-unavailable` */
  tokenFetchMsMax: 10_000,
  /** one member of an `auth` of the type `oauth2-user` → the config, or the server, is refused */
  userAuthMemberCharsMax: 512,
  /** a refresh token, and each other part of a grant that an authorization server chooses → no token: fault `token-unavailable` */
  refreshTokenBytesMax: 16 * KIB,
  /** validity of a link by which a user gives consent, and time for the consent itself → the page says so: the call has to be made again */
  connectTicketMs: 600_000,
  /** the ticket in such a link, which contains the backend's URL and `auth` → there is no link: the error has no URL */
  connectTicketCharsMax: 7_168,
  /** such links used for one user and backend within `connectTicketMs` → a page says so, with 429 */
  connectStartsMax: 16,
  /** time to find out where a backend's consent is given, or to complete it, all requests included → the page says so */
  connectMsMax: 20_000,
  /** a response of a backend or an authorization server while a consent is given → the page says so */
  connectAnswerBytesMax: 64 * KIB,
  /** time to sign in to the console by OpenID Connect, from start to end → the page says so, and the user starts again */
  signInMs: 600_000,
  /** sign-in steps in progress at once, each with a request to the issuer; one address a quarter → 503, with an explanation */
  signInsAtOnceMax: 64,
  /** the parameters that the issuer sends the browser back with → 422, with an explanation */
  signInAnswerCharsMax: 8_192,
} as const;
