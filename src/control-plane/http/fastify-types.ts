// What our hooks and routes add to fastify's own types.

import type { Role } from '../../shared/roles.js';
import type { AuditTrail } from '../common/audit.js';
import type { Caller } from '../common/caller.js';
import type { Failure } from './answered-error.js';

declare module 'fastify' {
  interface FastifyInstance {
    audit: AuditTrail;
  }

  interface FastifyRequest {
    /** The token's subject; `''` on routes that need none. */
    subject: string;
    /** What the token is for; `undefined` where that is not looked at. */
    caller: Caller | undefined;
    /** Why it was not answered as it asked to be; `null` as long as nothing is wrong. */
    failure: Failure | null;
    /** The relay has it, and tells how it ends. */
    isRelayed: boolean;
  }

  /** What a route says of itself. */
  interface FastifyContextConfig {
    /** Answered without a token. */
    readonly isOpen?: boolean;
    /** Answered at any rate. */
    readonly isUncounted?: boolean;
    /** What the caller has to be; absent: of any role, or of none. */
    readonly role?: Role | 'any';
  }
}
