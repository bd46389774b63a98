// Limits: log lines, the access log, the admin listener, its figures and traces.

export const figureLimits = {
  /** a text chosen by the caller in one access log line; a tool name may be as long as a request → the rest is cut off */
  accessLogNameCharsMax: 256,
  /** backends with figures of their own, per worker and in total; each adds a set of series → further ones count under `other` */
  metricBackendsMax: 100,
  /** time for workers to report their figures → the last known ones are served */
  metricReportMsMax: 2_000,
  /** age of gathered figures that are served again; gathering interrupts every worker → the workers are asked again */
  metricGatheringAgeMsMax: 1_000,
  /** time for a request to the admin listener to arrive; it has little more than a head → the connection is closed */
  adminRequestMsMax: 10_000,
  /** operators' queries at once; each takes time of every worker → 503 */
  adminViewsAtOnceMax: 8,
  /** sessions on one page → the page says where the next one begins */
  adminSessionsPageMax: 200,
} as const;
