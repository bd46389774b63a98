// What the helper endpoints use of the dataplane.
import type { TokenOptions } from '../config/dataplane-options.js';
import type { Logger } from '../shared/logger.js';
import type { Store } from '../store/store.js';

export interface BootstrapContext {
  readonly token: TokenOptions;
  readonly store: Store;
  /** Resolves when every worker has dropped what it cached of the subject. */
  announceWritten(subject: string): Promise<void>;
  readonly logger: Logger;
}
