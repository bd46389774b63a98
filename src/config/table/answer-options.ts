// Options for responses to callers: what is sent while nothing is ready, and what is kept for reconnecting clients.
import { option } from '../option.js';
import { duration, oneOf, size } from '../values.js';

export const eraOptions = {
  served: option(
    'protocol-eras <eras>',
    'clients to serve: legacy (MCP up to 2025-11-25, with sessions), modern (2026-07-28, without sessions), or both',
    oneOf('both', 'legacy', 'modern'),
    'both',
  ),
  leaseIdleTimeoutMs: option(
    'lease-idle-timeout <duration>',
    'idle time after which a lease (the state that sessionless requests share) and its upstream sessions end',
    duration({ minMs: 1 }),
    '5m',
  ),
};

export const answerOptions = {
  slowAnswerMs: option(
    'slow-answer <duration>',
    'time after which a response that is not ready yet is begun as an event stream',
    duration({ minMs: 100 }),
    '5s',
  ),
  streamKeepAliveMs: option(
    'stream-keep-alive <duration>',
    'time without data on an event stream after which a comment is sent, so that proxies do not close it',
    // Proxies and clients give up on silent streams, and a comment is promised every 15 s.
    duration({ minMs: 100, maxMs: 14_000 }),
    '14s',
  ),
  resumptionTimeMs: option(
    'resumption-time <duration>',
    'how long a call continues, and its events are kept, after its client lost the connection',
    duration({ minMs: 100 }),
    '300s',
  ),
  resumptionBytesMax: option(
    'resumption-bytes <size>',
    'memory per session for events that a reconnecting client can resume from; the oldest are dropped first',
    size({ minBytes: 1 }),
    '4MiB',
  ),
};
