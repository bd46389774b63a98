// How many connections backends' own streams may take: apart from those of calls, and fewer. One stream more fails at once,
// and is tried again later.
import { limits } from '../../shared/limits.js';
import type { ShareBounds } from './http1/backend-shares.js';
import type { PoolBounds } from './http1/origin-pool.js';

const perSubjectMax = Math.ceil(limits.backendStreamsMax / limits.upstreamShareDivisor);

export const streamPoolBounds: PoolBounds = {
  connectionsMax: limits.backendStreamsMax,
  connectionsPerSubjectMax: perSubjectMax,
  connectingMax: limits.upstreamConnectingMax,
  // Those that wait for a connection being opened.
  waitingMax: limits.backendStreamsMax,
  waitingPerSubjectMax: perSubjectMax,
};

/** @param callsMax connections that calls may have. */
export function streamShares(callsMax: number): Partial<ShareBounds> {
  const connectionsMax = Math.min(limits.backendStreamsMax, Math.floor(callsMax / 2));
  return { connectionsMax, connectionsPerSubjectMax: Math.ceil(connectionsMax / limits.upstreamShareDivisor) };
}
