// Every bound that callers, backends and operators can meet and that no option sets: the files in `limits/` as one object. Bounds that
// concern only how a class works inside are constants in its own file.
//
// A limit is a whole number with its unit in its name. The comment before it is its row in docs/limits.md, written by `npm run docs`: what
// it bounds and why → what happens when it is hit. Text after an empty line in that comment is for readers of the source only.
import { optionLimits } from './limits/options.js';
import { requestLimits } from './limits/requests.js';
import { messageLimits } from './limits/messages.js';
import { figureLimits } from './limits/figures.js';
import { tokenLimits } from './limits/tokens.js';
import { storeLimits } from './limits/store.js';
import { sessionLimits } from './limits/sessions.js';
import { listLimits } from './limits/lists.js';
import { streamLimits } from './limits/streams.js';
import { backendRequestLimits } from './limits/backend-requests.js';
import { connectionLimits } from './limits/connections.js';
import { backendLimits } from './limits/backends.js';
import { credentialLimits } from './limits/credentials.js';
import { nameLimits } from './limits/names.js';
import { hopLimits } from './limits/hops.js';
import { controlPlaneLimits } from './limits/control-plane.js';

export const limits = Object.freeze({
  ...optionLimits,
  ...requestLimits,
  ...messageLimits,
  ...figureLimits,
  ...tokenLimits,
  ...storeLimits,
  ...sessionLimits,
  ...listLimits,
  ...streamLimits,
  ...backendRequestLimits,
  ...connectionLimits,
  ...backendLimits,
  ...credentialLimits,
  ...nameLimits,
  ...hopLimits,
  ...controlPlaneLimits,
});

/** One subject's part of what all subjects of a process may have together, or of a queue that they wait in: a quarter. */
export function perSubject(total: number): number {
  return Math.ceil(total / 4);
}
