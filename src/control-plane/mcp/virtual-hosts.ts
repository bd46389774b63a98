// Virtual hosts of the control plane's own endpoints, compiled for the relay. As long as nothing in one changes, the
// same object is returned: sessions compare it by identity, and keep their upstream sessions while it stays.
import type { UpstreamOptions } from '../../config/dataplane-options.js';
import { limits } from '../../shared/limits.js';
import { compileUserConfig } from '../../user-config/compile-config.js';
import type { CompiledVirtualHost, Exposure } from '../../user-config/compiled-config.js';
import { nextConfigNumber, numberConfig } from '../../user-config/config-order.js';
import { RecentMap } from '../../shared/recent-map.js';
import { mapsAsObjects } from '../../user-config/named-members.js';
import type { BackendConfig } from '../../user-config/user-config-schema.js';

interface Compiled {
  /** What it was compiled from: this and the next two members. */
  readonly exposure: Exposure;
  readonly backends: ReadonlyMap<string, BackendConfig>;
  readonly text: string;
  readonly virtualHost: CompiledVirtualHost;
}

export class VirtualHosts {
  readonly #upstreamMode: UpstreamOptions['mode'];
  readonly #compiled = new RecentMap<Compiled>(
    limits.controlPlaneVirtualHostsMax,
    limits.userConfigCacheBytesMax,
    ({ text }) => text.length,
  );

  constructor(upstreamMode: UpstreamOptions['mode']) {
    this.#upstreamMode = upstreamMode;
  }

  compile(id: string, backends: ReadonlyMap<string, BackendConfig>, exposure: Exposure = 'all'): CompiledVirtualHost {
    const found = this.#compiled.get(id);
    const known = found?.exposure === exposure ? found : undefined;
    if (known?.backends === backends) return known.virtualHost;
    const text = JSON.stringify([...backends], mapsAsObjects);
    if (known?.text === text) return known.virtualHost;
    const config = { virtual_hosts: new Map([[id, { backends: new Map(backends), exposure }]]) };
    const compiled = compileUserConfig(config, this.#upstreamMode);
    numberConfig(compiled, nextConfigNumber());
    const virtualHost = compiled.virtualHosts.get(id)!;
    this.#compiled.set(id, { exposure, backends, text, virtualHost });
    return virtualHost;
  }
}
