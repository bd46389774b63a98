// Additions of the control plane's hooks and routes to fastify's own types.

import type { Role } from '../../config/index.js';
import type { ControlPlaneFault } from '../common/control-plane-fault.js';
import type { Principal } from '../common/principal.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The token's subject; `''` on routes that need none. */
    subject: string;
    /** Role and teams from the token; `undefined` where roles are not taken from tokens, or no token is needed. */
    caller: Principal | undefined;
    /** Why the request was refused or failed; `null` otherwise. */
    failure: ControlPlaneFault | null;
    /** Whether the relay handles the request, and logs its outcome itself. */
    isRelayed: boolean;
  }

  /** Route options. */
  interface FastifyContextConfig {
    /** Answered without a token. */
    readonly isOpen?: boolean;
    /** Exempt from the rate limit. */
    readonly isUncounted?: boolean;
    /** The required role; absent: any role, or none. */
    readonly role?: Role | 'any';
  }
}
