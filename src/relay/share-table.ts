// The shares of a process, as its options and the limits have them.
import type { ShareOptions } from '../config/dataplane-options.js';
import type { ShareTable } from '../shared/accounts.js';

export function shareTable(options: ShareOptions): ShareTable {
  return {
    sessions: { subjectMax: options.subjectSessionsMax, totalMax: options.sessionsMax },
    sessionBytes: { subjectMax: options.subjectSessionBytesMax, totalMax: options.sessionBytesMax },
    requestBytes: { subjectMax: options.subjectBytesInFlightMax, totalMax: options.bytesInFlightMax },
    answerBytes: { subjectMax: options.subjectBytesInFlightMax, totalMax: options.bytesInFlightMax },
    listBytes: { subjectMax: options.subjectListBytesMax, totalMax: options.listBytesMax },
    requests: { subjectMax: options.subjectRequestsInFlightMax, totalMax: options.requestsInFlightMax },
  };
}
