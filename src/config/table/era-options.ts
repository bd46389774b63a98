// Which of MCP's eras clients are served in: with sessions, up to 2025-11-25, and without, from 2026-07-28 on.
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

export const eraOptions = {
  'protocol-eras': {
    placeholder: '<eras>',
    meaning:
      'legacy serves clients of MCP up to 2025-11-25, with sessions; modern those of 2026-07-28; both all of them',
    fallback: 'both',
    parse: values.oneOf('both', 'legacy', 'modern'),
  },
  'lease-idle-timeout': {
    placeholder: '<duration>',
    meaning: 'what requests without a session share ends after this without one, and its sessions with backends',
    fallback: '5m',
    parse: values.duration({ minMs: 1 }),
  },
} as const satisfies OptionTable;
