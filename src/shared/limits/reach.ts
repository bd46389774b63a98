// Limits: what a worker knows about reaching backends, and when it tries them again.

export const reachLimits = {
  /** backend URLs whose reachability is remembered, per worker → the oldest is forgotten, and learned again */
  endpointsMax: 16_384,
  /**
   * time after a response during which the origin counts as reachable, whatever fails; longer than connections are kept → after it, a
   * failure to connect opens the origin's circuit
   */
  originAnsweredMs: 5_000,
  /** first wait before an unreachable origin is probed, shortened at random by up to half → it is probed, and the wait doubles */
  probeDelayMsMin: 200,
  /**
   * longest wait before an unreachable origin is probed; short, so that an origin that is back is found soon → the wait grows no further
   */
  probeDelayMsMax: 4_000,
  /** time for a probe to be answered after it connected; the silence may be that of one path → the origin counts as reached */
  probeAnswerMsMax: 1_000,
  /** probes in progress at once, per worker → further origins wait for their next turn */
  originProbesMax: 64,
  /**
   * time without any request for an unreachable origin, or without another timeout of a silent URL → probing stops, or the silence is
   * forgotten; the next request tries it
   */
  originForgottenMs: 60_000,
  /** subjects whose timeouts at one URL are remembered → the oldest is forgotten */
  silenceSubjectsMax: 64,
  /** first wait before an unavailable backend is tried again → the next request tries it, and the wait doubles */
  upstreamRetryDelayMsMin: 100,
  /**
   * longest wait before an unavailable backend is tried again; short, so that a backend that is back is found soon → the wait grows no
   * further
   */
  upstreamRetryDelayMsMax: 5_000,
  /**
   * time that a backend's era and the capabilities of one without sessions are remembered; the backend may be replaced → it is asked again
   */
  eraKnownMs: 600_000,
} as const;
