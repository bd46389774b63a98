// The HTTP client behind the control plane's endpoints. People choose the URLs that it connects to, so every connection
// is guarded, whatever a name meant when it was last asked (decisions 3, "URLs").
import type { ConnectionOptions } from '../../config/dataplane-options.js';
import type { HttpUpstream } from '../../relay/upstream/http-upstream.js';
import { Http1Upstream } from '../../relay/upstream/http1/http1-upstream.js';
import { guardedLookup, isHostRefused } from '../../shared/address-guard.js';

export function createGuardedUpstream(connectTimeoutMs: number, connections: ConnectionOptions): HttpUpstream {
  return new Http1Upstream({
    connectTimeoutMs,
    pool: connections,
    lookup: guardedLookup,
    isAddressRefused: isHostRefused,
  });
}
