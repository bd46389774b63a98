// Why there is no room in a subject's account for one more session or request, as its caller is told: 429 where the subject
// itself holds too much and can do something about it, 503 where all of them together do. Hot: once a request.
import type { Account } from './accounts.js';
import { refusals, type Refusal } from './refusals.js';

/** @param bytes what the session will weigh. */
export function fullSessionShare(account: Account, bytes: number): Refusal | undefined {
  switch (account.sessions.boundAgainst(1)) {
    case 'subjectMax':
      return refusals.subjectSessionsFull;
    case 'totalMax':
      return refusals.sessionsFull;
    case undefined:
  }
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
