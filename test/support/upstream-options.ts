// The upstream options with the program's defaults, except that test backends have no TLS.
import type { UpstreamOptions } from '../../src/config/dataplane-options.js';

export const upstreamOptions: UpstreamOptions = {
  mode: 'plain-text-or-tls',
  connectTimeoutMs: 5_000,
  initializeTimeoutMs: 10_000,
  initializePatienceMs: 1_000,
  listTimeoutMs: 30_000,
  listCacheMs: 0,
  unknownMethods: 'relay',
  callIdleTimeoutMs: 300_000,
  clientAnswerTimeoutMs: 600_000,
  secretsDirectory: undefined,
  secretKeys: [],
  authorities: undefined,
  connectUrl: undefined,
};
