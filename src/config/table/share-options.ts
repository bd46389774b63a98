// What a process may hold, what one subject may hold of it, and what each maker of compositions may create.
import { limits } from '../../shared/limits.js';
import type { OptionTable } from '../option.js';
import * as values from '../values.js';

/** The range of every share of memory. */
const shareSize = values.size({ minBytes: 1, maxBytes: limits.shareBytesMax });

/** The shares of a process, and those of one subject in it. */
export const shareOptions = {
  'max-sessions': {
    placeholder: '<count>',
    meaning: 'most sessions in one process; a further initialize gets 503',
    fallback: '200000',
    parse: values.wholeNumber({ min: 1, max: limits.sessionsMax }),
  },
  'max-sessions-per-subject': {
    placeholder: '<count>',
    meaning: 'most sessions of one subject in one process; a further initialize gets 429',
    fallback: '1000',
    parse: values.wholeNumber({ min: 1, max: limits.sessionsMax }),
  },
  'max-session-bytes': {
    placeholder: '<size>',
    meaning: 'memory for the sessions of one process, as counted; a further initialize gets 503',
    fallback: undefined,
    fallbackText: "an eighth of a process's memory, at most 1GiB",
    parse: shareSize,
  },
  'max-session-bytes-per-subject': {
    placeholder: '<size>',
    meaning: "memory for one subject's sessions in one process, as counted; a further initialize gets 429",
    fallback: undefined,
    fallbackText: 'a quarter of --max-session-bytes, at most 64MiB',
    parse: shareSize,
  },
  'max-requests-in-flight': {
    placeholder: '<count>',
    meaning: 'most requests in flight in one process; one more gets 503',
    fallback: '16384',
    parse: values.wholeNumber({ min: 1, max: limits.requestsInFlightMax }),
  },
  'max-requests-in-flight-per-subject': {
    placeholder: '<count>',
    meaning: 'most requests of one subject in flight in one process; one more gets 429',
    fallback: '2048',
    parse: values.wholeNumber({ min: 1, max: limits.requestsInFlightMax }),
  },
  'max-bytes-in-flight': {
    placeholder: '<size>',
    meaning:
      'memory for large requests in one process, and as much for large responses; the next waits, then is refused',
    fallback: undefined,
    fallbackText: "an eighth of a process's memory, at most 512MiB",
    parse: shareSize,
  },
  'max-bytes-in-flight-per-subject': {
    placeholder: '<size>',
    meaning:
      "memory for one subject's large requests in one process, and as much for large responses; the next waits, then is refused",
    fallback: undefined,
    fallbackText: 'half of --max-bytes-in-flight',
    parse: shareSize,
  },
  'max-list-bytes': {
    placeholder: '<size>',
    meaning: 'memory for large lists in one process; a backend whose list does not fit is omitted from the merged list',
    fallback: undefined,
    fallbackText: "an eighth of a process's memory, at most 512MiB",
    parse: shareSize,
  },
  'max-list-bytes-per-subject': {
    placeholder: '<size>',
    meaning:
      "memory for one subject's large lists in one process; a backend whose list does not fit is omitted from the merged list",
    fallback: undefined,
    fallbackText: 'half of --max-list-bytes, at most 128MiB',
    parse: shareSize,
  },
} as const satisfies OptionTable;

/** Bounds for registry and compositions. The defaults are meant for trusted colleagues, who still make mistakes. */
export const composerOptions = {
  'max-servers': {
    placeholder: '<count>',
    meaning: 'most registered servers; one more gets 409',
    fallback: '10000',
    parse: values.wholeNumber({ min: 1, max: limits.serversMax }),
  },
  'max-compositions': {
    placeholder: '<count>',
    meaning: 'most compositions; one more gets 409',
    fallback: '10000',
    parse: values.wholeNumber({ min: 1, max: limits.compositionsMax }),
  },
  'max-compositions-per-maker': {
    placeholder: '<count>',
    meaning: 'most compositions that one subject was the last to write; one more gets 409',
    fallback: '1000',
    parse: values.wholeNumber({ min: 1, max: limits.compositionsMax }),
  },
  'max-composed-bytes-per-maker': {
    placeholder: '<size>',
    meaning: 'total stored size of the compositions that one subject was the last to write; one more gets 409',
    fallback: '32MiB',
    parse: shareSize,
  },
  'max-published-bytes-per-maker': {
    placeholder: '<size>',
    meaning:
      "total size that one maker's compositions may add to user configs, counted once per subject of each; more gets 409",
    fallback: '512MiB',
    parse: shareSize,
  },
  'max-config-bytes-per-maker': {
    placeholder: '<size>',
    meaning:
      "how much of one user config one maker's compositions may fill, leaving space for other makers; more gets 422",
    fallback: '256KiB',
    parse: values.size({ minBytes: 1, maxBytes: limits.userConfigBytesMax }),
  },
} as const satisfies OptionTable;
