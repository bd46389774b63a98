// The eras of MCP that a relay serves in tests: the program's defaults.
import type { EraOptions } from '../../src/config/dataplane-options.js';

export const ERAS: EraOptions = { served: 'both', leaseIdleTimeoutMs: 300_000 };
