// The shares of a process as both planes are told them, put into the shape that everything after start-up sees.
import type { ShareOptions } from './dataplane-options.js';
import type { controlPlaneOptionTable, dataplaneOptionTable } from './option-table.js';
import type { OptionValues } from './option.js';

type Values = OptionValues<typeof dataplaneOptionTable> | OptionValues<typeof controlPlaneOptionTable>;

export function arrangeShares(values: Values): ShareOptions {
  return {
    sessionsMax: values['max-sessions'],
    subjectSessionsMax: values['max-sessions-per-subject'],
    sessionBytesMax: values['max-session-bytes'],
    subjectSessionBytesMax: values['max-session-bytes-per-subject'],
    requestsInFlightMax: values['max-requests-in-flight'],
    subjectRequestsInFlightMax: values['max-requests-in-flight-per-subject'],
  };
}
