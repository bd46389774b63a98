// The bounds that callers, backends and operators can meet and no option sets, each with its unit, its reason and what
// happens when it is hit. A few that only shape how a class works inside stand as constants beside it.
// docs/limits.md mirrors this file, and a test holds the two together.

const KIB = 1024;
const MIB = 1024 * KIB;

export const limits = {
  /** Header bytes of one request; uWebSockets.js answers 431 above. A bearer token alone can pass its own 4 KiB. */
  requestHeaderBytesMax: 32 * KIB,
  /** What `--max-body-bytes` may be set to; more is a fault at start-up, as a body is held in memory as a whole. */
  requestBodyBytesMax: 1024 * MIB,
  /** What `--rate-limit` may be set to, requests a minute; more is a fault at start-up: 0 says that there is no limit. */
  requestsPerMinuteMax: 1_000_000,
  /** What `--expires-in` of a minted token may be set to, ms (ten years); more is a fault of the command line. */
  tokenLifetimeMsMax: 10 * 365 * 24 * 3_600_000,
  /** Verified tokens remembered per worker; the least recently used is dropped, and verified again when it comes back. */
  tokenCacheEntriesMax: 50_000,
  /** Bytes of those tokens; above it the least recently used are dropped. */
  tokenCacheBytesMax: 64 * MIB,
  /** Verifications under way that later requests with the same token may join; above it each verifies by itself. */
  tokenVerificationsSharedMax: 10_000,
  /** An `authorization` header longer than this is not remembered: it is verified each time. */
  tokenCacheKeyCharsMax: 8 * KIB,
  /** Compiled user configs remembered per worker; the least recently used is dropped and compiled again. */
  userConfigCacheEntriesMax: 50_000,
  /** Bytes of one user config; a larger one cannot be decoded (500). */
  userConfigBytesMax: 4 * MIB,
  /** Of these, those that are parsed on the event loop, which takes it 8 ms; a larger one is parsed in a thread. */
  userConfigInlineBytesMax: 32 * KIB,
  /** Large user configs of a worker that wait for that thread; with one more the request fails (500), and the next asks again. */
  largeConfigsWaitingMax: 10_000,
  /** How long that thread is kept with nothing to do, ms. */
  configThreadIdleMs: 10_000,
  /** Faults of one user config that are told; the others are counted. */
  userConfigIssuesMax: 10,
  /** Characters of the path that names a member at fault; the rest is cut off. */
  userConfigIssuePathCharsMax: 256,
  /** UTF-8 bytes of a subject as a store key: LMDB takes 1,978 at most. A longer one cannot be encoded (500). */
  storeKeyBytesMax: 1_978,
  /** Bytes of the user configs, as stored, behind the compiled ones; above it the least recently used are dropped. */
  userConfigCacheBytesMax: 128 * MIB,
  /** How long a start may take to read a whole embedded store and so find damage, ms; then it is opened unread. */
  storeProbeMsMax: 20_000,
  /** Looks, and the wait between two, whether an embedded store with an empty file is just being made; then it is damaged. */
  emptyStoreLooksMax: 20,
  emptyStoreLookMs: 50,
  /** Processes, and threads of theirs, that read an embedded store at once: of every slot a worker and its predecessor. */
  storeReadersMax: 1_024,
  /** Values of the store kept per worker; the least recently used are dropped and read again. */
  storeCacheEntriesMax: 50_000,
  /** Bytes of those values; above it the least recently used are dropped and read again. */
  storeCacheBytesMax: 128 * MIB,
  /** Reads of one worker that wait for Redis at once, one a subject; one more fails (500). */
  redisReadsInFlightMax: 10_000,
  /** How long a connection to Redis may take, ms; then it is tried again. */
  redisConnectMsMax: 5_000,
  /** How long Redis may take over one command, ms; then it counts as lost. */
  redisCommandMsMax: 2_000,
  /** How long a connection to Redis that is given up may take to close, ms; then it is cut. */
  redisDisconnectMsMax: 200,
  /** Between two health checks of both connections to Redis, ms: a silent loss is noticed after this and one command. */
  redisHealthCheckMs: 3_000,
  /** First and longest wait before a lost Redis is connected to again, ms. */
  redisRetryDelayMsMin: 50,
  redisRetryDelayMsMax: 2_000,

  /** Bytes of log lines of a process that wait for a slow reader of standard output; further lines are dropped, counted. */
  logBytesWaitingMax: MIB,
  /** Between two tries to write what waits, or after standard output failed, ms. */
  logRetryMs: 50,
  /** How long an ending process waits for the reader of its last log lines, ms; then they are lost. */
  logFlushMsMax: 1_000,
  /** Bytes of the buffer that log lines are encoded in; a longer one takes a buffer of its own. */
  logLineScratchBytes: 16 * KIB,
  /** Characters of a caller's own words (a tool, a method, a path) in one line of the access log; the rest is cut off. */
  accessLogNameCharsMax: 256,
  /** Places of the word `isError` in a result that are looked at; a result that has more of them counts as one that is well. */
  toolErrorLooksMax: 16,
  /** Bytes between that word and its `true`: with more it is not seen. */
  toolErrorGapBytesMax: 24,
  /** Of a result that is too large to be read at once, the first and the last bytes that are searched for that word. */
  toolErrorEdgeBytes: 4 * KIB,
  /** Connections to the admin listener; one more is closed. A monitor needs one, and several may look at once. */
  adminConnectionsMax: 64,
  /** Backends that figures have names of, per worker and together; further ones are `other`: each is a set of series. */
  metricBackendsMax: 100,
  /** How long workers have to tell their figures, ms; of one that does not the last ones are told. */
  metricReportMsMax: 2_000,
  /** How long figures that were gathered are told to whoever asks, ms: all workers had to stop for them. */
  metricGatheringAgeMsMax: 1_000,
  /** A request to the admin listener, ms: it has a head and nothing else. Above it the connection is closed. */
  adminRequestMsMax: 10_000,
  /** Different `host` headers whose verdict is remembered per worker; then all are forgotten and judged again. */
  hostVerdictsMax: 1_024,
  /** Different `accept` headers whose reading is remembered per worker; then all are forgotten and read again. */
  acceptHeadersMax: 256,
  /** Characters of such a header, and of a `content-type`; a longer one is judged each time, and not remembered. */
  rememberedHeaderCharsMax: 256,

  /** What `--max-sessions` may be set to; more is a fault at start-up: a process has not the memory for them. */
  sessionsMax: 1_000_000,
  /** What `--max-requests-in-flight` may be set to; more is a fault at start-up: a process has not the memory for them. */
  requestsInFlightMax: 1_000_000,
  /** What the options that bound bytes may be set to; more is a fault at start-up: no process has so much memory. */
  shareBytesMax: 1024 * 1024 * MIB,
  /** One in so many of the sessions, their bytes and the requests in flight is kept for subjects that hold few. */
  keptShareDivisor: 8,
  /** From so many bytes on a request or an answer counts in the shares of bytes in flight; smaller ones are bounded by number. */
  countedFromBytes: 16 * KIB,
  /**
   * How long a large message may wait for room in them, ms; then it is refused. It must be well below the 8 s after which
   * uWebSockets.js may close an upload that is not read from, so that its caller is told why.
   */
  messageWaitMsMax: 5_000,
  /** Large messages that wait for room at once; one more is refused. */
  messagesWaitingMax: 16_384,
  messagesWaitingPerSubjectMax: 1_024,
  /** What a session counts for in its subject's share of session bytes, without what its caller and backends say of themselves: an estimate. */
  sessionBytesEach: 3 * KIB,
  /** Bytes of a session's record in the directory; above it its subscriptions are left out, and a longer one is not written. */
  sessionRecordBytesMax: 256 * KIB,
  /** How long an `initialize` waits for its session to be written down, ms; then it is answered all the same. */
  sessionWriteWaitMsMax: 1_000,
  /** Records of sessions that a worker is writing at once; one more is not written. */
  sessionWritesMax: 10_000,
  sessionWritesPerSubjectMax: 2_500,
  /** Look-ups of unknown sessions that a worker has under way at once; further ones wait for their turn. */
  sessionLookUpsMax: 256,
  /** Look-ups that wait for their turn, of all subjects and of one; one more is refused. */
  sessionLookUpsWaitingMax: 10_000,
  sessionLookUpsWaitingPerSubjectMax: 1_000,
  /** How often the record of a session in use is renewed within the idle timeout: each time it is a write. */
  sessionRenewalsPerIdleTimeout: 4,
  /** How long it is known of a session that only this machine had that it was removed, ms: for what was being written just then. */
  sessionMarkMs: 60_000,
  /** Between two steps of renewing, ms, each of which takes in as many sessions as the time calls for; and the time that it answers for at most. */
  sessionRenewalStepMs: 100,
  sessionRenewalStepMsMax: 500,
  /** Between two looks for expired records in an embedded directory or one of files, ms, and how many records one look takes in. */
  sessionRecordSweepMs: 10_000,
  sessionRecordsPerSweep: 256,
  /** Files of sessions that ended, which a worker keeps for the next ones where records are files. */
  sessionFilesKeptMax: 1_024,
  /** What each of its upstream sessions counts for on top, open or not. */
  upstreamSessionBytesEach: 1_664,
  /** Requests of one turn of the event loop that are served as they come, at least; from twice as many on they have turns by subject. */
  requestsAtOnceMax: 64,
  /** Requests that wait for their turn, of all subjects and of one; one more is refused. */
  requestsWaitingMax: 65_536,
  requestsWaitingPerSubjectMax: 4_096,
  /** How long those that have turns may take of one turn of the event loop, ms. */
  requestTurnMs: 10,
  /** Backends of a virtual host that are opened or asked at once, a millisecond together; those beyond have turns. */
  backendsAtOnceMax: 16,
  /** How long openings of and questions to those may take of one turn of the event loop, ms, all sessions together. */
  backendTurnMs: 5,
  /** Backends of one session that are opened or asked before another session has its turn. */
  backendsPerStep: 4,
  /** Sessions whose further backends wait for their turns; those of one more are named as not ready. */
  backendTurnsWaitingMax: 16_384,
  backendTurnsWaitingPerSubjectMax: 1_024,
  /** Requests of one session in flight at once; one more is answered with a JSON-RPC error. */
  sessionRequestsInFlightMax: 1_024,
  /** Messages in one batch of a session of 2025-03-26 or before, and its bytes; a larger one is refused. */
  batchMembersMax: 64,
  batchBytesMax: MIB,
  /**
   * Bytes of a batch's answers that wait for each other; then they are sent as events, or refused where only JSON is taken.
   * Behind a slow reader of events more may wait, while their subject's share has room.
   */
  batchAnswerBytesMax: 4 * MIB,

  /**
   * Memory from here on is a worker's only while it is used. What is smaller the C library keeps, for all that the kernel
   * sees: a worker that was full of small bodies would count as full for ever.
   */
  memoryReturnedFromBytes: 12 * KIB,
  /** Between two readings by which a worker, or a control plane, judges whether it is overloaded, ms. */
  overloadReadingMs: 100,
  /** Readings in a row below a mark, after which it is left behind though not by far: fifteen seconds, with a collection. */
  overloadReadingsBelow: 150,
  /** Between two collections of garbage that a process short of memory asks for itself, ms: each holds up its event loop. */
  overloadCollectionMs: 10_000,
  /** Resident memory in percent of what the process may take: above it new sessions are refused, then requests; below it neither. */
  residentPercentCalm: 70,
  residentPercentPressed: 80,
  residentPercentHardPressed: 90,
  /** The same of the heap, less garbage, in percent of what V8 may take: short of its end V8 does little but collect. */
  heapPercentCalm: 60,
  heapPercentPressed: 70,
  heapPercentHardPressed: 80,
  /** The same of the event loop, ms that it was late at every one of the last readings. */
  loopDelayCalmMs: 100,
  loopDelayPressedMs: 300,
  loopDelayHardPressedMs: 1_000,
  /** Sessions that a worker which refuses sessions opens all the same each second, all together; fewer as the second mark comes closer. */
  pressedSessionsPerSecond: 16,
  pressedSessionsPerSubjectPerSecond: 1,
  /** Requests that a worker which refuses requests for want of time takes all the same each second. */
  pressedRequestsPerSecond: 128,
  pressedRequestsPerSubjectPerSecond: 8,
  /** Who holds more than so many times what others do on the average is refused all of them. */
  pressedTimesOthersMax: 2,
  /** But not who holds at most this part of what one subject may, percent. */
  pressedHarmlessPercent: 2,
  /** What `--worker-memory` may be set to at least; less is a fault at start-up: an idle worker takes half of it. */
  workerMemoryBytesLeast: 192 * MIB,
  /** The same of `--control-plane-memory`: a control plane without any server takes close to half of it. */
  controlPlaneMemoryBytesLeast: 256 * MIB,

  /** Objects and arrays that may be open at once in a JSON text; a deeper one is refused as not JSON. */
  jsonDepthMax: 512,
  /** Bytes of a JSON-RPC id, and of a progress token; a message with a longer id is refused, a longer token is not known. */
  messageIdBytesMax: 64 * KIB,
  /** Bytes of a method's name that are decoded; of a longer one the rest is cut off, and nobody knows the method. */
  methodNameBytesMax: 256,
  /**
   * Bytes of a JSON-RPC message that is read at once, which takes 3 ms where each byte is a token of its own (2.6 GHz AMD
   * EPYC, Node 20); a larger one is read in slices.
   */
  readAtOnceBytesMax: 128 * KIB,
  /** Bytes of one such slice. */
  readingSliceBytes: 64 * KIB,
  /** How long slices may take of one turn of the event loop, ms, all messages together; then others have their turn. */
  readingTurnMs: 5,
  /** Large messages whose reading has begun, of each of which the places of its values are kept; others wait. */
  readingsStartedMax: 8,
  readingsStartedPerSubjectMax: 2,
  /** Bytes of a large answer that are made ready and handed to its exchange at once; the next follow when there is room. */
  sentPieceBytes: 64 * KIB,
  /** Bytes of one large answer in one turn of the event loop, however fast its caller reads; then others have their turn. */
  sentPerTurnBytes: MIB,
  /** Bytes of an event that goes out in one write with the head of its stream, or with its end; a larger one goes alone. */
  joinedEventBytesMax: 8 * KIB,
  /** Values whose place is written down in one JSON text (24 bytes each, kept for the next); more is refused. */
  jsonNodesMax: 262_144,
  /** Of these, in a large answer, on the way to URIs of resources, which takes the event loop 5 ms; with more it is invalid. */
  uriNodesMax: 32_768,

  /** Bytes of one JSON answer or one event of a backend; above it the answer is invalid. */
  upstreamMessageBytesMax: 64 * MIB,
  /** Bytes of a backend's answer to `initialize`, and of one event before it; above it the fault is `answer-too-large`. */
  initializeAnswerBytesMax: MIB,
  /** Characters of the path that a backend redirects to, as the log and a server's record tell it; the rest is cut off. */
  redirectPathCharsMax: 256,
  /** Bytes of an HTTP error answer that are read to find a JSON-RPC error in it; above it the status alone counts. */
  upstreamRefusalBytesMax: 64 * KIB,
  /**
   * Bytes of one backend's pages, and of all pages of a list, that are read and merged on the event loop; more is the
   * list thread's work. Both take the loop half a millisecond here: reading and merging 1.7 ms a MiB, the way to the
   * thread and back 0.4 ms and 0.4 ms a MiB (2.6 GHz AMD EPYC, Node 20).
   */
  listBytesInlineMax: 256 * KIB,
  /** What each tool of a large list counts for on top of its bytes: what it takes while lists are read, merged and sorted. */
  listToolBytesEach: 256,
  /** Bytes that the list thread has no use for any more when it has its garbage collected: left alone, V8 lets it grow large. */
  listGarbageBytesMax: 64 * MIB,
  /** Tasks in the list thread at once: one is done, one is ready. The others wait, each subject's in turn. */
  listTasksInThreadMax: 2,
  /** Bytes of a large list that go to the list thread and come from it at once: more would hold up the event loop. */
  listPartBytes: 512 * KIB,
  /** Bytes that are reserved for a body because its head says that it is so long; a longer one is put together at its end. */
  bodyReservedBytesMax: 4 * MIB,
  /** From so many bytes on the memory of a body is used again when the body is gone. */
  largeMemoryFromBytes: 64 * KIB,
  /** Bytes of such memory that a process keeps for the next bodies. */
  spareMemoryBytesMax: 32 * MIB,
  /** How long a task may wait for the list thread and take in it, ms; then it fails, and with it its list. */
  listTaskMsMax: 10_000,
  /** Bytes of a caller's params of `initialize`, which are read twice; longer ones are refused as invalid params. */
  initializeParamsBytesMax: 64 * KIB,
  /** Bytes of a caller's `clientInfo`, which each session keeps; a longer one is refused as invalid params. */
  clientInfoBytesMax: 16 * KIB,
  /** Bytes of a caller's `capabilities`, which each session keeps for its backends; longer ones are refused as invalid params. */
  clientCapabilitiesBytesMax: 16 * KIB,
  /** Headers that one backend's `auth` may set. */
  authHeadersMax: 8,
  /** Characters of the name of a secret's file. */
  secretNameCharsMax: 128,
  /** Bytes of a secret's file, and of the list of its hosts. */
  secretBytesMax: 8 * KIB,
  /** Files of secrets that a process knows; it reads the others again. */
  secretsKnownMax: 1_024,
  /** How long a secret is taken for the same before its file is looked at again, ms. */
  secretCheckMs: 1_000,
  /** Introductions of clients that a worker knows, so that sessions of one program share one copy; it forgets the others. */
  introductionsKnownMax: 256,
  /** Bytes of an introduction that sessions may share; of a longer one each has its own. */
  introductionSharedBytesMax: 2 * KIB,
  /** Bytes of what a backend declares as experimental, names and values, which each session keeps; what comes behind them is left out. */
  experimentalBytesMax: KIB,
  /** Characters of a backend's `instructions`, which each session keeps; longer ones are left out. */
  instructionsCharsMax: 32 * KIB,
  /** How long a call goes on whose caller is gone, ms; then the backend is told, and its connection freed. */
  unheardCallMsMax: 300_000,
  /** Bytes that are read for such a call at once; then another of them has its turn. */
  unheardReadBytes: 64 * KIB,
  /** Times as long as reading them took nothing is read for any of them: a fifth of the event loop is theirs; and that rest at most, ms. */
  unheardRestFactor: 4,
  unheardRestMsMax: 1_000,
  /** How often a failing backend's requests are logged, ms; those between are counted on the next line. */
  failureLogIntervalMs: 10_000,
  /** Kinds of line, as of one subject's broken config, whose repetitions are counted; above it the oldest is logged anew. */
  repeatedLogKindsMax: 1_024,
  /** Answers to a backend's own requests under way per upstream session; more of its requests are not answered. */
  backendRequestsUnderWayMax: 16,
  /** Resources that a session may be subscribed to at once; one more is refused with a JSON-RPC error. */
  subscriptionsMax: 256,
  /** What each counts for in its subject's share of session bytes, beside its URI. */
  subscriptionBytesEach: 128,
  /** How long a backend may take to take a subscription again, ms; nobody waits for it. */
  subscribeMsMax: 5_000,
  /** What the stream of a session's GET counts for in its subject's share of session bytes. */
  sessionStreamBytesEach: 4 * KIB,
  /** How long a client's GET is answered with one stream, ms; then it ends, and the client asks again with a token that is good. */
  sessionStreamMsMax: 600_000,
  /** Events on it that wait for a slow reader, and their bytes; then the oldest is dropped, and the client is told. */
  sessionStreamWaitingMax: 1_024,
  sessionStreamWaitingBytesMax: MIB,
  /** Bytes of a stream's last events that are kept though they were written: they may not have arrived. The very last one is, whatever its size. */
  writtenBytesKept: 64 * KIB,
  /** Bytes of a request's id, as JSON, that is kept beside its answer's stream, for a word in the answer's place. */
  keptIdBytesMax: KIB,
  /** Streams of one session whose answer was written, and that are kept for a while all the same; then the oldest is not. */
  deliveredStreamsKept: 4,
  /** For how long, ms. A client notices within that that its connection broke, or not at all. */
  deliveredStreamsKeptMs: 60_000,
  /** How often a session looks for streams that have been kept for long enough, ms. */
  keptStreamsSweepMs: 5_000,
  /** How long what a backend asks on a session's stream waits for the client's `notifications/initialized`, ms; then it is refused. */
  clientReadyMsMax: 5_000,
  /** After how long a client should come back for a stream that has ended before its time, a call's or the session's, ms. */
  streamRetryMs: 1_000,
  /** Changes of the backends' lists within this time are one notification, ms. */
  listChangesMs: 50,
  /** Connections of one worker to backends' own streams, and half as many as calls may have if that is less. */
  backendStreamsMax: 8_192,
  /** Connections of one worker for answers to backends during calls; with none free they go on those of calls. */
  replyConnectionsMax: 512,
  /** One in so many of those that calls may have, if that is less. */
  replyConnectionsDivisor: 16,
  /** Bytes of one event on a backend's own stream; above it the stream is closed, and opened again behind the event. */
  backendStreamEventBytesMax: 128 * KIB,
  /** Bytes of an event's id, its name and a `retry`, which are decoded at once; a longer id is not gone on from. */
  eventFieldBytesMax: KIB,
  /** First and longest wait before a backend's stream is opened again, ms, unless its `retry` says longer. */
  backendStreamDelayMsMin: 1_000,
  backendStreamDelayMsMax: 30_000,
  /** What a backend's `retry` may say, ms; less or more is taken for this. */
  backendRetryMsMin: 100,
  backendRetryMsMax: 3_600_000,
  /** How long a backend's stream may take to open, ms, before requests no longer wait for it. */
  backendStreamPatienceMs: 500,
  /** How long backends' streams stay open while the client's is not, ms: it may come back, or come at all. */
  backendStreamsLingerMs: 10_000,
  /** Bytes of the params of `logging/setLevel`, which each session keeps; longer ones are refused as invalid params. */
  logLevelParamsBytesMax: KIB,
  /** How long a backend may take to set its log level, ms; then the client is answered without it. */
  logLevelMsMax: 5_000,
  /** Requests of one backend that the client of a session has not answered yet; one more is refused. Calls made at once ask at once. */
  backendRequestsOpenMax: 64,
  /** What each counts for in its subject's share of session bytes, beside its id. */
  backendRequestBytesEach: KIB,
  /** Tasks of a session's client that backends have asked for; of one more the oldest is forgotten: it cannot be asked about. */
  clientTasksMax: 256,
  /** What each counts for in its subject's share of session bytes, beside its id. */
  clientTaskBytesEach: 192,
  /** How long a backend may say nothing while the result of a task is waited for, ms; more if `--call-timeout` says more. */
  taskResultSilenceMsMax: 3_600_000,
  /** Bytes of the id of such a request, which is part of ours, and of its progress token; a longer id is refused. */
  backendRequestIdBytesMax: KIB,
  /** Requests that another process has asked of a session's client, whose answers were passed on here: each once. Of one more the oldest is forgotten. */
  answeredIdsKeptMax: 256,

  /** Bytes of the name of a tool or prompt, or of a task's id, in a backend's list; one with a longer one is left out, and no request can name it. */
  toolNameBytesMax: 4 * KIB,
  /** Bytes of the URI of a resource, or of a template, in a backend's list; one with a longer one is left out, and cannot be read. */
  uriBytesMax: 16 * KIB,
  /**
   * Templates that a URI is held against for one request, of the allow-list and of each list that is read for it; more are
   * taken for ones that do not make it. Each may cost 30 us for the longest URI (2.6 GHz AMD EPYC, Node 20).
   */
  templatesTriedMax: 500,
  /** Characters between two variables of such a template; what searches a longer text may take its length for each of the URI's. */
  templateTextCharsMax: 250,
  /** Bytes of a backend's `nextCursor`, which the next request carries; a longer one makes the list an invalid answer. */
  cursorBytesMax: 64 * KIB,
  /** Tools that a log line names as unreachable; the others are left out of it. */
  unreachableToolsLoggedMax: 100,
  /** Pages that one of a backend's lists may have; more is an invalid answer. */
  listPagesMax: 1_000,
  /**
   * Connections per worker to all backends, and half of the files that the process may open if that is less; then idle
   * ones are closed, and without any a request waits for one to its origin, or the fault is `connections-used`. It is
   * what `--upstream-connections` may be set to.
   */
  upstreamConnectionsTotalMax: 16_384,
  /** One subject may have one in so many of a worker's connections and of an origin's places to wait in. */
  upstreamShareDivisor: 4,
  /** Connections per worker and origin that are being opened at once; further requests wait. */
  upstreamConnectingMax: 128,
  /** Requests per worker and backend origin that wait for a connection; one more is a fault, `backend-busy`. */
  upstreamRequestsWaitingMax: 16_384,
  /** Backend origins that a worker knows at once; then an idle one is let go, or the fault is `connections-used`. */
  upstreamOriginsMax: 16_384,
  /** Of these, made for one subject; then an idle one of its own is let go, or the fault is `connections-share-used`. */
  upstreamOriginsPerSubjectMax: 1_024,
  /** How long an idle connection is kept, ms: less than the 5 s after which common servers close theirs on a request. */
  upstreamConnectionIdleMs: 4_000,
  /** The same when the backend announces how long it keeps its own; what it announces beyond is not made use of. */
  upstreamConnectionIdleMsMax: 600_000,
  /** So many connections in a row, each closed by the backend soon after its first answer, and none is used again. */
  upstreamClosedInRowMax: 2,
  /** How long the connection to one of several addresses may take before the next is tried beside it, ms (RFC 8305). */
  nextAddressMs: 250,
  /** TLS sessions kept per worker, one an origin; then the oldest is dropped. */
  tlsSessionsMax: 4_096,
  /** Bytes of one such session; a larger one is not kept. */
  tlsSessionBytesMax: 16 * KIB,
  /** How long a TLS session is used again, ms; then the certificate is looked at anew. */
  tlsSessionMsMax: 3_600_000,

  /** Names whose addresses are kept per process; then the one that was not needed for the longest is dropped. */
  namesMax: 16_384,
  /** Addresses of one name that are used; further ones are left out. */
  addressesPerNameMax: 32,
  /** Shortest and longest time for which the addresses of a name are taken as they are, ms, whatever its records say. */
  nameKeptMsMin: 1_000,
  nameKeptMsMax: 300_000,
  /** How long a name without an address counts as one, ms; then it is asked for again. */
  nameFaultKeptMs: 1_000,
  /** How long addresses out of date serve while name servers are silent, ms; then the name has none. */
  nameStaleMsMax: 3_600_000,
  /** How long name servers are waited for when there are such addresses, ms; then these serve. */
  nameStaleAfterMs: 500,
  /** How long one look-up may take, its search list included, ms; then it has failed. */
  nameLookUpMsMax: 5_000,
  /** How long a name server may take before the next is asked, ms, and how often each is asked. */
  nameServerMsMax: 1_000,
  nameServerTriesMax: 3,
  /** After the IPv6 or IPv4 addresses of a name have come, how long the others may take, ms; then these are used. */
  secondAddressKindMs: 50,
  /** What `--name-look-ups` may be set to: each look-up under way takes a socket or two. */
  nameLookUpsMax: 16_384,
  /** One subject may have one in so many of them under way. */
  nameLookUpShareDivisor: 16,
  /** Look-ups that wait, and of one subject; one more is a fault, `connections-used` or `connections-share-used`. */
  nameLookUpsWaitingMax: 16_384,
  nameLookUpsWaitingPerSubjectMax: 1_024,
  /** Bytes of /etc/hosts and /etc/resolv.conf that are read; a larger file counts as empty. */
  nameFileBytesMax: MIB,
  /** How often these files are looked at for changes, ms, while names are asked for. */
  nameFileCheckMs: 1_000,
  /** Header bytes of one answer of a backend; above it the answer is invalid. */
  upstreamHeaderBytesMax: 64 * KIB,
  /** How often free upstream connections are looked through for old ones, ms. */
  upstreamSweepMs: 500,
  /** How much earlier than the backend says it closes idle connections they are given up, ms. */
  upstreamKeepAliveMarginMs: 1_000,
  /** How often a request that could not be written is put on another connection; then the call fails. */
  upstreamUnsentTriesMax: 3,
  /** Bytes of a body that is copied behind its request's head, to be one write; a larger one is written by itself. */
  upstreamCopiedBodyBytesMax: 16 * KIB,
  /** Bytes of the one buffer that upstream connections read into. */
  upstreamReadBytes: 64 * KIB,
  /** What one connection may take of an answer before all others have their turn: small events cost 2 to 4 ms for 64 KiB. */
  upstreamTurnBytesMax: 256 * KIB,
  /** The same of all connections of a process together, and ms: then those that have more rest, and read on by turns of subjects. */
  upstreamTurnBytesTotalMax: MIB,
  upstreamTurnMsMax: 5,
  /** What is read beyond that waits for its turn, up to so many bytes in all; and so little of one connection never waits. */
  upstreamKeptBytesMax: 16 * MIB,
  upstreamUnkeptBytesMax: 4 * KIB,
  /** Bytes of a chunk's size line in a chunked answer; a longer one is an invalid answer. */
  upstreamChunkLineBytesMax: 256,
  /** Different `content-type` values of answers that are remembered per worker; then all are forgotten. */
  mediaTypesMax: 256,
  /** Endpoints of backends, URLs, whose reachability a worker keeps; above it the oldest is forgotten and learned anew. */
  endpointsMax: 16_384,
  /** How long after an answer an origin counts as reachable, ms, whatever fails: longer than connections are kept. */
  originAnsweredMs: 5_000,
  /** First and longest wait before an origin that cannot be reached is probed again, ms; at random up to half of it less. */
  probeDelayMsMin: 200,
  probeDelayMsMax: 4_000,
  /** Beyond connecting, how long a probe may be without an answer, ms; then the origin counts as reached. */
  probeAnswerMsMax: 1_000,
  /** Probes of a worker under way at once; further origins wait for their next turn. */
  originProbesMax: 64,
  /** An origin that nobody has asked for is no longer probed, ms, and a silence no longer remembered: who needs it tries. */
  originForgottenMs: 60_000,
  /** Subjects whose waiting in vain for one endpoint is remembered; above it the oldest is forgotten. */
  silenceSubjectsMax: 64,
  /** How many times as long as `initialize` a list waits for a backend that is being opened: few clients list twice. */
  listPatienceTimes: 4,
  /** First and longest wait before an unavailable backend is tried again, ms. */
  upstreamRetryDelayMsMin: 100,
  upstreamRetryDelayMsMax: 5_000,
  /** After the answer came on an event stream, how long the backend may take to end the stream, ms. Then it is cut. */
  answeredStreamMsMax: 1_000,
  /** After a cancellation was passed on, how long a backend may take to end its answer, ms. Then it is cut. */
  cancelledAnswerMsMax: 5_000,
  /**
   * How long a backend may take to accept a notification or the DELETE of its session, ms. Then it is cut. A worker that
   * stops waits for these, and must have time left to end.
   */
  noticeMsMax: 4_000,
  /** When all sessions end with the process: notices to backends under way at once, in all and to one origin; others wait. */
  farewellsMax: 2_048,
  farewellsPerOriginMax: 256,
  /** So many at first to one origin: one more for each that is answered, half for each that is not. */
  farewellsPerOriginFirst: 16,
  /** How long the backends are told, ms, unless the stop says; what could not be told by then is counted and logged. */
  farewellsMsMax: 4_000,

  /**
   * How often something is tried on a caller that takes its answer slowly, ms: well before uWebSockets.js, which counts
   * to ten seconds in steps of four, takes the connection for dead. The caller is cut off after `--slow-reader-timeout`.
   */
  slowReaderTryMs: 3_000,
  /** What `--stream-keep-alive` may be set to, ms; more is a fault at start-up (decisions 2.2 says at least every 15 s). */
  streamKeepAliveMsMax: 14_000,

  /** Bytes that the owner may send ahead on one hopped answer before the receiver returns credit. */
  hopWindowBytes: 256 * KIB,
  /** How long a connection to an owner, and the secret on it, may take, ms; a Unix socket answers at once or not at all. */
  hopConnectMsMax: 2_000,
  /** Links that an owner accepts: one for each other worker, twice, as a restarted one may still have its old link. */
  hopLinksMax: 2_048,
  /** How long a request waits for an owner that is being started again, ms, and between two tries to pass it on. */
  ownerWaitMsMax: 30_000,
  ownerRetryMs: 50,
  /** Requests of a worker that wait so, of all subjects and of one; one more is refused. */
  ownerWaitsMax: 10_000,
  ownerWaitsPerSubjectMax: 1_000,
  /** Hops on one link at once; one more fails as if the owner were lost, and at the owner it is not taken. */
  hopsPerLinkMax: 65_536,
  /**
   * Payload bytes of one frame; a longer one is malformed and closes the link. Holds a request's head: its strings are
   * at most the request's headers and the token's subject out of them, both in UTF-16.
   */
  hopFrameBytesMax: 256 * KIB,
  /** Body bytes of one frame: a longer body is sent in parts, between which other hops have their turn. */
  hopPartBytesMax: 64 * KIB,
  /** Bytes of the buffer that a link's outgoing frames are gathered in; when it is full the link takes a new one. */
  hopBatchBytes: 32 * KIB,
  /** Bytes of the one buffer that answers over hops are read into. */
  hopReadBytes: 64 * KIB,
  /** Bytes of a hopped answer given as a whole, which the receiver gathers; a longer one is answered 500. */
  hopAnswerBytesMax: 256 * MIB,

  /** How long a command for people waits for the control plane's answer, ms; then it fails. Probes take their time. */
  commandAnswerMsMax: 120_000,
  /** Connections to the control plane at once; one more takes the place of the one that has been silent longest. */
  controlPlaneConnectionsMax: 4_096,
  /** Values of a request's JSON body; a body of more than `readAtOnceBytesMax` bytes and more values is refused (413). */
  controlPlaneBodyValuesMax: 50_000,
  /** How long a request to the control plane may take to arrive, body and all, ms; then it is answered 408. */
  requestReceiveMsMax: 60_000,
  /** Characters of one parameter in a path of the control plane, as sent; a longer one is answered 414. */
  pathParameterCharsMax: 512,
  /** Subjects and addresses whose requests are counted at once; above it the oldest begins to count anew. */
  rateLimitKeysMax: 100_000,

  /** What `--max-servers` may be set to; more is a fault at start-up: a list of all is kept in order in memory. */
  serversMax: 10_000,
  /** Characters of a server's name (decisions 3), URL and description; a longer one is refused. */
  serverNameCharsMax: 64,
  serverUrlCharsMax: 2_048,
  serverDescriptionCharsMax: 4_096,
  /** Tags of one server, and characters of one tag; more is refused. */
  serverTagsMax: 32,
  serverTagCharsMax: 64,
  /** The control plane's embedded store being closed, ms: its writes were waited for before. */
  embeddedCloseMsMax: 2_000,
  /** Records that are listed, or moved from an earlier layout, at once; and read with one command. Others have their turn. */
  recordsAtOnceMax: 256,
  recordsPerReadMax: 32,
  /** Entries of the log of changed records; who has missed more reads everything anew. */
  recordChangesKept: 4_096,
  /** Tries to change a record that others keep changing; then the change fails. Each lost try is another's success. */
  recordSwapTriesMax: 64,
  /** Health checks of one control plane at once; further servers wait for their turn. */
  probesAtOnceMax: 16,
  /** Bytes of all answers to one probe together; above it the server counts as failed. */
  probeBytesMax: 8 * MIB,
  /** Items of each list of one server, and commas and opening brackets in all answers to one probe: so many values at most. */
  probeToolsMax: 10_000,
  probeValuesMax: 524_288,
  /** Memory of the thread in which servers are probed, bytes; beyond it the probes under way count as failed. */
  probeThreadMemoryBytesMax: 512 * MIB,
  /** Bytes of a server's capabilities, and of its `serverInfo`; of a larger one is kept what has a meaning here. */
  serverSelfBytesMax: 64 * KIB,
  /** Records on one page of a list, and bytes of these as stored after which it ends before. */
  listPageMax: 1_000,
  listPageBytesMax: 8 * MIB,
  /** Failed health checks in a row that make a server inactive (decisions 3). */
  healthFailuresMax: 3,
  /** What `--max-compositions` and the part of one maker may be set to; more is a fault at start-up, as with servers. */
  compositionsMax: 10_000,
  /** Subjects of one composition, each a user config to write; more is refused. */
  compositionSubjectsMax: 1_000,
  /** Bytes of one composition as stored; a larger one is refused. It is in the user config of each of its subjects. */
  compositionBytesMax: MIB,
  /** Names of servers' tools remembered: servers, and characters of their names; others are read again. */
  toolNamesCacheEntriesMax: 10_000,
  toolNamesCacheCharsMax: 32 * MIB,
  /** User configs that one change of a composition writes at once; further ones wait for their turn. */
  publicationsAtOnceMax: 8,
  /** Between two looks whether every composition is published, ms. */
  publishRepairMs: 30_000,
  /** User configs that such a look reads at once, and its pause after them, ms: it takes the store as long as it needs. */
  publicationChecksAtOnceMax: 50,
  publicationCheckPauseMs: 50,
  /** Virtual hosts of the control plane kept compiled; the least recently used is compiled again. */
  controlPlaneVirtualHostsMax: 16_384,

  /** What `--number-of-cpus` may be set to; more is a fault at start-up. */
  workersMax: 1_024,
  /** Workers that start at once; further ones wait for their turn. More would slow each other down past their time. */
  workerStartsAtOnceMax: 4,
  /**
   * Failed starts in a row of one slot after which nobody waits for it; and, before any worker has ever listened, failed
   * starts for each that may be under way at once after which the program gives up.
   */
  workerStartTriesMax: 5,
  /** Longest wait before a start that failed is tried again, ms. It begins with that of a restart, and doubles. */
  workerStartRetryMsMax: 30_000,
  /** First and longest wait before a worker is started again, ms. */
  workerRestartDelayMsMin: 50,
  workerRestartDelayMsMax: 800,
  /** How long a worker may take from its fork to listening, ms. */
  workerStartMsMax: 30_000,
  /** A worker that listened this long has settled, ms: when it dies it is replaced without delay again. */
  workerSettledMs: 10_000,
  /**
   * How long a worker may take from `stop` to its exit, its upstream DELETEs included, ms, when less than this is left of
   * the drain timeout. Then it is killed.
   */
  workerStopMs: 5_000,
  /**
   * Of that time, what is kept for everything but telling the backends, ms; one in so many parts of the drain timeout when
   * that is more, and half of the time at most. On a busy machine a worker that was full needs more than a second for it.
   */
  workerExitMs: 1_000,
  workerExitDivisor: 10,
  /** How long workers may take to forget a changed config, ms. Then its writer is answered, and the log says so. */
  forgetRoundMsMax: 2_000,
  /**
   * How long a worker that was replaced waits for what may still come over kept connections, ms. The library closes one on
   * which nothing has come for ten seconds, and looks every four.
   */
  keptConnectionMsMax: 15_000,
  /** Between two looks of such a worker after that whether everything is answered, ms. */
  retiredLookMs: 250,
  /**
   * How long after its start a worker believes that the one before it, if there was one, may not have been told yet, ms; and
   * cancellations that wait for that at once. One more is dropped, as is one that waits in vain.
   */
  predecessorWaitMsMax: 5_000,
  predecessorNoticesWaitingMax: 64,
  /** Heartbeats of a worker in the time after which a silent one counts as hung: a late one alone is no reason. */
  heartbeatsPerHangTimeout: 4,
  /** Longest time between two heartbeats of a worker, ms. */
  heartbeatMsMax: 2_500,
  /** Changed configs that workers are forgetting at once; one more ends the oldest round as if its time were up. */
  forgetRoundsMax: 1_024,
  /** Stop signals this soon after the first are the same wish, ms: npm repeats a Ctrl-C that the group already got. */
  stopSignalRepeatMsMax: 500,
  /** Between two looks whether a Unix socket still stands at its path, ms: so long others may not find it. */
  standingSocketCheckMs: 2_000,
  /** Connections at once to the socket by which a primary holds its directory; one more is closed. It closes them itself. */
  hopDirectoryHolderConnectionsMax: 16,
  /** Directories that are looked at when a primary starts, to remove what killed ones have left; the rest is left. */
  hopDirectoriesSweptMax: 1_000,
  /** Bytes of a Unix socket's path (108 with its NUL, unix(7)); the primary does not start with a longer one. */
  unixSocketPathBytesMax: 107,
} as const;
