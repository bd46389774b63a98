// Limits: the control plane.
import { KIB, MIB } from './units.js';

export const controlPlaneLimits = {
  /** values in a JSON request body of more than 128 KiB; this many are parsed in 20 ms → 413 */
  controlPlaneBodyValuesMax: 50_000,
  /** time for a request to arrive, including its body; some callers never finish → 408 */
  requestReceiveMsMax: 60_000,
  /** one path parameter, before decoding → 414 */
  pathParameterCharsMax: 512,
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
  /** bytes of all answers to one probe → the server counts as failed */
  probeBytesMax: 8 * MIB,
  /** items in each list of one server → for tools the server counts as failed; any other list counts as missing, and the log says so */
  probeToolsMax: 10_000,
  /** records on one page of a list → the `Link` header leads to the next page */
  listPageMax: 1_000,
  /** bytes, as stored, of the records on one page → the page ends there, and the `Link` header leads to the next page */
  listPageBytesMax: 8 * MIB,
  /** subjects of one composition; each is a user config to write → refused, naming the member */
  compositionSubjectsMax: 1_000,
  /** one composition as stored; it is part of the user config of each of its subjects → refused */
  compositionBytesMax: MIB,
  /** patterns among the tools of one server in a composition → refused, naming the member */
  toolPatternsMax: 8,
  /** one tool pattern, and a tool name that a pattern may match → a longer pattern is refused; a longer name is never matched */
  toolPatternCharsMax: 128,
  /** one changed member in the log line about a change → its beginning, its length and a hash are logged */
  auditValueCharsMax: 512,
  /** one answer of a dataplane's admin listener to the control plane → the asker is told to request less */
  dataplaneAnswerBytesMax: 4 * MIB,
  /** time for a dataplane's admin listener to answer the control plane → the asker is told that it does not answer */
  dataplaneAnswerMsMax: 5_000,
  /** queries of a control plane to a dataplane's admin listener at once; each takes time of every worker; one subject a quarter → 503 */
  dataplaneQuestionsMax: 6,
  /** streams of live figures at once, one per open page; one subject a quarter → 503 */
  liveStreamsMax: 64,
  /** file that `servers import` reads → refused */
  importFileBytesMax: 16 * MIB,
  /** servers in one file that `servers import` reads → refused */
  importedServersMax: 1_000,
  /** changes on one page → the `Link` header leads to the next page */
  auditPageMax: 200,
  /** changes examined for one page → the page ends there, and the `Link` header leads to the next page */
  auditLookedThroughMax: 1_000,
} as const;
