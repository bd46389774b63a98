// The upstream options with the program's defaults, except that test backends have no TLS, and slow ones are waited for half as long.
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

/** Bounds that no test of a few connections reaches, names looked up as the system does, and no proxy. */
export const connectionOptions = {
  connectionsMax: 1_024,
  connectionsPerSubjectMax: 256,
  names: {
    nameServers: undefined,
    allowedNetworks: undefined,
    proxy: undefined,
    lookUpsMax: 1_024,
    lookUpsPerSubjectMax: 64,
  },
};
