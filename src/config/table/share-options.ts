// Options that bound what a process, one subject in it, and one maker of compositions may use.
import { limits, MIB } from '../../shared/index.js';
import { option, type Option, type OptionReader } from '../option.js';
import { size, wholeNumber } from '../values.js';

const shareSize = size({ minBytes: 1 });
const upToMillion = wholeNumber({ min: 1, max: 1_000_000 });
const upToTenThousand = wholeNumber({ min: 1, max: 10_000 });

const sessionCountOptions = {
  sessionsMax: option(
    'max-sessions <count>',
    'most sessions in one process; a further initialize gets 503',
    upToMillion,
    '200000',
  ),
  subjectSessionsMax: option(
    'max-sessions-per-subject <count>',
    'most sessions of one subject in one process; a further initialize gets 429',
    upToMillion,
    '1000',
  ),
};

const requestCountOptions = {
  requestsInFlightMax: option(
    'max-requests-in-flight <count>',
    'most requests in flight in one process; one more gets 503',
    upToMillion,
    '16384',
  ),
  subjectRequestsInFlightMax: option(
    'max-requests-in-flight-per-subject <count>',
    'most requests of one subject in flight in one process; one more gets 429',
    upToMillion,
    '2048',
  ),
};

/** The options of a process's bounds and shares. @param memoryLimit the option with the memory limit of the process. */
export function shareOptionsOf(memoryLimit: Option<number>) {
  const eighthOf = (reader: OptionReader) => Math.floor(reader.resolve(memoryLimit) / 8);
  const eighth = {
    text: "an eighth of a process's memory, at most 512MiB",
    derive: (reader: OptionReader) => Math.min(eighthOf(reader), 512 * MIB),
  };
  const sessionBytesMax = option(
    'max-session-bytes <size>',
    'memory for the sessions of one process, as counted; a further initialize gets 503',
    shareSize,
    {
      text: "an eighth of a process's memory, at most 1GiB",
      derive: (reader) => Math.min(eighthOf(reader), 1024 * MIB),
    },
  );
  const bytesInFlightMax = option(
    'max-bytes-in-flight <size>',
    'memory for large requests in one process, and as much for large responses; the next waits, then is refused',
    shareSize,
    eighth,
  );
  const listBytesMax = option(
    'max-list-bytes <size>',
    'memory for large lists in one process; a backend whose list does not fit is omitted from the merged list',
    shareSize,
    eighth,
  );
  return {
    ...sessionCountOptions,
    sessionBytesMax,
    subjectSessionBytesMax: option(
      'max-session-bytes-per-subject <size>',
      "memory for one subject's sessions in one process, as counted; a further initialize gets 429",
      shareSize,
      {
        text: 'a quarter of --max-session-bytes, at most 64MiB',
        derive: (reader) => Math.min(Math.ceil(reader.resolve(sessionBytesMax) / 4), 64 * MIB),
      },
    ),
    ...requestCountOptions,
    bytesInFlightMax,
    subjectBytesInFlightMax: option(
      'max-bytes-in-flight-per-subject <size>',
      "memory for one subject's large requests in one process, and as much for large responses; the next waits, then is refused",
      shareSize,
      { text: 'half of --max-bytes-in-flight', derive: (reader) => Math.ceil(reader.resolve(bytesInFlightMax) / 2) },
    ),
    listBytesMax,
    subjectListBytesMax: option(
      'max-list-bytes-per-subject <size>',
      "memory for one subject's large lists in one process; a backend whose list does not fit is omitted from the merged list",
      shareSize,
      {
        text: 'half of --max-list-bytes, at most 128MiB',
        derive: (reader) => Math.min(Math.ceil(reader.resolve(listBytesMax) / 2), 128 * MIB),
      },
    ),
  };
}

/** Bounds of the registry and of compositions. The defaults are for trusted colleagues, who may still make mistakes. */
export const composerOptions = {
  serversMax: option('max-servers <count>', 'most registered servers; one more gets 409', upToTenThousand, '10000'),
  compositionsMax: option('max-compositions <count>', 'most compositions; one more gets 409', upToTenThousand, '10000'),
  makerCompositionsMax: option(
    'max-compositions-per-maker <count>',
    'most compositions that one subject was the last to write; one more gets 409',
    upToTenThousand,
    '1000',
  ),
  makerComposedBytesMax: option(
    'max-composed-bytes-per-maker <size>',
    'total stored size of the compositions that one subject was the last to write; one more gets 409',
    shareSize,
    '32MiB',
  ),
  makerPublishedBytesMax: option(
    'max-published-bytes-per-maker <size>',
    "total size that one maker's compositions may add to user configs, counted once per subject of each; more gets 409",
    shareSize,
    '512MiB',
  ),
  makerConfigBytesMax: option(
    'max-config-bytes-per-maker <size>',
    "how much of one user config one maker's compositions may fill, leaving space for other makers; more gets 422",
    size({ minBytes: 1, maxBytes: limits.userConfigBytesMax }),
    '256KiB',
  ),
};
