// Limits: log lines, the access log, the admin listener, its figures and traces.
import { KIB, MIB } from './units.js';

export const figureLimits = {
  /** log lines of a process that wait for a slow reader of standard output → further lines are dropped and counted */
  logBytesWaitingMax: MIB,
  /** interval between attempts to write waiting log lines, and pause after standard output failed → the write is tried again */
  logRetryMs: 50,
  /** time that a process which ends waits for the reader of its last log lines → the lines are lost */
  logFlushMsMax: 1_000,
  /** the reused buffer that log lines are encoded in → a longer line gets a buffer of its own */
  logLineScratchBytes: 16 * KIB,
  /** a text chosen by the caller in one access log line; a tool name may be as long as a request → the rest is cut off */
  accessLogNameCharsMax: 256,
  /** occurrences of the word `isError` in a result that are examined for logs and figures → the result counts as no error */
  toolErrorLooksMax: 16,
  /** bytes between the word `isError` and its `true` → the error is not noticed */
  toolErrorGapBytesMax: 24,
  /** first and last bytes of a result above `readAtOnceBytesMax` that are searched for `isError` → an error in between is not noticed */
  toolErrorEdgeBytes: 4 * KIB,
  /** connections to the admin listener; a monitor needs one, and several operators may connect at once → the one that has been silent for longest is closed */
  adminConnectionsMax: 64,
  /** backends with figures of their own, per worker and in total; each adds a set of series → further ones count under `other` */
  metricBackendsMax: 100,
  /** time for workers to report their figures → the last known ones are served */
  metricReportMsMax: 2_000,
  /** age of gathered figures that are served again; gathering interrupts every worker → the workers are asked again */
  metricGatheringAgeMsMax: 1_000,
  /** time for a request to the admin listener to arrive; it has little more than a head → the connection is closed */
  adminRequestMsMax: 10_000,
  /** time for workers to answer an operator's query → a worker that has not answered is reported as silent */
  adminViewMsMax: 2_000,
  /** one worker's answer to an operator's query → it contains fewer entries, and says so */
  adminViewBytesMax: 256 * KIB,
  /** body of a request that changes something on the admin listener → 400 */
  adminBodyCharsMax: 1_024,
  /** operators' queries at once; each takes time of every worker → 503 */
  adminViewsAtOnceMax: 8,
  /** sessions on one page → the page says where the next one begins */
  adminSessionsPageMax: 200,
  /** backends, and virtual hosts, that an answer to an operator names → the others are left out */
  viewBackendsMax: 100,
  /** names of an allow-list in an answer to an operator → the others are left out */
  viewNamesMax: 200,
  /** sessions of a subject that an answer to an operator names per backend → the others are left out */
  viewSessionsPerBackendMax: 20,
  /** recent requests that a worker can look up by their ids → the oldest is forgotten */
  recentRequestsKept: 1_024,
  /** backend origins whose last failure a worker remembers → the oldest is forgotten */
  lastFaultsKept: 1_024,
  /** backend origins of which a worker logs that it never connects to them, such as `http:` ones with `tls-only` → others are not logged */
  backendObstaclesLogged: 1_024,
  /** interval between log lines about failed requests to one backend → failures in between are counted in the next line */
  failureLogIntervalMs: 10_000,
  /**
   * kinds of log line, such as about one subject's broken config, whose repetitions are counted → the oldest kind is forgotten, and logged
   * again when it recurs
   */
  repeatedLogKindsMax: 1_024,
  /** log lines about requests that were not served, per `failureLogIntervalMs` → further requests are counted in the next line */
  problemLinesMax: 200,
  /** one subject gets at most one in this many of the problem lines that are left → its further requests are counted in the next line */
  problemLinesShareDivisor: 4,
  /** spans of a process that wait for their collector → further ones are dropped and counted */
  traceSpansWaitingMax: 4_096,
  /** spans in one request to a collector → the others go in the next request */
  traceSpansAtOnceMax: 256,
  /** time that spans wait for others to be sent with them, and pause after a collector failed → they are sent */
  traceExportIntervalMs: 1_000,
  /** time for a collector to take the spans of one request → they are lost and counted */
  traceExportMsMax: 5_000,
  /** time that a process which ends has to send its last spans → they are lost and counted */
  traceFlushMsMax: 2_000,
} as const;
