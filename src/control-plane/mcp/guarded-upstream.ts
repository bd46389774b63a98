// The HTTP client behind the control plane's endpoints. People choose the URLs that it connects to, so every connection
// is to be guarded (decisions 3, "URLs").
//
// Missing: the client does not take the two guards yet, and ignores them. Meanwhile a refused address is refused when a
// server is registered and at each probe, so it is neither active nor published; what is left open is a name that means
// another address between two probes.
import type { LookupFunction } from 'node:net';
import type { HttpUpstream } from '../../relay/upstream/http-upstream.js';
import { Http1Upstream } from '../../relay/upstream/http1/http1-upstream.js';
import { guardedLookup, isHostRefused } from '../../shared/address-guard.js';

export interface GuardedUpstreamOptions {
  readonly connectTimeoutMs: number;
  /** In place of the system's, for hosts that are names. */
  readonly lookup?: LookupFunction;
  /** Asked of hosts that are addresses: these are connected to without a look-up. */
  readonly isAddressRefused?: (address: string) => boolean;
}

export function createGuardedUpstream(connectTimeoutMs: number): HttpUpstream {
  const options: GuardedUpstreamOptions = {
    connectTimeoutMs,
    lookup: guardedLookup,
    isAddressRefused: isHostRefused,
  };
  return new Http1Upstream(options);
}
