// Limits: what is known of reaching a backend, and when it is tried again.

export const reachLimits = {
  /** URLs of backends whose reachability is kept, per worker → the oldest is forgotten, and learned anew */
  endpointsMax: 16_384,
  /**
   * after an answer an origin counts as reachable, whatever fails: longer than connections are kept → a connection that
   * cannot be made opens its circuit
   */
  originAnsweredMs: 5_000,
  /**
   * first wait before an origin that cannot be reached is probed; at random up to half of it less → it is probed; the
   * wait doubles
   */
  probeDelayMsMin: 200,
  /** longest such wait: an origin that is back is found soon → the wait grows no more */
  probeDelayMsMax: 4_000,
  /**
   * beyond connecting, a probe without an answer: it is connected, and silence may be the path's → the origin counts as
   * reached
   */
  probeAnswerMsMax: 1_000,
  /** probes under way at once, per worker → further origins wait for their next turn */
  originProbesMax: 64,
  /**
   * an origin that nobody asks for, and a silence that nobody met again → no longer probed, or remembered: the next
   * need tries
   */
  originForgottenMs: 60_000,
  /** subjects whose waiting in vain for one URL is remembered → the oldest is forgotten */
  silenceSubjectsMax: 64,
  /** first wait before an unavailable backend is tried again → the next need tries it; the wait doubles */
  upstreamRetryDelayMsMin: 100,
  /** longest such wait: a backend that is back is found soon → the wait grows no more */
  upstreamRetryDelayMsMax: 5_000,
  /**
   * which era of MCP a backend does not speak, as it has shown, that it was asked, and what one without sessions declares: it may be
   * replaced → it is asked again
   */
  eraKnownMs: 600_000,
  /** a backend's answer to what it speaks, which is asked once in that time: not all servers answer → it is spoken to as the client speaks */
  eraAskedMsMax: 2_000,
} as const;
