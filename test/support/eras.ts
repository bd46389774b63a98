// The eras of MCP that a relay serves in tests: those that it serves unless it is told otherwise.
import type { EraOptions } from '../../src/config/dataplane-options.js';

export const ERAS: EraOptions = { served: 'both', leaseIdleTimeoutMs: 300_000 };
