// The caller of a request.
import type { CompiledVirtualHost } from '../../user-config/compiled-config.js';

/** The subject, and its virtual host as admission found it in the config current at that moment. */
export interface Caller {
  readonly subject: string;
  readonly virtualHost: CompiledVirtualHost;
}
