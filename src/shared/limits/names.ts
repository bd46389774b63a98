// Limits: DNS look-ups of host names.

export const nameLimits = {
  /** one subject gets one in this many look-ups, unless `--name-look-ups-per-subject` is set → its further ones wait */
  nameLookUpShareDivisor: 16,
} as const;
