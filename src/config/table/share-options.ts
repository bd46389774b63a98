// What a process may hold, what of it one subject may, and what the makers of compositions may make.
import { limits } from '../../shared/limits.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

/** Any amount of memory that a share can be of. */
const shareSize = values.size({ minBytes: 1, maxBytes: limits.shareBytesMax });

/** The shares of a process, and of one subject in it. */
export const shareOptions = {
  'max-sessions': {
    placeholder: '<count>',
    meaning: 'sessions of one process; an initialize above is answered 503',
    fallback: '200000',
    parse: values.wholeNumber({ min: 1, max: limits.sessionsMax }),
  },
  'max-sessions-per-subject': {
    placeholder: '<count>',
    meaning: 'sessions of one subject in one process; an initialize above is answered 429',
    fallback: '1000',
    parse: values.wholeNumber({ min: 1, max: limits.sessionsMax }),
  },
  'max-session-bytes': {
    placeholder: '<size>',
    meaning: 'memory that the sessions of one process count for; an initialize above is answered 503',
    fallback: undefined,
    fallbackText: "an eighth of a process's memory, 1GiB at most",
    parse: shareSize,
  },
  'max-session-bytes-per-subject': {
    placeholder: '<size>',
    meaning: "memory that one subject's sessions in one process count for; an initialize above is answered 429",
    fallback: undefined,
    fallbackText: 'a quarter of --max-session-bytes, 64MiB at most',
    parse: shareSize,
  },
  'max-requests-in-flight': {
    placeholder: '<count>',
    meaning: 'requests that one process is working on; one more is answered 503',
    fallback: '16384',
    parse: values.wholeNumber({ min: 1, max: limits.requestsInFlightMax }),
  },
  'max-requests-in-flight-per-subject': {
    placeholder: '<count>',
    meaning: "one subject's requests that one process is working on; one more is answered 429",
    fallback: '2048',
    parse: values.wholeNumber({ min: 1, max: limits.requestsInFlightMax }),
  },
  'max-bytes-in-flight': {
    placeholder: '<size>',
    meaning: 'memory of large requests in one process, and of large answers: the next waits, then is refused',
    fallback: undefined,
    fallbackText: "an eighth of a process's memory, 512MiB at most",
    parse: shareSize,
  },
  'max-bytes-in-flight-per-subject': {
    placeholder: '<size>',
    meaning: 'the same of one subject',
    fallback: undefined,
    fallbackText: 'half of --max-bytes-in-flight',
    parse: shareSize,
  },
  'max-list-bytes': {
    placeholder: '<size>',
    meaning: 'memory of large lists in one process; a backend whose tools would take more is missing from the list',
    fallback: undefined,
    fallbackText: "an eighth of a process's memory, 512MiB at most",
    parse: shareSize,
  },
  'max-list-bytes-per-subject': {
    placeholder: '<size>',
    meaning: 'the same of one subject',
    fallback: undefined,
    fallbackText: 'half of --max-list-bytes, 128MiB at most',
    parse: shareSize,
  },
} as const satisfies OptionTable;

/** What the registry and the compositions may grow to. Defaults are for trusted colleagues, who make mistakes all the same. */
export const composerOptions = {
  'max-servers': {
    placeholder: '<count>',
    meaning: 'registered servers; one more is refused: 409',
    fallback: '10000',
    parse: values.wholeNumber({ min: 1, max: limits.serversMax }),
  },
  'max-compositions': {
    placeholder: '<count>',
    meaning: 'compositions; one more is refused: 409',
    fallback: '10000',
    parse: values.wholeNumber({ min: 1, max: limits.compositionsMax }),
  },
  'max-compositions-per-maker': {
    placeholder: '<count>',
    meaning: 'compositions that one subject was the last to write; one more is refused: 409',
    fallback: '1000',
    parse: values.wholeNumber({ min: 1, max: limits.compositionsMax }),
  },
  'max-composed-bytes-per-maker': {
    placeholder: '<size>',
    meaning: 'all of these as stored; one more is refused: 409',
    fallback: '32MiB',
    parse: shareSize,
  },
  'max-published-bytes-per-maker': {
    placeholder: '<size>',
    meaning: 'what all of these write into user configs, once for each of their subjects; more is refused: 409',
    fallback: '512MiB',
    parse: shareSize,
  },
  'max-config-bytes-per-maker': {
    placeholder: '<size>',
    meaning: 'what these fill of one user config, so that there is room for those of others; more is refused: 422',
    fallback: '256KiB',
    parse: values.size({ minBytes: 1, maxBytes: limits.userConfigBytesMax }),
  },
} as const satisfies OptionTable;
