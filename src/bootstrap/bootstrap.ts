// The optional bootstrap feature: two helper endpoints without authentication, to try the gateway before a control plane
// issues tokens and writes configs. The production build leaves this folder out, so nothing may import it statically.
import type { TokenOptions } from '../config/dataplane-options.js';
import type { Endpoint } from '../shared/endpoint.js';
import type { Logger } from '../shared/logger.js';
import type { Store } from '../store/store.js';
import { createTokenEndpoint } from './token-endpoint.js';
import { createUserConfigEndpoint } from './user-config-endpoint.js';

export interface BootstrapContext {
  readonly token: TokenOptions;
  readonly store: Store;
  /** Resolves when every worker has dropped what it cached of the subject. */
  announceWritten(subject: string): Promise<void>;
  readonly logger: Logger;
}

export function createEndpoints(context: BootstrapContext): readonly Endpoint[] {
  return [createTokenEndpoint(context), createUserConfigEndpoint(context)];
}
