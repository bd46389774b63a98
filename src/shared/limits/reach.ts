// Limits: what a worker knows about reaching backends, and when it tries them again.

export const reachLimits = {
  /**
   * time that a backend's era and the capabilities of one without sessions are remembered; the backend may be replaced → it is asked again
   */
  eraKnownMs: 600_000,
} as const;
