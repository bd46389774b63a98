// Limits: what a worker knows about reaching backends, and when it tries them again.

export const reachLimits = {
  /** first wait before an unreachable origin is probed, shortened at random by up to half → it is probed, and the wait doubles */
  probeDelayMsMin: 200,
  /**
   * longest wait before an unreachable origin is probed; short, so that an origin that is back is found soon → the wait grows no further
   */
  probeDelayMsMax: 4_000,
  /**
   * time without any request for an unreachable origin, or without another timeout of a silent URL → probing stops, or the silence is
   * forgotten; the next request tries it
   */
  originForgottenMs: 60_000,
  /**
   * time that a backend's era and the capabilities of one without sessions are remembered; the backend may be replaced → it is asked again
   */
  eraKnownMs: 600_000,
} as const;
