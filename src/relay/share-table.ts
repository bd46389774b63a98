// The shares of a process, from its options and the limits. A share that refuses at once when it is full keeps a part for subjects
// that hold little. Large messages and lists wait for room instead, with subjects taking turns.
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

/** Keeps nothing where one subject may hold the whole share, nor where the kept part would be too small to be useful. */
function withKept(bounds: ShareBounds): ShareBounds {
  const kept = Math.floor(bounds.totalMax / limits.keptShareDivisor);
  return bounds.subjectMax < bounds.totalMax && kept >= limits.keptShareDivisor ? { ...bounds, kept } : bounds;
}
