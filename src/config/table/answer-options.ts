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
} as const satisfies OptionTable;
