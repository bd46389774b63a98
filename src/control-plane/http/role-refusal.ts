// The refusal for a caller whose role does not suffice: names the required role, in words and as RFC 6750 defines. Cold path.
import type { Refusal } from '../../shared/refusals.js';
import type { Role } from '../../shared/roles.js';

export const ROLE_MISSING = 'role-missing';

/** @param has `undefined`: no role. */
export function roleRefusal(wanted: Role, has: Role | undefined): Refusal<typeof ROLE_MISSING> {
  const message = `This requires the role ${wanted}, but the token has ${has === undefined ? 'none' : `the role ${has}`}`;
  const challenge = `error="insufficient_scope", error_description="This requires the role ${wanted}"`;
  return {
    ...{ code: ROLE_MISSING, status: 403, message, contentType: 'application/json' },
    body: JSON.stringify({ detail: message }),
    headers: ['www-authenticate', `Bearer realm="switchyard", ${challenge}`],
  };
}
