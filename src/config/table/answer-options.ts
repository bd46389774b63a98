// Options for responses to callers: what is sent while nothing is ready, and what is kept for reconnecting clients.
import { limits } from '../../shared/limits.js';
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

export const answerOptions = {
  'slow-answer': {
    placeholder: '<duration>',
    meaning: 'time after which a response that is not ready yet is begun as an event stream',
    fallback: '5s',
    parse: values.duration({ minMs: 100 }),
  },
  'stream-keep-alive': {
    placeholder: '<duration>',
    meaning: 'time without data on an event stream after which a comment is sent, so that proxies do not close it',
    fallback: '14s',
    parse: values.duration({ minMs: 100, maxMs: limits.streamKeepAliveMsMax }),
  },
  'resumption-time': {
    placeholder: '<duration>',
    meaning: 'how long a call continues, and its events are kept, after its client lost the connection',
    fallback: '300s',
    parse: values.duration({ minMs: 100 }),
  },
  'resumption-bytes': {
    placeholder: '<size>',
    meaning: 'memory per session for events that a reconnecting client can resume from; the oldest are dropped first',
    fallback: '4MiB',
    parse: values.size({ minBytes: 1, maxBytes: limits.shareBytesMax }),
  },
} as const satisfies OptionTable;
