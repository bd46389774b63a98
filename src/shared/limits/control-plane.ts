// Limits: the control plane.
import { KIB, MIB } from './units.js';

export const controlPlaneLimits = {
  /** connections at once → the one longest without a request is closed */
  controlPlaneConnectionsMax: 4_096,
  /** values in a JSON request body of more than 128 KiB; this many are parsed in 20 ms → 413 */
  controlPlaneBodyValuesMax: 50_000,
  /** time for a request to arrive, including its body; some callers never finish → 408 */
  requestReceiveMsMax: 60_000,
  /** one path parameter, before decoding → 414 */
  pathParameterCharsMax: 512,
  /** subjects and addresses whose requests are counted at once → the oldest starts again from zero */
  rateLimitKeysMax: 100_000,
  /**
   * interval between checks whether the control plane is ready, as stores become unreachable without notice → systemd and the log learn of
   * a change with this delay
   */
  controlPlaneReadinessMs: 1_000,
  /** time that an interactive command waits for the control plane, whose probes take their time → the command fails */
  commandAnswerMsMax: 120_000,
  /** a server's name, which is the prefix of its tools → refused, naming the member */
  serverNameCharsMax: 64,
  /** a server's URL → refused, naming the member */
  serverUrlCharsMax: 2_048,
  /** a server's description → refused, naming the member */
  serverDescriptionCharsMax: 4_096,
  /** tags of one server → refused, naming the member */
  serverTagsMax: 32,
  /** one tag → refused, naming the member */
  serverTagCharsMax: 64,
  /** curation of a server, or of a server in one composition, as JSON; it is copied into user configs → refused, naming the member */
  curationBytesMax: 64 * KIB,
  /** nesting depth of objects in a merge patch → refused */
  patchDepthMax: 64,
  /** times that a patch without `If-Match` is applied again because others changed the record meanwhile → refused as a conflict */
  patchTriesMax: 10,
  /** health checks that one control plane runs at once → further servers wait for their turn */
  probesAtOnceMax: 16,
  /** time for a server with sessions to answer whether it also works without them → it counts as one that does not */
  probeEraMsMax: 2_000,
  /** bytes of all answers to one probe → the server counts as failed */
  probeBytesMax: 8 * MIB,
  /** items in each list of one server → for tools the server counts as failed; any other list counts as missing, and the log says so */
  probeToolsMax: 10_000,
  /** commas and opening brackets in all answers to one probe; values cost more to parse than bytes → the server counts as failed */
  probeValuesMax: 524_288,
  /** memory of the thread that probes servers → the probes in progress count as failed */
  probeThreadMemoryBytesMax: 512 * MIB,
  /**
   * a server's capabilities or its `serverInfo`, which are part of every listing → only the names of MCP's capabilities, or name, title and
   * version, are kept
   */
  serverSelfBytesMax: 64 * KIB,
  /** characters of the name, the title and the version that are kept of a larger `serverInfo` → cut */
  serverSelfTextCharsMax: 256,
  /** records on one page of a list → the `Link` header leads to the next page */
  listPageMax: 1_000,
  /** bytes, as stored, of the records on one page → the page ends there, and the `Link` header leads to the next page */
  listPageBytesMax: 8 * MIB,
  /** failed health checks in a row → the server becomes inactive */
  healthFailuresMax: 3,
  /** entries in the history of a server's health → the oldest is forgotten */
  healthEntriesMax: 50,
  /** one reason in the history of a server's health → the rest is cut off */
  healthReasonCharsMax: 300,
  /** subjects of one composition; each is a user config to write → refused, naming the member */
  compositionSubjectsMax: 1_000,
  /** one composition as stored; it is part of the user config of each of its subjects → refused */
  compositionBytesMax: MIB,
  /** patterns among the tools of one server in a composition → refused, naming the member */
  toolPatternsMax: 8,
  /** one tool pattern, and a tool name that a pattern may match → a longer pattern is refused; a longer name is never matched */
  toolPatternCharsMax: 128,
  /** tools of one server that a composition's patterns match; the server decides how many exist → further ones are not served */
  matchedToolsMax: 1_000,
  /** names of these matched tools together → further ones are not served */
  matchedToolCharsMax: 32 * KIB,
  /** servers whose tool names are cached → the least recently used are read again when needed */
  toolNamesCacheEntriesMax: 10_000,
  /** cached tool names together → the least recently used are read again when needed */
  toolNamesCacheCharsMax: 32 * MIB,
  /** user configs that one change of a composition writes at once → further ones wait for their turn */
  publicationsAtOnceMax: 8,
  /** interval between checks that every composition is published → what is missing is published */
  publishRepairMs: 30_000,
  /** user configs that such a check reads at once → the others follow */
  publicationChecksAtOnceMax: 50,
  /** pause between the groups of user configs that such a check reads; it is in no hurry → the next group is read */
  publicationCheckPauseMs: 50,
  /** compiled virtual hosts that the control plane caches → the least recently used is dropped, and compiled again when needed */
  controlPlaneVirtualHostsMax: 16_384,
  /** one changed member in the log line about a change → its beginning, its length and a hash are logged */
  auditValueCharsMax: 512,
  /** one answer of a dataplane's admin listener to the control plane → the asker is told to request less */
  dataplaneAnswerBytesMax: 4 * MIB,
  /** time for a dataplane's admin listener to answer the control plane → the asker is told that it does not answer */
  dataplaneAnswerMsMax: 5_000,
  /** queries of a control plane to a dataplane's admin listener at once; each takes time of every worker → 503 */
  dataplaneQuestionsMax: 6,
  /** such queries of one subject at once → 503 */
  dataplaneQuestionsPerSubjectMax: 2,
  /** interval at which a dataplane's figures are read while somebody watches them → the watchers get the new figures */
  liveIntervalMs: 2_000,
  /** streams of live figures at once, one per open page → 503 */
  liveStreamsMax: 64,
  /** streams of live figures of one subject at once → 503 */
  liveStreamsPerSubjectMax: 8,
  /** duration of one stream of live figures, as its token may lose its validity → it ends, and whoever is still allowed opens another */
  liveStreamMsMax: 600_000,
  /** bytes that wait for the reader of a stream of live figures → the stream is cut */
  liveStreamBytesWaitingMax: 64 * KIB,
  /** backends in one set of live figures, the busiest ones → the others are left out */
  liveBackendsMax: 20,
  /** requests to the control plane's own MCP endpoints that can be looked up by their ids → the oldest is forgotten */
  controlPlaneRequestsKept: 1_024,
  /** file that `servers import` reads → refused */
  importFileBytesMax: 16 * MIB,
  /** servers in one file that `servers import` reads → refused */
  importedServersMax: 1_000,
  /** changes in the store's audit list → the oldest is removed; the log is not affected */
  auditEntriesKept: 5_000,
  /** bytes of all changes in the store's audit list → the oldest are removed */
  auditBytesKept: 8 * MIB,
  /** one change in the audit list → it names the changed members without their values */
  auditEntryBytesMax: 16 * KIB,
  /**
   * changes that wait to be written while the store does not take them → the oldest is left out of the audit list, and the log says how
   * many are
   */
  auditWaitingMax: 500,
  /** interval between attempts to write the waiting changes → the next attempt follows */
  auditRetryMs: 1_000,
  /** changes added to the audit list in one write → the others follow */
  auditWrittenAtOnceMax: 32,
  /** bytes of changes added in one write, unless one change alone is larger → the others follow */
  auditWrittenBytesMax: 32 * KIB,
  /** old changes removed in one write; the changes added in it can never need more → the others follow */
  auditRemovedAtOnceMax: 512,
  /** changes on one page → the `Link` header leads to the next page */
  auditPageMax: 200,
  /** changes examined for one page → the page ends there, and the `Link` header leads to the next page */
  auditLookedThroughMax: 1_000,
  /** a composition's subjects in the log line about a change → the first are logged, with their number and a hash of all */
  auditSubjectsMax: 20,
} as const;
