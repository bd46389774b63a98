// Limits: what backends want to see before they answer.
import { KIB, MIB } from './units.js';

export const credentialLimits = {
  /** headers that one backend's `auth` may set → the config, or the server, is refused */
  authHeadersMax: 8,
  /** the name of a secret → the config, or the server, is refused */
  secretNameCharsMax: 128,
  /** a secret, and the list of its hosts → the backend is unavailable: fault `secret-unreadable` */
  secretBytesMax: 8 * KIB,
  /** files of secrets, and secrets of the store, that a process knows → the others are read again when they are needed */
  secretsKnownMax: 1_024,
  /** a secret is taken for the same before its file is looked at again → it is looked at again */
  secretCheckMs: 1_000,
  /** keys of `--secrets-key-file` → the option is a fault */
  secretKeysMax: 16,
  /** origins that one secret of the store may be sent to → the command is refused */
  secretOriginsMax: 64,
  /** a member of an `auth` that asks for access tokens → the config, or the server, is refused */
  oauthMemberCharsMax: 2_048,
  /** an answer of an authorization server → no token: fault `token-unavailable` */
  tokenAnswerBytesMax: 64 * KIB,
  /** an access token, which goes with each request → no token: fault `token-unavailable` */
  tokenBytesMax: 16 * KIB,
  /** asking an authorization server for a token, all of it → no token: fault `token-unavailable` */
  tokenFetchMsMax: 10_000,
  /** the life of an access token that does not say how long it is good → another one is asked for */
  tokenLifetimeMsAssumed: 300_000,
  /** an access token is used, whatever it says → another one is asked for */
  tokenKeptMsMax: 86_400_000,
  /** after an authorization server has failed, until it is asked again: at first → the fault is told at once meanwhile */
  tokenRetryDelayMsMin: 1_000,
  /** the same at last: it doubles with each failure → the fault is told at once meanwhile */
  tokenRetryDelayMsMax: 60_000,
  /** between two access tokens that a backend refused → its 401 is told, and no other token asked for */
  tokenRenewalGapMs: 10_000,
  /** access tokens that a process knows → who has the most loses the oldest; sessions keep theirs */
  tokensKnownMax: 16_384,
  /** of these, those that one subject needed first → it loses its oldest */
  tokensPerSubjectMax: 512,
  /** bytes of these, and of the callers' tokens that they were had for → who has the most loses the oldest; sessions keep theirs */
  tokensBytesMax: 64 * MIB,
  /** of these, those that one subject needed first → it loses its oldest */
  tokensBytesPerSubjectMax: 8 * MIB,
  /** a member of an `auth` of the type `oauth2-user` → the config, or the server, is refused */
  userAuthMemberCharsMax: 512,
  /** users' grants that a process knows → the others are read and opened again when they are needed */
  grantsKnownMax: 8_192,
  /** bytes of these → the same */
  grantsKnownBytesMax: 32 * MIB,
  /** users' grants of one subject in the store → the one that was granted first is removed, and asked for again when it is needed */
  grantsPerSubjectMax: 64,
  /** the same of the control plane itself, which probes servers with them → the one that was granted first is removed */
  grantsOfProbesMax: 1_024,
  /** one process renews a user's grant, while others wait → another one tries */
  grantLeaseMs: 25_000,
  /** between two looks at the store while another process renews a grant → the next look */
  grantPollMs: 100,
  /** a renewed grant is tried to be stored → it is lost, and the user is asked for consent again */
  grantSaveMsMax: 10_000,
  /** a refresh token, and what else of a grant an authorization server chooses → no token: fault `token-unavailable` */
  refreshTokenBytesMax: 16 * KIB,
  /** the link by which a user gives consent is good, and the consent may take → the page says so: the call is made again */
  connectTicketMs: 600_000,
  /** that link's ticket: a backend with a longer URL and `auth` has none → the error has no URL */
  connectTicketCharsMax: 7_168,
  /** of one user and backend, links that were used in this time → a page says so, with 429 */
  connectStartsMax: 16,
  /** finding out where a backend's consent is given, or ending it, all of it → the page says so */
  connectMsMax: 20_000,
  /** withdrawing at its authorization server what a user disconnects, all of it → the answer says that it was not; here it is gone all the same */
  revocationMsMax: 5_000,
  /** an answer to that, of a backend or an authorization server → the page says so */
  connectAnswerBytesMax: 64 * KIB,
  /** consents begun and not ended that are looked through for old ones with each new one → the next ones look further */
  connectsSweptMax: 32,
  /** signing in to the console by OpenID Connect, from its start to its end → the page says so: it is begun again */
  signInMs: 600_000,
  /** beginnings and ends of these that are under way at once, each asking the issuer → 503, in words */
  signInsAtOnceMax: 64,
  /** of these from one address → 503, in words */
  signInsAtOncePerAddressMax: 16,
  /** of these that have ended within that time, remembered so that none ends twice → the oldest is forgotten; its issuer takes no code twice */
  signInsEndedMax: 10_000,
  /** what the issuer sends the browser back with → 422, in words */
  signInAnswerCharsMax: 8_192,
} as const;
