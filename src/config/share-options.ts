// The shares of a process, for both planes, converted to the form that all code after start-up uses. Shares of memory are derived from the
// process's memory limit unless an option sets them.
import type { ShareOptions } from './dataplane-options.js';
import type { controlPlaneOptionTable, dataplaneOptionTable } from './option-table.js';
import type { OptionValues } from './option.js';
import { MIB } from '../shared/limits/units.js';

type Values = OptionValues<typeof dataplaneOptionTable> | OptionValues<typeof controlPlaneOptionTable>;

/** @param processBytes memory limit of the process that the shares are for. */
export function arrangeShares(values: Values, processBytes: number): ShareOptions {
  const eighthBytes = Math.floor(processBytes / 8);
  const sessionBytesMax = values['max-session-bytes'] ?? Math.min(eighthBytes, 1024 * MIB);
  const bytesInFlightMax = values['max-bytes-in-flight'] ?? Math.min(eighthBytes, 512 * MIB);
  const listBytesMax = values['max-list-bytes'] ?? Math.min(eighthBytes, 512 * MIB);
  return {
    sessionsMax: values['max-sessions'],
    subjectSessionsMax: values['max-sessions-per-subject'],
    sessionBytesMax,
    subjectSessionBytesMax:
      values['max-session-bytes-per-subject'] ?? Math.min(Math.ceil(sessionBytesMax / 4), 64 * MIB),
    requestsInFlightMax: values['max-requests-in-flight'],
    subjectRequestsInFlightMax: values['max-requests-in-flight-per-subject'],
    bytesInFlightMax,
    subjectBytesInFlightMax: values['max-bytes-in-flight-per-subject'] ?? Math.ceil(bytesInFlightMax / 2),
    listBytesMax,
    subjectListBytesMax: values['max-list-bytes-per-subject'] ?? Math.min(Math.ceil(listBytesMax / 2), 128 * MIB),
  };
}
