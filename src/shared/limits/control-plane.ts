// Limits: the control plane.
import { KIB, MIB } from './units.js';

export const controlPlaneLimits = {
  /** connections at once → the one longest without a request is closed */
  controlPlaneConnectionsMax: 4_096,
  /** values of a request's JSON body of more than 128 KiB: so many are parsed in 20 ms → 413 */
  controlPlaneBodyValuesMax: 50_000,
  /** a request arriving, body and all: some callers never finish → 408 */
  requestReceiveMsMax: 60_000,
  /** one parameter in a path, as sent → 414 */
  pathParameterCharsMax: 512,
  /** subjects and addresses whose requests are counted at once → the oldest begins to count anew */
  rateLimitKeysMax: 100_000,
  /** between two looks whether the control plane is ready: a store comes and goes without a word → systemd and the log are told so much later */
  controlPlaneReadinessMs: 1_000,
  /** a command for people waiting for the control plane: probes take their time → the command fails */
  commandAnswerMsMax: 120_000,
  /** a server's name: it is the prefix of its tools → refused, naming the member */
  serverNameCharsMax: 64,
  /** a server's URL → refused, naming the member */
  serverUrlCharsMax: 2_048,
  /** a server's description → refused, naming the member */
  serverDescriptionCharsMax: 4_096,
  /** tags of one server → refused, naming the member */
  serverTagsMax: 32,
  /** one tag → refused, naming the member */
  serverTagCharsMax: 64,
  /**
   * what is curated of a server, and of a server in one composition, as JSON: it comes into the user configs of others
   * → refused, naming the member
   */
  curationBytesMax: 64 * KIB,
  /** objects in one another in a merge patch → refused */
  patchDepthMax: 64,
  /** times that a patch without `If-Match` is put onto what others have made of the thing meanwhile → refused, as changed meanwhile */
  patchTriesMax: 10,
  /** health checks of one control plane at once → further servers wait for their turn */
  probesAtOnceMax: 16,
  /** a server with sessions, asked whether it does without them as well → it counts as one that does not */
  probeEraMsMax: 2_000,
  /** all answers to one probe together → the server counts as failed */
  probeBytesMax: 8 * MIB,
  /**
   * items of each list of one server → of tools: the server counts as failed; of others: the list counts as not given,
   * and the log says so
   */
  probeToolsMax: 10_000,
  /**
   * commas and opening brackets in all answers to one probe: values cost more to read than bytes → the server counts as
   * failed
   */
  probeValuesMax: 524_288,
  /** the thread in which servers are probed → the probes under way count as failed */
  probeThreadMemoryBytesMax: 512 * MIB,
  /**
   * a server's capabilities, and its `serverInfo`: they are in every listing → what has a meaning here is kept, the
   * rest is left out
   */
  serverSelfBytesMax: 64 * KIB,
  /** records on one page of a list → the `Link` header leads to the next page */
  listPageMax: 1_000,
  /** the records of one page, as stored → the page ends there, the `Link` header leads to the next one */
  listPageBytesMax: 8 * MIB,
  /** failed health checks in a row → the server becomes inactive */
  healthFailuresMax: 3,
  /** entries in the history of a server's health → the oldest is forgotten */
  healthEntriesMax: 50,
  /** of a reason in that history → cut there */
  healthReasonCharsMax: 300,
  /** subjects of one composition, each a user config to write → refused, naming the member */
  compositionSubjectsMax: 1_000,
  /** one composition as stored: it is in the user config of each of its subjects → refused */
  compositionBytesMax: MIB,
  /** patterns among the tools of one server in a composition → refused, naming the member */
  toolPatternsMax: 8,
  /** characters of one, and of a tool's name that one may match → refused; a longer name is matched by none */
  toolPatternCharsMax: 128,
  /** tools of one server that the patterns of a composition match: the server decides how many there are → further ones are not served */
  matchedToolsMax: 1_000,
  /** their names together → further ones are not served */
  matchedToolCharsMax: 32 * KIB,
  /** servers the names of whose tools are remembered → the least recently used are read again */
  toolNamesCacheEntriesMax: 10_000,
  /** these names together → the least recently used are read again */
  toolNamesCacheCharsMax: 32 * MIB,
  /** user configs that one change of a composition writes at once → further ones wait for their turn */
  publicationsAtOnceMax: 8,
  /** between two looks whether every composition is published → what is missing is published */
  publishRepairMs: 30_000,
  /** user configs that such a look reads at once → the others follow */
  publicationChecksAtOnceMax: 50,
  /** the pause after them: a look takes as long as it needs → they are read */
  publicationCheckPauseMs: 50,
  /** virtual hosts of the control plane kept compiled → the least recently used is dropped, and compiled again */
  controlPlaneVirtualHostsMax: 16_384,
  /** characters of one member of what was changed, in the log's line about it → its beginning, its length and a hash are told */
  auditValueCharsMax: 512,
  /** bytes of one answer of a dataplane's admin listener to the control plane → whoever asked is told to ask for less */
  dataplaneAnswerBytesMax: 4 * MIB,
  /** a dataplane's admin listener answering the control plane → whoever asked is told that it does not */
  dataplaneAnswerMsMax: 5_000,
  /** questions of a control plane to it at once: each takes the time of every worker → 503 */
  dataplaneQuestionsMax: 6,
  /** of these one subject's → 503 */
  dataplaneQuestionsPerSubjectMax: 2,
  /** between two looks at a dataplane's figures, while somebody watches them → they are told */
  liveIntervalMs: 2_000,
  /** people who watch them at once → 503 */
  liveStreamsMax: 64,
  /** of these one subject's pages → 503 */
  liveStreamsPerSubjectMax: 8,
  /** a stream of them: a token may be no good any more → it ends, and who still may opens another */
  liveStreamMsMax: 600_000,
  /** bytes that wait for somebody who does not read such a stream → it is cut off */
  liveStreamBytesWaitingMax: 64 * KIB,
  /** backends in one reading, the busiest → the others are left out */
  liveBackendsMax: 20,
  /** requests to its own MCP endpoints that a control plane can tell of, by their ids → the oldest is forgotten */
  controlPlaneRequestsKept: 1_024,
  /** a file that `servers import` reads → refused */
  importFileBytesMax: MIB,
  /** servers in it → refused */
  importedServersMax: 1_000,
  /** changes in the store's list of them → the oldest goes; the log keeps what it has */
  auditEntriesKept: 5_000,
  /** all of them together → the oldest go */
  auditBytesKept: 8 * MIB,
  /** one of them → it names the members that were changed, and not what they are */
  auditEntryBytesMax: 16 * KIB,
  /** changes that wait for a store that does not take them → the oldest is missing in the list, and the log says how many */
  auditWaitingMax: 500,
  /** between two tries to write them → they are tried again */
  auditRetryMs: 1_000,
  /** changes that are written at once → the others follow */
  auditWrittenAtOnceMax: 32,
  /** these together, unless one alone is larger → the others follow */
  auditWrittenBytesMax: 32 * KIB,
  /** old changes that go at once: more than so many can never be in the place of those that are written → the others follow */
  auditRemovedAtOnceMax: 512,
  /** changes on one page → the `Link` header leads to the next one */
  auditPageMax: 200,
  /** changes that are looked through for one page → it ends there, the `Link` header leads to the next one */
  auditLookedThroughMax: 1_000,
  /** subjects of a composition in such a line → the first are told, with their number and a hash of all */
  auditSubjectsMax: 20,
} as const;
