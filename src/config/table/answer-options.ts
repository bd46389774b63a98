// How answers go to callers: what is sent while there is nothing to send.
import { limits } from '../../shared/limits.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

export const answerOptions = {
  'slow-answer': {
    placeholder: '<duration>',
    meaning: 'how long an answer may take before the head of an event stream goes ahead of it',
    fallback: '5s',
    parse: values.duration({ minMs: 100 }),
  },
  'stream-keep-alive': {
    placeholder: '<duration>',
    meaning: 'silence on an event stream before a comment is sent, for proxies that give up on a silent one',
    fallback: '14s',
    parse: values.duration({ minMs: 100, maxMs: limits.streamKeepAliveMsMax }),
  },
  'resumption-time': {
    placeholder: '<duration>',
    meaning: 'how long a call goes on, and what it says is kept, after the connection of its client broke',
    fallback: '300s',
    parse: values.duration({ minMs: 100 }),
  },
  'resumption-bytes': {
    placeholder: '<size>',
    meaning: 'memory of one session for what clients of broken connections come back for; the oldest goes first',
    fallback: '4MiB',
    parse: values.size({ minBytes: 1, maxBytes: limits.shareBytesMax }),
  },
} as const satisfies OptionTable;
