// Limits: log lines, the access log, the admin listener and its figures.
import { KIB, MIB } from './units.js';

export const figureLimits = {
  /** log lines of a process that wait for a slow reader of standard output → further lines are dropped and counted */
  logBytesWaitingMax: MIB,
  /** between two tries to write what waits, or after standard output failed → it is tried again */
  logRetryMs: 50,
  /** an ending process waiting for the reader of its last log lines → they are lost */
  logFlushMsMax: 1_000,
  /** the buffer that log lines are encoded in → a longer line takes a buffer of its own */
  logLineScratchBytes: 16 * KIB,
  /**
   * a caller's own words in one line of the access log: a tool name may be as long as a request → the rest is cut off
   */
  accessLogNameCharsMax: 256,
  /**
   * places of the word `isError` in a result that are looked at, for logs and figures → the result counts as one that
   * is well
   */
  toolErrorLooksMax: 16,
  /** between that word and its `true` → it is not seen */
  toolErrorGapBytesMax: 24,
  /** first and last bytes of a result above `readAtOnceBytesMax` that are searched for that word → it is not seen */
  toolErrorEdgeBytes: 4 * KIB,
  /** connections to the admin listener: a monitor needs one, and several may look at once → one more is closed */
  adminConnectionsMax: 64,
  /**
   * backends that figures have names of, per worker and together: each is a set of series → further ones are `other`
   */
  metricBackendsMax: 100,
  /** how long workers have to tell their figures → the last ones are told */
  metricReportMsMax: 2_000,
  /** figures that were gathered are told to whoever asks: all workers had to stop for them → workers are asked again */
  metricGatheringAgeMsMax: 1_000,
  /** a request to the admin listener: it has a head and nothing else → the connection is closed */
  adminRequestMsMax: 10_000,
  /** how long workers have to answer an operator's question → a worker that has not is told as silent */
  adminViewMsMax: 2_000,
  /** bytes of one worker's answer to it → fewer are told, and it says so */
  adminViewBytesMax: 256 * KIB,
  /** characters of what is sent to change something on the admin listener → 400 */
  adminBodyCharsMax: 1_024,
  /** such questions at once: each takes the time of every worker → 503 */
  adminViewsAtOnceMax: 8,
  /** sessions on one page → the page says where the next one begins */
  adminSessionsPageMax: 200,
  /** backends, and virtual hosts, that an answer to an operator names → the others are left out */
  viewBackendsMax: 100,
  /** names of an allow-list in it → the others are left out */
  viewNamesMax: 200,
  /** sessions of a subject that it names at each backend → the others are left out */
  viewSessionsPerBackendMax: 20,
  /** requests of late that a worker can tell of, by their ids → the oldest is forgotten */
  recentRequestsKept: 1_024,
  /** origins of backends whose last failure a worker can tell of → the oldest is forgotten */
  lastFaultsKept: 1_024,
  /** between two log lines about failed requests to one backend → those between are counted on the next line */
  failureLogIntervalMs: 10_000,
  /** kinds of log line, as of one subject's broken config, whose repetitions are counted → the oldest is logged anew */
  repeatedLogKindsMax: 1_024,
  /**
   * lines about requests that were not served, in the time of `failureLogIntervalMs` → what finds none is counted on the
   * next line
   */
  problemLinesMax: 200,
  /**
   * of the lines that are left one subject takes this part at most, so that others have some as well → the same
   */
  problemLinesShareDivisor: 4,
  /** spans of a process that wait for their collector → further ones are dropped and counted */
  traceSpansWaitingMax: 4_096,
  /** spans in one request to a collector → the others are in the next */
  traceSpansAtOnceMax: 256,
  /** spans wait for others to go with them, and for a collector that has failed → they are sent */
  traceExportIntervalMs: 1_000,
  /** a collector taking spans → they are lost and counted */
  traceExportMsMax: 5_000,
  /** a process that ends and sends its last spans → they are lost and counted */
  traceFlushMsMax: 2_000,
} as const;
