// Which of MCP's eras clients are served in: with sessions, up to 2025-11-25, and without, from 2026-07-28 on.
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

export const eraOptions = {
  'protocol-eras': {
    placeholder: '<eras>',
    meaning:
      'clients to serve: legacy (MCP up to 2025-11-25, with sessions), modern (2026-07-28, without sessions), or both',
    fallback: 'both',
    parse: values.oneOf('both', 'legacy', 'modern'),
  },
  'lease-idle-timeout': {
    placeholder: '<duration>',
    meaning: 'idle time after which a lease (the state that sessionless requests share) and its upstream sessions end',
    fallback: '5m',
    parse: values.duration({ minMs: 1 }),
  },
} as const satisfies OptionTable;
