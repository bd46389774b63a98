// The shares of a process, as its options and the limits have them. Of those that refuse at once a part is kept for subjects that
// hold little; for room in the others one waits, by turns of subjects.
import type { ShareOptions } from '../config/dataplane-options.js';
import type { ShareTable } from '../shared/accounts.js';
import { limits } from '../shared/limits.js';
import type { ShareBounds } from '../shared/share.js';

export function shareTable(options: ShareOptions): ShareTable {
  return {
    sessions: withKept({ subjectMax: options.subjectSessionsMax, totalMax: options.sessionsMax }),
    sessionBytes: withKept({ subjectMax: options.subjectSessionBytesMax, totalMax: options.sessionBytesMax }),
    requestBytes: { subjectMax: options.subjectBytesInFlightMax, totalMax: options.bytesInFlightMax },
    answerBytes: { subjectMax: options.subjectBytesInFlightMax, totalMax: options.bytesInFlightMax },
    listBytes: { subjectMax: options.subjectListBytesMax, totalMax: options.listBytesMax },
    requests: withKept({ subjectMax: options.subjectRequestsInFlightMax, totalMax: options.requestsInFlightMax }),
  };
}

/** Where one subject may have all of it nothing is kept from it, nor where there would be next to nothing to keep. */
function withKept(bounds: ShareBounds): ShareBounds {
  const kept = Math.floor(bounds.totalMax / limits.keptShareDivisor);
  return bounds.subjectMax < bounds.totalMax && kept >= limits.keptShareDivisor ? { ...bounds, kept } : bounds;
}
