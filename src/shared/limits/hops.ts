// Limits: hops between workers.

export const hopLimits = {
  /** time to connect to an owner and exchange the secret; a Unix socket answers at once or never → the link is closed */
  hopConnectMsMax: 2_000,
  /** time that a request waits for the owner of its session to be restarted after it died → 503 `owner-starting` */
  ownerWaitMsMax: 30_000,
} as const;
