// Limits: connections to backends, and the bytes read from them.
import { KIB } from './units.js';

export const connectionLimits = {
  /** header bytes of one backend response → fault `answer-invalid` */
  upstreamHeaderBytesMax: 64 * KIB,
  /**
   * highest `--upstream-connections`: connections per worker to all backends, and at most half of the files it may open → idle ones are
   * closed; if there is none, requests wait for one of their origin, or fault `connections-used`
   */
  upstreamConnectionsTotalMax: 16_384,
  /**
   * backend origins that a worker keeps connections for at once, of which one subject may be the first to call a quarter → an idle origin is dropped; when all are busy, fault `connections-used` or `connections-share-used`
   */
  upstreamOriginsMax: 16_384,
} as const;
