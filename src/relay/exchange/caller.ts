// Whose request it is.
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';

/** Who asks, and for which of their virtual hosts, as admission found it in the config of this moment. */
export interface Caller {
  readonly subject: string;
  readonly virtualHost: CompiledVirtualHost;
}
