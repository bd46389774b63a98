// Shares with room for whatever a test does, except for those that the test bounds.
import type { ShareOptions } from '../../src/config/dataplane-options.js';
import { shareTable } from '../../src/relay/relay-options.js';
import { Accounts } from '../../src/fair/share.js';
import type { ShareBounds } from '../../src/fair/share.js';

const PLENTY = Number.MAX_SAFE_INTEGER;
const MIB = 1024 * 1024;

/** List shares keep finite limits unless set, because tests fill them. */
export const roomyShares: ShareOptions = {
  sessionsMax: PLENTY,
  subjectSessionsMax: PLENTY,
  sessionBytesMax: PLENTY,
  subjectSessionBytesMax: PLENTY,
  requestsInFlightMax: PLENTY,
  subjectRequestsInFlightMax: PLENTY,
  bytesInFlightMax: PLENTY,
  subjectBytesInFlightMax: PLENTY,
  listBytesMax: 512 * MIB,
  subjectListBytesMax: 128 * MIB,
};

export function shareOptions(bounds: Partial<ShareOptions> = {}): ShareOptions {
  return { ...roomyShares, ...bounds };
}

export function createAccounts(bounds: Partial<ShareOptions> = {}): Accounts {
  return new Accounts(shareTable(shareOptions(bounds)));
}

export function createListAccounts(listBytes: ShareBounds): Accounts {
  return new Accounts({ ...shareTable(shareOptions()), listBytes });
}
