// Limits: DNS look-ups of host names.

export const nameLimits = {
  /** host names whose addresses are cached, per process → the least recently used is dropped */
  namesMax: 16_384,
  /** time for one look-up, including the search list → it has failed */
  nameLookUpMsMax: 5_000,
  /** one subject gets one in this many look-ups, unless `--name-look-ups-per-subject` is set → its further ones wait */
  nameLookUpShareDivisor: 16,
  /** waiting look-ups, per process → fault `connections-used` */
  nameLookUpsWaitingMax: 16_384,
  /** waiting look-ups of one subject → fault `connections-share-used` */
  nameLookUpsWaitingPerSubjectMax: 1_024,
} as const;
