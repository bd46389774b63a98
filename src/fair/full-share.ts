// Why a subject's account has no room for one more session or request: 429 when the subject itself holds too much and can act on it, 503
// when all subjects together do. Hot path: once per request.
import type { Account } from './accounts.js';
import { refusals, type Refusal } from '../shared/index.js';

/** @param bytes the session bytes that the session will count for. */
export function fullSessionShare(account: Account, bytes: number): Refusal | undefined {
  switch (account.sessions.boundAgainst(1)) {
    case 'subjectMax':
      return refusals.subjectSessionsFull;
    case 'totalMax':
      return refusals.sessionsFull;
    case undefined:
      return fullBytesShare(account, bytes);
  }
}

export function fullBytesShare(account: Account, bytes: number): Refusal | undefined {
  switch (account.sessionBytes.boundAgainst(bytes)) {
    case 'subjectMax':
      return refusals.subjectSessionBytesFull;
    case 'totalMax':
      return refusals.sessionBytesFull;
    case undefined:
      return undefined;
  }
}

export function fullRequestShare(account: Account): Refusal | undefined {
  switch (account.requests.boundAgainst(1)) {
    case 'subjectMax':
      return refusals.subjectRequestsFull;
    case 'totalMax':
      return refusals.requestsFull;
    case undefined:
      return undefined;
  }
}
