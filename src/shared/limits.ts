// Every bound that callers, backends and operators can meet and that no option sets. A bound that nobody can meet is a constant beside its
// algorithm, and the range of an option is in its row in src/config/table.
//
// A limit is a whole number with its unit in its name. The comment before it is its row in docs/limits.md, written by `npm run docs`: what
// it bounds and why → what happens when it is hit. Text after an empty line in that comment is for readers of the source only. A line with
// `##` begins a table.
import { KIB, MIB } from './values.js';

export const limits = Object.freeze({
  // ## Requests and callers
  /**
   * time in one turn of the event loop for each kind of work: requests on arrival, those that waited, answers of backends, slices of large
   * messages → the rest waits for the next turn, round robin by subject
   */
  turnMs: 1,
  /**
   * requests, messages or sessions of one process that wait for the same thing: the scheduler, room for a large message, a connection to a
   * backend, a look-up of a name or of a session, an owner's restart, keys, Redis, the config thread; of most, one subject has a quarter →
   * what they wait for fails, with an error that names it
   */
  waitingMax: 16_384,
  /** header bytes of one request; a bearer token alone can exceed uWebSockets.js' own 4 KiB → 431 */
  requestHeaderBytesMax: 32 * KIB,
  /** header fields of one request over `--listener node` → 431 */
  nodeHeadersMax: 100,
  /** `mcp-param-*` headers of one request, which repeat arguments (MCP 2026-07-28) → 431 `mirror-too-large` */
  mirroredParamsMax: 64,
  /** names and values of the `mcp-param-*` headers of one request; many backends accept headers of 16 KiB → 431 `mirror-too-large` */
  mirroredParamBytesMax: 8 * KIB,
  /**
   * smallest request or answer that counts in the shares of bytes in flight; smaller ones are bounded by the number of requests → it waits
   * while the share has no room
   */
  countedFromBytes: 16 * KIB,
  /**
   * time that a large message waits for room; its sender is not read meanwhile → it is refused
   *
   * uWebSockets.js may close an upload that is not read for 8 s.
   */
  messageWaitMsMax: 5_000,
  /** messages in one batch of a session of 2025-03-26 or earlier → 413 `batch-too-large` */
  batchMembersMax: 64,
  /** bytes of one batch → 413 `batch-too-large` */
  batchBytesMax: MIB,
  /**
   * bytes of one answer in a batch, and of all its answers that wait for each other → a larger answer is replaced by -32000; answers that
   * wait are sent as events, or replaced by -32000 if the client accepts only JSON
   *
   * Events that a slow client does not read may be more: they count only in the subject's share.
   */
  batchAnswerBytesMax: 4 * MIB,
  /** time that a request waits for the owner of its session to be restarted after it died → 503 `owner-starting` */
  ownerWaitMsMax: 30_000,
  /**
   * time for a process beside this one: a worker to be connected to or to report figures, Redis to answer a command, other machines to learn
   * of the end of a session, the embedded store to close → it is done without: the connection counts as lost, the last known figures are
   * served, a DELETE is answered
   */
  peerAnswerMsMax: 2_000,
  /**
   * time for a person: to answer what a backend asked during a suspended call, to give consent by a link, to sign in to the console →
   * the call is given up, or a page says so, and it is started again
   */
  personMsMax: 600_000,

  // ## JSON-RPC messages
  /** nesting depth of objects and arrays in a JSON text; the next parser may be recursive → refused as not JSON */
  jsonDepthMax: 512,
  /** values of one JSON text whose positions are recorded, at 24 bytes each → refused as not JSON */
  jsonNodesMax: 262_144,
  /** a JSON-RPC id or a progress token → a longer id is refused as not JSON-RPC; for a longer token no progress is relayed */
  messageIdBytesMax: 64 * KIB,
  /**
   * a JSON-RPC message that is scanned in one go, 3 ms in the worst case of one token per byte → a larger message is scanned in slices, and
   * refused without its id
   *
   * Measured on a 2.6 GHz AMD EPYC with Node 20.
   */
  readAtOnceBytesMax: 128 * KIB,
  /**
   * arguments that are compared with those that the config fixes or hides, or, in a large call, looked up for headers that repeat them →
   * -32602, which says so
   */
  argumentsExaminedMax: 16_384,
  /** characters of a number in an argument that a header repeats → -32602, which says that the arguments are too long */
  mirroredNumberCharsMax: 64,

  // ## Sessions
  /** a caller's params of `initialize`, which are parsed twice → -32602, naming them */
  initializeParamsBytesMax: 64 * KIB,
  /** a caller's `clientInfo`, and its `capabilities`, which each session keeps → -32602, naming it */
  clientMemberBytesMax: 16 * KIB,
  /** params of `logging/setLevel`, which each session keeps for its backends → -32602 */
  logLevelParamsBytesMax: KIB,
  /** resource subscriptions of a session → -32000 */
  subscriptionsMax: 256,
  /**
   * calls of one session in flight, and calls that wait on the one stream of an SSE backend → -32000, `Too many requests in flight in this
   * session`, or fault `backend-busy`
   */
  sessionRequestsInFlightMax: 1_024,
  /**
   * leases of one subject in a worker, one for each virtual host, set of capabilities and set of headers for backends of its requests of
   * 2026-07-28 → an idle one ends, of the set of headers with the most; without an idle one 429 `subject-leases-full`
   */
  leasesPerSubjectMax: 256,
  /** one session's record in the session directory → its subscriptions are left out; a record that is still too long is not written */
  sessionRecordBytesMax: 256 * KIB,

  // ## Streams, and what backends ask for
  /** duration of one stream that answers a GET → it ends, and the client opens the next one */
  sessionStreamMsMax: 600_000,
  /** events on a session's stream that wait for a slow reader → the oldest is dropped, and the client is told so */
  sessionStreamWaitingMax: 1_024,
  /** bytes of such events, which count in the shares of session bytes → the oldest is dropped, and the client is told so */
  sessionStreamWaitingBytesMax: MIB,
  /** one event on a backend's own stream → the stream is closed, and opened again behind the event */
  backendStreamEventBytesMax: 128 * KIB,
  /**
   * `subscriptions/listen` requests in progress, per worker, of which one subject has a quarter; each has its own session with each backend →
   * -32603
   */
  listensMax: 16_384,
  /** requests of one backend that a session's client has not answered → one more is answered with an error */
  backendRequestsOpenMax: 64,
  /**
   * id of a backend's request, which becomes part of the id sent to the client, and its progress token → a longer id is refused, a longer
   * token ignored
   */
  backendRequestIdBytesMax: KIB,
  /**
   * times that a backend without sessions may answer one request of a session with questions for its client → the client is answered -32603
   */
  inputRoundsMax: 8,
  /**
   * calls suspended until their client answers, per worker, of which one subject has a quarter; each keeps a request to a backend open → the
   * backend is told that the client cannot be asked
   */
  suspendedCallsMax: 4_096,
  /** how often one suspended call may ask its client → the backend is told that the client cannot be asked any more */
  suspendedCallRoundsMax: 64,
  /** what backends ask in one round of a suspended call → the backend is told that the client cannot be asked */
  suspendedQuestionBytesMax: 256 * KIB,
  /** a backend's answer that arrives while its suspended call has no request of the client waiting → it is replaced by an error that says so */
  suspendedAnswerBytesMax: 64 * KIB,

  // ## Lists of backends
  /** name of a tool or prompt, or a task's id, in a backend's list → the item is left out, and cannot be requested */
  toolNameBytesMax: 4 * KIB,
  /** URI of a resource, or a URI template, in a backend's list → it is left out, and cannot be read */
  uriBytesMax: 16 * KIB,
  /**
   * a tool with `x-mcp-header`, whose schema is parsed for it → a call whose headers the gateway has to supply fails with -32602, which says
   * so
   */
  mirroredToolBytesMax: 4 * MIB,
  /** a backend's `nextCursor`, which is sent with the next request → fault `answer-invalid` */
  cursorBytesMax: 64 * KIB,
  /** pages of one list of a backend; some lists never end → what was read is listed, with fault `list-cut` */
  listPagesMax: 1_000,
  /**
   * multiple of `--initialize-patience` that a list waits for a backend that is being opened; few clients list twice → the list is answered
   * without it, naming it as `not ready yet`
   */
  listPatienceFactor: 2,
  /** time for a task to wait for the thread of large lists and run in it → the list fails with a JSON-RPC error, or its answer is cut */
  listTaskMsMax: 10_000,
  /**
   * age of the tools that `find_tools` searches, unless their backend announced a change, which needs an open stream to it → they are read
   * again
   */
  catalogueAgeMs: 60_000,
  /** the arguments of `find_tools` → the result is an error that says so */
  findToolsArgumentsBytesMax: 16 * KIB,
  /** characters of a `query` of `find_tools` → the result is an error that says so */
  toolQueryCharsMax: 1_000,
  /** tools that one `find_tools` may ask for → the result is an error that says so */
  foundToolsMax: 50,

  // ## Backends
  /**
   * first wait before a stream, an access token or an issuer's keys are asked for again; a stream's `retry` may ask for longer → it is tried,
   * and the wait doubles
   */
  retryDelayMsMin: 1_000,
  /** longest wait before a stream, a token or keys are asked for again; for keys it is `keyFetchCooldownMs` → the wait grows no further */
  retryDelayMsMax: 60_000,
  /**
   * connections per worker to all backends, and at most half of the files it may open; also the highest `--upstream-connections` → idle ones
   * are closed; if there is none, requests wait for one of their origin, or fault `connections-used`
   */
  upstreamConnectionsTotalMax: 16_384,
  /**
   * backend origins that a worker keeps connections for at once; at most a quarter were first called by the same subject → an idle origin is
   * dropped; when all are busy, fault `connections-used` or `connections-share-used`
   */
  upstreamOriginsMax: 16_384,
  /** header bytes of one backend response → fault `answer-invalid` */
  upstreamHeaderBytesMax: 64 * KIB,
  /** one JSON answer or one event of a backend → fault `answer-too-large` */
  upstreamMessageBytesMax: 64 * MIB,
  /** body of a backend's HTTP error response, which may contain a JSON-RPC error → only the status counts */
  upstreamRefusalBytesMax: 64 * KIB,
  /** a backend's answer to `initialize`, or an event before it → fault `answer-too-large` */
  initializeAnswerBytesMax: MIB,
  /** first event of a backend with transport SSE, and what precedes it → fault `endpoint-missing` */
  sseEndpointBytesMax: 8 * KIB,
  /**
   * time for another machine to answer what no call waits for: Redis to be connected to, a backend to accept a renewed subscription, a
   * dataplane's admin listener to answer the control plane → it is tried again, or no longer waited for, or the asker is told
   */
  remoteAnswerMsMax: 5_000,
  /**
   * time for a backend to accept a notification, or the DELETE of its session, whose outcome is ignored → it is cut
   *
   * A stopping worker waits for these, and must have time left to exit.
   */
  oneWayRequestMsMax: 4_000,

  // ## Credentials for backends, and consents
  /** headers that one backend's `auth` may set → the config or server is refused */
  authHeadersMax: 8,
  /** one member of an `auth` that obtains access tokens → the config or server is refused */
  oauthMemberCharsMax: 2_048,
  /** one member of an `auth` of the type `oauth2-user` → the config or server is refused */
  userAuthMemberCharsMax: 512,
  /** the name of a secret → the config or server is refused */
  secretNameCharsMax: 128,
  /** a secret, or the list of hosts it may be sent to → the backend is unavailable: fault `secret-unreadable` */
  secretBytesMax: 8 * KIB,
  /** keys in `--secrets-key-file` → fault of the option */
  secretKeysMax: 16,
  /** origins that one secret of the store may be sent to → the command is refused */
  secretOriginsMax: 64,
  /**
   * a response of an authorization server, or of a backend while a consent is given → no token: fault `token-unavailable`; a page says so
   */
  authorizationAnswerBytesMax: 64 * KIB,
  /** an access token, a refresh token, and each other part of a grant → no token: fault `token-unavailable` */
  tokenBytesMax: 16 * KIB,
  /** time to obtain a token from an authorization server → no token: fault `token-unavailable` */
  tokenFetchMsMax: 10_000,
  /** time to find out where a backend's consent is given, or to complete it → the page says so */
  connectMsMax: 20_000,
  /** the ticket in a link for consent, which contains the backend's URL and `auth` → there is no link: the error has no URL */
  connectTicketCharsMax: 7_168,
  /** consent links that one user may open for one backend within `personMsMax` → the next one gets a page with status 429 */
  connectStartsMax: 16,

  // ## Tokens of callers
  /**
   * keys of one file or issuer; a token that names none is tried with each of its algorithm → a file is refused; for an issuer the last good
   * keys stay in use
   */
  verificationKeysMax: 64,
  /** a key file, or an issuer's response with its keys → a file is refused; for an issuer the last good keys stay in use */
  keySetBytesMax: 256 * KIB,
  /** `kid` of a key in a key set → in a file the key is refused; from an issuer it is not used */
  keyIdCharsMax: 256,
  /**
   * interval between fetches of an issuer's keys while all is well → they are fetched again; a key that is gone no longer verifies tokens
   */
  keyRefreshMs: 600_000,
  /** pause after a fetch before a token with an unknown key triggers another one → such tokens are refused until then */
  keyFetchCooldownMs: 30_000,
  /** characters of `--token-roles-claim` and `--token-teams-claim` → refused at the start */
  claimPathCharsMax: 256,
  /** one value of a claim of roles or teams, or the team of a server or composition → the claim is ignored; the team is refused */
  claimValueCharsMax: 128,
  /** sign-in steps in progress at once, each with a request to the issuer; a quarter for one client address → 503, with an explanation */
  signInsAtOnceMax: 64,
  /** the parameters that the issuer sends the browser back with → 422, with an explanation */
  signInAnswerCharsMax: 8_192,

  // ## User configs, the store and caches
  /** bytes of one user config → 500 `config-failed` */
  userConfigBytesMax: 4 * MIB,
  /** a user config's entry for one tool or prompt, as JSON → 500 `config-failed` */
  curatedItemCharsMax: 64 * KIB,
  /**
   * entries for tools, and for prompts, of one backend in a user config → 500 `config-failed`; a server and a composition may have half as
   * many each, or are refused, naming the member
   */
  curatedItemsMax: 2_000,
  /** a subject in UTF-8, as a store key; LMDB takes no longer one → 500 `config-failed` */
  storeKeyBytesMax: 1_978,
  /** readers of an embedded store at once: for each slot a worker and its predecessor → one more cannot read it: 500 `config-failed` */
  storeReadersMax: 1_024,
  /** one value read from Redis → it counts as unreadable: 500 `config-failed` for a user config */
  redisValueBytesMax: 32 * MIB,
  /**
   * entries of each cache of a worker: user configs, records, verified tokens → the least recently used is dropped, and read again when needed
   */
  cacheEntriesMax: 50_000,
  /**
   * bytes of each cache of a worker: user configs, and their compiled form, as stored; records; lists of `--list-cache` and tools for
   * `find_tools`, of which one subject has a quarter → the least recently used are dropped, of lists and tools those of the subject with the
   * most; what is larger is not kept
   */
  cacheBytesMax: 128 * MIB,

  // ## Logs, figures and the admin listener
  /** a text of others in a log line or a report, such as a tool's name or the path of a faulty member → the rest is cut off */
  quotedCharsMax: 256,
  /** backends with figures of their own, per worker and in total → further ones count under `other` */
  metricBackendsMax: 100,
  /** time for a request to the admin listener to arrive → the connection is closed */
  adminRequestMsMax: 10_000,
  /** operators' queries at once; each takes time of every worker → 503 */
  adminViewsAtOnceMax: 8,
  /** sessions, or changes, on one page → the page says where the next one begins */
  viewPageMax: 200,

  // ## Control plane
  /** values in a JSON request body of more than 128 KiB; this many are parsed in 20 ms → 413 */
  controlPlaneBodyValuesMax: 50_000,
  /** time for a request to arrive, including its body → 408 */
  requestReceiveMsMax: 60_000,
  /** one path parameter, before decoding → 414 */
  pathParameterCharsMax: 512,
  /** a server's name, which is the prefix of its tools, and each of its tags → refused, naming the member */
  serverNameCharsMax: 64,
  /** a server's URL → refused, naming the member */
  serverUrlCharsMax: 2_048,
  /** a server's description → refused, naming the member */
  serverDescriptionCharsMax: 4_096,
  /** tags of one server → refused, naming the member */
  serverTagsMax: 32,
  /** curation of a server, or of a server in one composition, as JSON → refused, naming the member */
  curationBytesMax: 64 * KIB,
  /** bytes of all answers to one probe → the server counts as failed */
  probeBytesMax: 8 * MIB,
  /** items in each list of one server → for tools the server counts as failed; of any other list the previous one is kept, and the log says so */
  probeToolsMax: 10_000,
  /** records on one page, and changes searched for one page → the page ends there, and `Link` leads to the next */
  listPageMax: 1_000,
  /** bytes, as stored, of the records on one page of a list → the page ends there, and `Link` leads to the next */
  listPageBytesMax: 8 * MIB,
  /** subjects of one composition → refused, naming the member */
  compositionSubjectsMax: 1_000,
  /** one composition as stored → refused */
  compositionBytesMax: MIB,
  /** patterns among the tools of one server in a composition → refused, naming the member */
  toolPatternsMax: 8,
  /** a tool pattern, and a name that one may match → a longer pattern is refused; a longer name is never matched */
  toolPatternCharsMax: 128,
  /** one changed member in the log line about a change → its beginning, its length and a hash are logged */
  auditValueCharsMax: 512,
  /** one answer of a dataplane's admin listener to the control plane → the asker is told to request less */
  dataplaneAnswerBytesMax: 4 * MIB,
  /** queries of a control plane to a dataplane's admin listener at once; one subject a quarter → 503 */
  dataplaneQuestionsMax: 6,
  /** streams of live figures at once, one per open page; one subject a quarter → 503 */
  liveStreamsMax: 64,
  /** file that `servers import` reads → refused */
  importFileBytesMax: 16 * MIB,
  /** servers in one file that `servers import` reads → refused */
  importedServersMax: 1_000,
} as const);

/** The most that one subject may have of a total that all subjects of a process have together: a quarter. */
export function perSubject(total: number): number {
  return Math.ceil(total / 4);
}
