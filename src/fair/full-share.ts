// Why a subject's account has no room for one more session or request: 429 when the subject itself holds too much and can act on it, 503
// when all subjects together do. Hot path: once per request.
import type { Account } from './accounts.js';
import { refusals, type Refusal } from '../shared/index.js';

const SESSIONS = { subjectMax: refusals.subjectSessionsFull, totalMax: refusals.sessionsFull };
const SESSION_BYTES = { subjectMax: refusals.subjectSessionBytesFull, totalMax: refusals.sessionBytesFull };
const REQUESTS = { subjectMax: refusals.subjectRequestsFull, totalMax: refusals.requestsFull };

/** @param bytes the session bytes that the session will count for. */
export function fullSessionShare(account: Account, bytes: number): Refusal | undefined {
  const bound = account.sessions.boundAgainst(1);
  return bound === undefined ? fullBytesShare(account, bytes) : SESSIONS[bound];
}

export function fullBytesShare({ sessionBytes }: Account, bytes: number): Refusal | undefined {
  const bound = sessionBytes.boundAgainst(bytes);
  return bound && SESSION_BYTES[bound];
}

export function fullRequestShare({ requests }: Account): Refusal | undefined {
  const bound = requests.boundAgainst(1);
  return bound && REQUESTS[bound];
}
