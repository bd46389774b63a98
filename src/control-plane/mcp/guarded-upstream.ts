// The HTTP client behind the control plane's endpoints. People choose the URLs that it connects to, so every connection
// is guarded, whatever a name meant when it was last asked (decisions 3, "URLs").
import type { HttpUpstream } from '../../relay/upstream/http-upstream.js';
import { Http1Upstream } from '../../relay/upstream/http1/http1-upstream.js';
import { guardedLookup, isHostRefused } from '../../shared/address-guard.js';

export function createGuardedUpstream(connectTimeoutMs: number): HttpUpstream {
  return new Http1Upstream({ connectTimeoutMs, lookup: guardedLookup, isAddressRefused: isHostRefused });
}
