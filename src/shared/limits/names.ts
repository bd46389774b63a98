// Limits: DNS look-ups of host names.

export const nameLimits = {
  /** host names whose addresses are cached, per process → the least recently used is dropped */
  namesMax: 16_384,
  /** time for one look-up, including the search list → it has failed */
  nameLookUpMsMax: 5_000,
  /** one subject gets one in this many look-ups, unless `--name-look-ups-per-subject` is set → its further ones wait */
  nameLookUpShareDivisor: 16,
} as const;
